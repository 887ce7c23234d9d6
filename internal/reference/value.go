// Values: what expressions see, and what nodes write (§3, §4, §8).

package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// compiled holds programs by their text: a convenience, no part of the meaning.
type compiled map[string]*eval.Program

func canonical(v any) any {
	out, err := eval.Canonical(v)
	if err != nil {
		panic(err)
	}
	return out
}

func (r *run) eval(text string, env map[string]any) (any, error) {
	p := r.compiled[text]
	if p == nil {
		var err *eval.Error
		scope := eval.NewScope(nil, eval.ScopeOptions{Open: true, Roots: []string{"state"}})
		if p, err = scope.Compile(text, eval.Value); err != nil {
			panic(fmt.Sprintf("%q: %v", text, err))
		}
		r.compiled[text] = p
	}
	var vm eval.VM
	return vm.Eval(p, env)
}

// value evaluates as `set` does: a string is an expression, the rest literal.
func (r *run) value(v *spec.Value, env map[string]any) (any, error) {
	if v.Kind == spec.String {
		return r.eval(v.Value, env)
	}
	return canonical(v.Data()), nil
}

// expression evaluates an expression or a map of them.
func (r *run) expression(v *spec.Value, env map[string]any) (any, error) {
	if v.Kind != spec.Map {
		return r.eval(v.Value, env)
	}
	out := map[string]any{}
	for _, f := range v.Fields {
		part, err := r.eval(f.Value.Value, env)
		if err != nil {
			return nil, err
		}
		out[f.Key.Value] = part
	}
	return out, nil
}

// env is what expressions of a task see while it runs.
func (r *run) env(t *task, u *unit) map[string]any {
	env := maps.Clone(r.state)
	visits, history, nodes := map[string]any{}, map[string]any{}, map[string]any{}
	for id, rec := range r.records {
		visits[id] = rec.visits
		history[id] = slices.Clone(rec.history)
		nodes[id] = map[string]any{"output": rec.output, "visits": rec.visits}
	}
	env["visits"], env["history"], env["nodes"] = visits, history, nodes
	env["input"], env["inputs"] = t.input, t.inputs
	env["node"], env["step"] = t.node.ID.Value, t.step
	if t.step == 0 {
		env["step"] = r.steps
	}
	env["branches"] = map[string]any{}
	if t.branches != nil {
		env["branches"] = t.branches
	}
	if u != nil && u.element > 0 {
		env["item"], env["index"] = u.item, u.element-1
	}
	return env
}

// after is what expressions see at routing.
func (r *run) after(t *task) map[string]any {
	env := r.env(t, nil)
	env["output"], env["outcome"] = t.output, "success"
	if t.failure != nil {
		env["outcome"], env["error"] = "failure", t.failure.data()
	}
	return env
}

// write is a key and its new value, or what its reducer is given.
type write struct {
	key   string
	value any
}

// misfit says why an output can't be written.
func (r *run) misfit(t *task, u *unit) *failure {
	bad := &failure{kind: "invalid_output", node: t.node.ID.Value, attempt: u.attempt}
	if t.isEach {
		return nil
	}
	list, ok := r.writes(t, u.output)
	if !ok {
		return bad
	}
	state := maps.Clone(r.state)
	for _, w := range list {
		if !r.reduce(state, w) {
			return bad
		}
	}
	return nil
}

// writes says what a task writes.
func (r *run) writes(t *task, output any) ([]write, bool) {
	if t.skipped {
		return nil, true
	}
	if t.node.Kind.Value == "set" {
		var out []write
		for _, list := range t.sets {
			out = append(out, list...)
		}
		return out, true
	}
	var out []write
	object, isObject := output.(map[string]any)
	for _, k := range t.node.Writes.Keys {
		v, held := object[k.Value]
		switch {
		case isObject && held:
		case len(t.node.Writes.Keys) == 1:
			v = output
		default:
			return nil, false
		}
		out = append(out, write{k.Value, v})
	}
	env := r.env(t, nil)
	env["output"] = output
	for _, e := range t.node.Writes.Exprs {
		v, err := r.eval(e.Expr.Value, env)
		if err != nil {
			return nil, false
		}
		out = append(out, write{e.Name.Value, v})
	}
	return out, true
}

// reduce brings a write into a state; false: the key can't hold it.
func (r *run) reduce(state map[string]any, w write) bool {
	k := r.graph.Key(w.key)
	current := state[w.key]
	v := w.value
	switch k.Reducer.Value {
	case "", "replace":
	case "sum":
		a, ok := v.(int)
		b, _ := current.(int)
		if !ok {
			return false
		}
		v = a + b
	case "append":
		list, _ := current.([]any)
		v = slices.Concat(list, asList(v))
	case "prepend":
		list, _ := current.([]any)
		v = slices.Concat(asList(v), list)
	case "max", "min":
		a, ok := v.(int)
		if b, has := current.(int); has && ok && (k.Reducer.Value == "max") == (b > a) {
			a = b
		}
		if !ok {
			return false
		}
		v = a
	case "union":
		list, _ := current.([]any)
		out := slices.Clone(list)
		for _, item := range asList(v) {
			if !slices.ContainsFunc(out, func(x any) bool { return fmt.Sprint(x) == fmt.Sprint(item) }) {
				out = append(out, item)
			}
		}
		v = out
	case "merge":
		a, ok := v.(map[string]any)
		if !ok {
			return false
		}
		b, _ := current.(map[string]any)
		out := map[string]any{}
		maps.Copy(out, b)
		maps.Copy(out, a)
		v = out
	default:
		out, err := r.eval(k.Reducer.Value, map[string]any{"current": current, "update": v})
		if err != nil {
			return false
		}
		v = out
	}
	if !fits(k.Schema, v) {
		return false
	}
	if list, ok := v.([]any); ok && list == nil {
		v = []any{}
	}
	state[w.key] = v
	return true
}

// update is a write as a set node's output has it: for a list, a list.
func (r *run) update(w write) any {
	switch r.graph.Key(w.key).Reducer.Value {
	case "append", "prepend", "union":
		return asList(w.value)
	}
	return w.value
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// fits checks the type of a value; the graphs of the tests ask no more.
func fits(schema map[string]any, v any) bool {
	is := ""
	switch v.(type) {
	case int:
		is = "integer"
	case string:
		is = "string"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	case bool:
		is = "boolean"
	case float64:
		is = "number"
	}
	want, ok := schema["type"].(string)
	return !ok || want == is || strings.HasPrefix(want, "num") && is == "integer"
}
