// Bound values: the scalars of a graph file as programs, templates and constants.

package bind

import (
	"errors"

	"github.com/graphrun/graphrun/eval"
)

// Value is a compiled value of a graph file: a constant, a program, a template, or a list or map
// with programs or templates.
type Value struct {
	constant any
	program  *eval.Program
	template *eval.Template
	content  bool // the template renders a message with images, files and audio
	items    []Value
	fields   []Field
}

// Field is a named Value.
type Field struct {
	Name  string
	Value Value
}

// newList returns a list of values, which is a constant if all of them are.
func newList(items []Value) Value {
	data := make([]any, len(items))
	for i := range items {
		if !items[i].IsConst() {
			return Value{items: items}
		}
		data[i] = items[i].constant
	}
	return Value{constant: data}
}

// newMap returns a map of values, which is a constant if all of them are.
func newMap(fields []Field) Value {
	data := make(map[string]any, len(fields))
	for i := range fields {
		if !fields[i].Value.IsConst() {
			return Value{fields: fields}
		}
		data[fields[i].Name] = fields[i].Value.constant
	}
	return Value{constant: data}
}

// IsConst reports whether the value is the same in every environment.
func (v *Value) IsConst() bool {
	return v.program == nil && v.template == nil && v.items == nil && v.fields == nil
}

// Const returns the value of a constant. Lists and maps in it must not be changed.
func (v *Value) Const() any { return v.constant }

// Constants returns the constants that a program may yield: its only value, or the branches of
// a ? 'b' : 'c'.
func (v *Value) Constants() []any {
	if v.program == nil {
		return nil
	}
	if constant, ok := v.program.Const(); ok {
		return []any{constant}
	}
	return listConstants(v.program.Tree())
}

func listConstants(t *eval.Tree) []any {
	switch {
	case t.Op == eval.TreeChoice && len(t.Args) == 3:
		return append(listConstants(t.Args[1]), listConstants(t.Args[2])...)
	case t.Op == eval.TreeConst:
		return []any{t.Value}
	}
	return nil
}

// Program returns the expression of a value, or nil.
func (v *Value) Program() *eval.Program { return v.program }

// Template returns the template of a value, or nil.
func (v *Value) Template() *eval.Template { return v.template }

// Items returns the values of a list that is not a constant.
func (v *Value) Items() []Value { return v.items }

// Fields returns the values of a map that is not a constant.
func (v *Value) Fields() []Field { return v.fields }

// Eval computes the value. env is read, never changed.
func (v *Value) Eval(vm *eval.VM, env map[string]any) (any, error) { return v.eval(vm, env, false) }

// EvalParts computes the value like Eval, with null for each part that can't be computed.
func (v *Value) EvalParts(vm *eval.VM, env map[string]any) any {
	out, _ := v.eval(vm, env, true)
	return out
}

func (v *Value) eval(vm *eval.VM, env map[string]any, lenient bool) (out any, err error) {
	switch {
	case v.items != nil:
		list := make([]any, len(v.items))
		for i := range list {
			if list[i], err = v.items[i].eval(vm, env, lenient); err != nil {
				return nil, err
			}
		}
		return list, nil
	case v.fields != nil:
		return evalFields(v.fields, vm, env, lenient)
	case v.program != nil:
		out, err = vm.Eval(v.program, env)
	case v.template != nil && v.content:
		out, err = vm.RenderParts(v.template, env)
	case v.template != nil:
		out, err = vm.Render(v.template, env)
	default:
		return v.constant, nil
	}
	if lenient && err != nil {
		return nil, nil
	}
	return out, err
}

// EvalFields evaluates named values into a map.
func EvalFields(fields []Field, vm *eval.VM, env map[string]any) (map[string]any, error) {
	return evalFields(fields, vm, env, false)
}

func evalFields(fields []Field, vm *eval.VM, env map[string]any, lenient bool) (map[string]any, error) {
	out := make(map[string]any, len(fields))
	for i := range fields {
		value, err := fields[i].Value.eval(vm, env, lenient)
		if err != nil {
			return nil, wrapFieldError(fields[i].Name, err)
		}
		out[fields[i].Name] = value
	}
	return out, nil
}

// fieldError is an error in a field with a path such as with.n.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

// wrapFieldError adds the name of a field to an error in it.
func wrapFieldError(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		return &fieldError{name + "." + inner.path, inner.err}
	}
	return &fieldError{name, err}
}

// Reads calls f for every path that evaluating the value may read.
func (v *Value) Reads(f func(eval.Read)) {
	var reads []eval.Read
	if v.program != nil {
		reads = v.program.Reads()
	} else if v.template != nil {
		reads = v.template.Reads()
	}
	for _, r := range reads {
		f(r)
	}
	for i := range v.items {
		v.items[i].Reads(f)
	}
	for i := range v.fields {
		v.fields[i].Value.Reads(f)
	}
}

// Type returns the type of the value, or any.
func (v *Value) Type() eval.Type {
	switch {
	case v.program != nil:
		return v.program.Type()
	case v.template != nil:
		return v.template.Type()
	case v.items != nil:
		return eval.List(eval.Any())
	case v.fields != nil:
		fields := make(map[string]eval.Type, len(v.fields))
		for i := range v.fields {
			fields[v.fields[i].Name] = v.fields[i].Value.Type()
		}
		return eval.Object(fields, false)
	}
	return eval.FromSchema(map[string]any{"const": v.constant})
}
