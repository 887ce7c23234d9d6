// Bound values: the scalars of a graph file as programs, templates and constants.

package bind

import (
	"errors"

	"github.com/graphrun/graphrun/eval"
)

// Value is a value of a graph file made ready to evaluate: a constant, a
// program, a template, or a list or map of such.
type Value struct {
	constant any
	program  *eval.Program
	template *eval.Template
	// says: the value is what a message says, where parts stay parts.
	says  bool
	parts *parts // of a list or map, most values are none
}

// parts are those of a list or of a map.
type parts struct {
	items  []Value
	fields []Field
	isMap  bool
}

func (v *Value) isList() bool { return v.parts != nil && !v.parts.isMap }

func (v *Value) isMap() bool { return v.parts != nil && v.parts.isMap }

// Field is a named Value.
type Field struct {
	Name  string
	Value Value
}

// IsConst reports whether the value is the same in every environment.
func (v *Value) IsConst() bool {
	return v.program == nil && v.template == nil && v.parts == nil
}

// Const returns the value of a constant; lists and maps in it must not be changed.
func (v *Value) Const() any { return v.constant }

// Constants are the values that a program yields by itself: all of it, or what it chooses
// by conditions (a ? 'b' : 'c').
func (v *Value) Constants() []any {
	if v.program == nil {
		return nil
	}
	if constant, ok := v.program.Const(); ok {
		return []any{constant}
	}
	var out []any
	for todo := []*eval.Tree{v.program.Tree()}; len(todo) > 0; {
		t := todo[0]
		switch todo = todo[1:]; {
		case t.Op == eval.TreeChoice && len(t.Args) == 3:
			todo = append([]*eval.Tree{t.Args[1], t.Args[2]}, todo...)
		case t.Op == eval.TreeConst:
			out = append(out, t.Value)
		}
	}
	return out
}

// Program is the expression of a value that is one; nil for others.
func (v *Value) Program() *eval.Program { return v.program }

// Template is the template of a value that is one; nil for others.
func (v *Value) Template() *eval.Template { return v.template }

// Items are the values of a list that is no constant.
func (v *Value) Items() []Value {
	if v.parts == nil {
		return nil
	}
	return v.parts.items
}

// Fields are the values of a map that is no constant.
func (v *Value) Fields() []Field {
	if v.parts == nil {
		return nil
	}
	return v.parts.fields
}

// Eval computes the value. env is read, never changed.
func (v *Value) Eval(vm *eval.VM, env map[string]any) (any, error) {
	switch {
	case v.program != nil:
		return vm.Eval(v.program, env)
	case v.template != nil && v.says:
		return vm.RenderParts(v.template, env)
	case v.template != nil:
		return vm.Render(v.template, env)
	case v.isList():
		out := make([]any, len(v.parts.items))
		for i := range out {
			item, err := v.parts.items[i].Eval(vm, env)
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case v.isMap():
		return EvalFields(v.parts.fields, vm, env)
	}
	return v.constant, nil
}

// EvalParts is Eval where what can't be computed, of the whole or of a part of a
// list or map, is null.
func (v *Value) EvalParts(vm *eval.VM, env map[string]any) any {
	switch {
	case v.isList():
		out := make([]any, len(v.parts.items))
		for i := range out {
			out[i] = v.parts.items[i].EvalParts(vm, env)
		}
		return out
	case v.isMap():
		out := make(map[string]any, len(v.parts.fields))
		for i := range v.parts.fields {
			out[v.parts.fields[i].Name] = v.parts.fields[i].Value.EvalParts(vm, env)
		}
		return out
	}
	value, err := v.Eval(vm, env)
	if err != nil {
		return nil
	}
	return value
}

// EvalFields evaluates named values into a map.
func EvalFields(fields []Field, vm *eval.VM, env map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(fields))
	for i := range fields {
		value, err := fields[i].Value.Eval(vm, env)
		if err != nil {
			return nil, inField(fields[i].Name, err)
		}
		out[fields[i].Name] = value
	}
	return out, nil
}

// fieldError is an error in a field, which its path names: with.n.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

// inField says in which field an error is, and in which of the maps around it.
func inField(name string, err error) error {
	var inner *fieldError
	if errors.As(err, &inner) {
		return &fieldError{name + "." + inner.path, inner.err}
	}
	return &fieldError{name, err}
}

// Reads calls f for every path that evaluating the value may read.
func (v *Value) Reads(f func(eval.Read)) {
	if v.program != nil {
		for _, r := range v.program.Reads() {
			f(r)
		}
	}
	if v.template != nil {
		for _, r := range v.template.Reads() {
			f(r)
		}
	}
	if v.parts == nil {
		return
	}
	for i := range v.parts.items {
		v.parts.items[i].Reads(f)
	}
	for i := range v.parts.fields {
		v.parts.fields[i].Value.Reads(f)
	}
}

// Type is what is known of the value's type.
func (v *Value) Type() eval.Type {
	switch {
	case v.program != nil:
		return v.program.Type()
	case v.template != nil:
		return v.template.Type()
	case v.isList():
		return eval.List(eval.Any())
	case v.isMap():
		fields := make(map[string]eval.Type, len(v.parts.fields))
		for i := range v.parts.fields {
			fields[v.parts.fields[i].Name] = v.parts.fields[i].Value.Type()
		}
		return eval.Object(fields, false)
	}
	return eval.FromSchema(map[string]any{"const": v.constant})
}
