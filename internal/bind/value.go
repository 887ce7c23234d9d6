// Values of a graph file, compiled to programs, templates and constants.

package bind

import (
	"errors"

	"github.com/graphrun/graphrun/eval"
)

// Value is a compiled value of a graph file. One field is set: Items and Fields hold a list and a map
// with programs or templates. If Program, Template, Items and Fields are nil, the value is Constant,
// whose lists and maps must not be changed.
type Value struct {
	Constant any
	Program  *eval.Program
	Template *eval.Template
	Items    []Value
	Fields   []Field
	content  bool // the template renders a message with images, files and audio
}

// Field is a named Value.
type Field struct {
	Name  string
	Value Value
}

// newList returns a list of values. It is a constant if all values are.
func newList(items []Value) Value {
	data := make([]any, len(items))
	for i := range items {
		if !items[i].IsConst() {
			return Value{Items: items}
		}
		data[i] = items[i].Constant
	}
	return Value{Constant: data}
}

// newMap returns a map of values. It is a constant if all values are.
func newMap(fields []Field) Value {
	data := make(map[string]any, len(fields))
	for i := range fields {
		if !fields[i].Value.IsConst() {
			return Value{Fields: fields}
		}
		data[fields[i].Name] = fields[i].Value.Constant
	}
	return Value{Constant: data}
}

// IsConst reports whether the value is the same in every environment.
func (v *Value) IsConst() bool {
	return v.Program == nil && v.Template == nil && v.Items == nil && v.Fields == nil
}

// Constants returns the constants that a program may return: its only value, or the alternatives of
// a ? 'b' : 'c'.
func (v *Value) Constants() []any {
	if v.Program == nil {
		return nil
	}
	if constant, ok := v.Program.Const(); ok {
		return []any{constant}
	}
	return listConstants(v.Program.Tree)
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

// Tree returns the expression or the constant of a value. It returns nil for nil, templates, lists and
// maps.
func (v *Value) Tree() *eval.Tree {
	switch {
	case v == nil:
	case v.Program != nil:
		return v.Program.Tree
	case v.IsConst():
		return &eval.Tree{Op: eval.TreeConst, Value: v.Constant}
	}
	return nil
}

// Eval computes the value. It does not change env.
func (v *Value) Eval(vm *eval.VM, env map[string]any) (any, error) { return v.eval(vm, env, false) }

// EvalParts computes the value like Eval, with null for each part that can't be computed.
func (v *Value) EvalParts(vm *eval.VM, env map[string]any) any {
	out, _ := v.eval(vm, env, true)
	return out
}

func (v *Value) eval(vm *eval.VM, env map[string]any, skipErrors bool) (out any, err error) {
	switch {
	case v.Items != nil:
		list := make([]any, len(v.Items))
		for i := range list {
			if list[i], err = v.Items[i].eval(vm, env, skipErrors); err != nil {
				return nil, err
			}
		}
		return list, nil
	case v.Fields != nil:
		return evalFields(v.Fields, vm, env, skipErrors)
	case v.Program != nil:
		out, err = vm.Eval(v.Program, env)
	case v.Template != nil:
		out, err = vm.Render(v.Template, env, v.content)
	default:
		return v.Constant, nil
	}
	if skipErrors && err != nil {
		return nil, nil
	}
	return out, err
}

// EvalFields evaluates named values into a map.
func EvalFields(fields []Field, vm *eval.VM, env map[string]any) (map[string]any, error) {
	return evalFields(fields, vm, env, false)
}

func evalFields(fields []Field, vm *eval.VM, env map[string]any, skipErrors bool) (map[string]any, error) {
	out := make(map[string]any, len(fields))
	for i := range fields {
		value, err := fields[i].Value.eval(vm, env, skipErrors)
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

// wrapFieldError adds the name of a field to the path of an error in the field.
func wrapFieldError(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		return &fieldError{name + "." + inner.path, inner.err}
	}
	return &fieldError{name, err}
}

// VisitReads calls f for every path that evaluating the value may read.
func (v *Value) VisitReads(f func(eval.Read)) {
	var reads []eval.Read
	if v.Program != nil {
		reads = v.Program.Reads
	} else if v.Template != nil {
		reads = v.Template.Reads
	}
	for _, r := range reads {
		f(r)
	}
	for i := range v.Items {
		v.Items[i].VisitReads(f)
	}
	for i := range v.Fields {
		v.Fields[i].Value.VisitReads(f)
	}
}

// Type returns the type of the value, or any if it is unknown.
func (v *Value) Type() eval.Type {
	switch {
	case v.Program != nil:
		return v.Program.Type()
	case v.Template != nil:
		return v.Template.Type()
	case v.Items != nil:
		return eval.List(eval.Any())
	case v.Fields != nil:
		fields := make(map[string]eval.Type, len(v.Fields))
		for i := range v.Fields {
			fields[v.Fields[i].Name] = v.Fields[i].Value.Type()
		}
		return eval.Object(fields, false)
	}
	return eval.FromSchema(map[string]any{"const": v.Constant})
}
