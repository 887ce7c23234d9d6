// Bound values: the scalars of a graph file as programs, templates and constants.

package bind

import (
	"github.com/graphrun/graphrun/eval"
)

// Value is a value of a graph file made ready to evaluate: a constant, a
// program, a template, or a list or map of such.
type Value struct {
	constant any
	program  *eval.Program
	template *eval.Template
	items    []Value // of a list
	fields   []Field // of a map
	isList   bool
	isMap    bool
}

// Field is a named Value.
type Field struct {
	Name  string
	Value Value
}

// IsConst reports whether the value is the same in every environment.
func (v *Value) IsConst() bool {
	return v.program == nil && v.template == nil && !v.isList && !v.isMap
}

// Const returns the value of a constant; lists and maps in it must not be changed.
func (v *Value) Const() any { return v.constant }

// Program is the expression of a value that is one; nil for others.
func (v *Value) Program() *eval.Program { return v.program }

// Template is the template of a value that is one; nil for others.
func (v *Value) Template() *eval.Template { return v.template }

// Items are the values of a list that is no constant.
func (v *Value) Items() []Value { return v.items }

// Fields are the values of a map that is no constant.
func (v *Value) Fields() []Field { return v.fields }

// Eval computes the value. env is read, never changed.
func (v *Value) Eval(vm *eval.VM, env map[string]any) (any, error) {
	switch {
	case v.program != nil:
		return vm.Eval(v.program, env)
	case v.template != nil:
		return vm.Render(v.template, env)
	case v.isList:
		out := make([]any, len(v.items))
		for i := range v.items {
			item, err := v.items[i].Eval(vm, env)
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case v.isMap:
		return EvalFields(v.fields, vm, env)
	}
	return v.constant, nil
}

// EvalFields evaluates named values into a map.
func EvalFields(fields []Field, vm *eval.VM, env map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(fields))
	for i := range fields {
		value, err := fields[i].Value.Eval(vm, env)
		if err != nil {
			return nil, err
		}
		out[fields[i].Name] = value
	}
	return out, nil
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
	for i := range v.items {
		v.items[i].Reads(f)
	}
	for i := range v.fields {
		v.fields[i].Value.Reads(f)
	}
}

// typ is what is known of the value's type.
func (v *Value) typ() eval.Type {
	switch {
	case v.program != nil:
		return v.program.Type()
	case v.template != nil:
		return v.template.Type()
	case v.isList:
		return eval.List(eval.Any())
	case v.isMap:
		fields := make(map[string]eval.Type, len(v.fields))
		for i := range v.fields {
			fields[v.fields[i].Name] = v.fields[i].Value.typ()
		}
		return eval.Object(fields, false)
	}
	return eval.FromSchema(map[string]any{"const": v.constant})
}
