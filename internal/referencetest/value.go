// What a step writes, and reducers (§3, §4).

package referencetest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// reduce returns the value of a key after a write, checked against the key's schema.
func (s *scope) reduce(current any, w write) (any, error) {
	i := slices.IndexFunc(s.graph.State, func(k *spec.StateKey) bool { return k.Name.Value == w.key })
	if i < 0 {
		if s.graph.StrictState {
			return nil, fmt.Errorf("unknown state key %q", w.key)
		}
		return w.update, nil
	}
	key, bound := s.graph.State[i], s.bound.Keys[i]
	v, err := w.update, error(nil)
	switch name := key.Reducer.Value; name {
	case "", "replace":
	case "append":
		v = slices.Concat(asList(current), asElements(w.update))
	case "prepend":
		v = slices.Concat(asElements(w.update), asList(current))
	case "union":
		v = uniqueValues(slices.Concat(asList(current), asElements(w.update)))
	case "merge":
		v, err = mergeObjects(current, w.update)
	case "sum", "min", "max":
		v, err = s.reduceNumber(name, current, w.update)
	case "messages":
		v, err = reduceMessages(asList(current), asElements(w.update))
	default:
		v, err = s.eval(bound.Reducer, map[string]any{"current": current, "update": w.update})
	}
	if err != nil {
		return nil, err
	}
	if list, ok := v.([]any); ok && list == nil {
		v = []any{}
	}
	v = bound.Schema.Normalise(canonical(v))
	return v, bound.Schema.Check(v)
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// asElements returns a list unchanged, and any other value as a list with one element.
func asElements(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func uniqueValues(list []any) []any {
	out := []any{}
	for _, item := range list {
		if !slices.ContainsFunc(out, func(x any) bool { return isEqual(x, item) }) {
			out = append(out, item)
		}
	}
	return out
}

// isEqual reports whether two values are equal; 1 and 1.0 are.
func isEqual(a, b any) bool {
	x, err := eval.AppendJSON(nil, a)
	y, err2 := eval.AppendJSON(nil, b)
	return err == nil && err2 == nil && string(x) == string(y) || reflect.DeepEqual(a, b)
}

func mergeObjects(current, update any) (any, error) {
	object, ok := update.(map[string]any)
	if !ok {
		return nil, errors.New("merge takes an object")
	}
	out := map[string]any{}
	if before, ok := current.(map[string]any); ok {
		maps.Copy(out, before)
	}
	maps.Copy(out, object)
	return out, nil
}

// reduceNumber reduces by sum, min or max. Without a current value the result is the update.
func (s *scope) reduceNumber(name string, current, update any) (any, error) {
	_, isInt := update.(int)
	_, isFloat := update.(float64)
	if !isInt && !isFloat {
		return nil, fmt.Errorf("%s takes a number", name)
	}
	if current == nil {
		return update, nil
	}
	text := map[string]string{"sum": "a + b", "min": "a < b ? a : b", "max": "a > b ? a : b"}[name]
	scope := eval.NewScope(map[string]eval.Type{"a": eval.Any(), "b": eval.Any()}, eval.ScopeOptions{})
	p, err := scope.Compile(text, eval.Value)
	if err != nil {
		return nil, err
	}
	return s.eval(p, map[string]any{"a": current, "b": update})
}

// reduceMessages appends messages, replaces those with the same id, and applies the operations of §3.
func reduceMessages(list, update []any) (any, error) {
	out := slices.Clone(list)
	for _, u := range update {
		m, ok := u.(map[string]any)
		if !ok {
			return nil, errors.New("messages are objects")
		}
		same := func(x any) bool {
			o, _ := x.(map[string]any)
			return o != nil && o["id"] != nil && isEqual(o["id"], m["id"])
		}
		switch m["op"] {
		case "remove":
			out = slices.DeleteFunc(slices.Clone(out), same)
		case "remove_all":
			out = nil
		case "replace_last_user":
			for i := len(out) - 1; i >= 0; i-- {
				if o, _ := out[i].(map[string]any); o != nil && o["role"] == "user" {
					o = maps.Clone(o)
					o["content"] = m["content"]
					out[i] = o
					break
				}
			}
		default:
			if i := slices.IndexFunc(out, same); i >= 0 {
				out[i] = u
			} else {
				out = append(out, u)
			}
		}
	}
	return slices.Concat([]any{}, out), nil
}

// evalWrites returns the writes that `writes` makes of an output (§4).
func (s *scope) evalWrites(st *step, output any) ([]write, *Error) {
	var out []write
	object, isObject := output.(map[string]any)
	for _, k := range st.node.Writes.Keys {
		v, held := object[k.Value]
		switch {
		case isObject && held:
		case len(st.node.Writes.Keys) == 1:
			v = output
		default:
			return nil, st.newError("invalid_output", "the output lacks "+k.Value)
		}
		out = append(out, write{key: k.Value, update: v})
	}
	env := maps.Clone(st.view.Env)
	env["output"], env["outcome"] = output, "success"
	for _, f := range s.bound.Nodes[st.node.Index].Writes {
		var vm eval.VM
		v, err := f.Value.Eval(&vm, env)
		if err != nil {
			return nil, st.newError("expression", err.Error())
		}
		out = append(out, write{key: f.Name, update: v})
	}
	return out, nil
}

// checkWrites checks writes against the state that the step sees. An invalid write changes nothing. A
// write with `replace` is normalised by the schema.
func (s *scope) checkWrites(st *step, writes []write) *Error {
	state := maps.Clone(st.view.State)
	for i, w := range writes {
		v, err := s.reduce(state[w.key], w)
		if err != nil {
			return st.newError("invalid_output", err.Error())
		}
		state[w.key] = v
		if s.replaces(w.key) {
			writes[i].update = v
		}
	}
	return nil
}

// evalAssignments evaluates the values of a set node in order; later values see earlier ones.
func (s *scope) evalAssignments(st *step, env map[string]any) (output any, writes []write, fail *Error) {
	env, object := maps.Clone(env), map[string]any{}
	state := maps.Clone(st.view.State)
	for _, f := range s.bound.Nodes[st.node.Index].Set {
		var vm eval.VM
		v, err := f.Value.Eval(&vm, env)
		if err != nil {
			return nil, nil, st.newError("expression", err.Error())
		}
		w := write{key: f.Name, update: canonical(v)}
		next, err := s.reduce(state[w.key], w)
		if err != nil {
			return nil, nil, st.newError("invalid_output", err.Error())
		}
		if s.replaces(w.key) {
			w.update = next
		}
		state[w.key], env[w.key] = next, next
		env["state"] = maps.Clone(state)
		object[w.key] = w.update
		if i := slices.IndexFunc(s.graph.State, func(k *spec.StateKey) bool { return k.Name.Value == w.key }); i >= 0 {
			if reducer := s.graph.State[i].Reducer.Value; reducer == "append" || reducer == "prepend" {
				object[w.key] = asElements(w.update) // what is added
			}
		}
		writes = append(writes, w)
	}
	return object, writes, nil
}
