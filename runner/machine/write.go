// Writes of outputs to state keys, and which outputs fit them (GraphSpec §3).

package machine

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
)

// DefaultStateBytes is the default of max_state_bytes.
const DefaultStateBytes = 256 << 20

// sizeLimit returns the smallest max_state_bytes, and the innermost scope that has it.
func (sc *Scope) sizeLimit() (most int, owner *Scope) {
	most, owner = DefaultStateBytes, nil
	sc.visitEnclosing(func(one *Scope) {
		if limit := one.limits.MaxStateBytes; limit > 0 && (owner == nil || limit < most) {
			most, owner = limit, one
		}
	})
	return most, cmp.Or(owner, sc)
}

func measureValue(v any) int {
	if v == absent {
		return 0
	}
	size, _ := eval.Size(v, math.MaxInt)
	return size
}

// collectWrites converts an output to writes, as the node's `writes` says.
func (t *Task) collectWrites(n *node, output any) (writes []Write, failure *Failure) {
	p := t.scope.plan
	if len(n.writes) > 0 {
		env := t.view().buildContext(t, n.uses)
		for i := range n.writes {
			a := &n.writes[i]
			value, err := a.value.Eval(&t.scope.state.vm, env)
			if err != nil {
				return nil, expressionFailure("writes."+p.keys[a.key].name+": ", err)
			}
			if writes, failure = t.addWrite(writes, a.key, value); failure != nil {
				return nil, failure
			}
		}
		return writes, nil
	}
	object, isObject := output.(map[string]any)
	for _, i := range n.writeKeys {
		value, has := object[p.keys[i].name]
		switch {
		case has:
		case len(n.writeKeys) == 1:
			value = output
		case !isObject:
			return nil, &Failure{Kind: "invalid_output", Message: "output is " + previewValue(output, 60) +
				"; allowed: an object with the keys of writes: " + p.joinKeyNames(n.writeKeys)}
		default:
			return nil, &Failure{Kind: "invalid_output", Message: "output lacks " + strconv.Quote(p.keys[i].name) +
				", which the node writes: " + previewValue(output, 120)}
		}
		if writes, failure = t.addWrite(writes, i, value); failure != nil {
			return nil, failure
		}
	}
	return writes, nil
}

// joinKeyNames returns the sorted names of keys, separated by commas.
func (p *Plan) joinKeyNames(keys []int) string {
	names := make([]string, len(keys))
	for i, at := range keys {
		names[i] = p.keys[at].name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// addWrite checks a write against the task's view and appends it.
func (t *Task) addWrite(to []Write, key int, update any) ([]Write, *Failure) {
	sc := t.scope
	k := &sc.plan.keys[key]
	if _, fits := eval.Size(update, sc.maxBytes); !fits {
		return to, sizeFailure("what is written to state key "+strconv.Quote(k.name), sc.maxBytes)
	}
	if k.decl.Secret {
		sc.state.secretValues = append(sc.state.secretValues, update)
	}
	switch k.reducer {
	case reduceReplace:
		var err error
		if update, err = k.schema.Accept(update); err != nil {
			return to, writeFailure(k, err)
		}
	case reduceAppend, reducePrepend:
		items := k.schema.Normalise(toList(update)).([]any)
		if err := k.schema.CheckAppended(items, 0); err != nil {
			return to, writeFailure(k, err)
		}
		update = items
		fallthrough
	default:
		if _, failure := t.view().reduceUpdate(key, update); failure != nil {
			return to, failure
		}
	}
	return append(to, Write{Key: key, Update: update}), nil
}

func writeFailure(k *key, err error) *Failure {
	return &Failure{Kind: "invalid_output", Message: "state key " + strconv.Quote(k.name) + " can't hold the value: " +
		err.Error() + "; its schema is " + k.schema.String()}
}

// sizeFailure returns the failure of a value beyond max_state_bytes.
func sizeFailure(what string, most int) *Failure {
	return &Failure{Kind: "limit", Message: what + " takes more than " + eval.Count(most, "byte") +
		", the limit of the state and of a value (max_state_bytes)"}
}

// evalAssignments evaluates the assignments of a set node in order. Later ones read earlier ones.
func (t *Task) evalAssignments(n *node, env map[string]any) (any, []Write, *Failure) {
	v, p := t.view(), t.scope.plan
	defer v.rollBack(v.changeMark())
	var output map[string]any
	if !n.lazy {
		output = make(map[string]any, len(n.set))
	}
	var writes []Write
	var failure *Failure
	if t.Each == nil {
		writes = t.Writes[:0]
	}
	for i := range n.set {
		a := &n.set[i]
		value, err := a.value.Eval(&t.scope.state.vm, env)
		if err != nil {
			return nil, nil, expressionFailure("set."+p.keys[a.key].name+": ", err)
		}
		if writes, failure = t.addWrite(writes, a.key, value); failure != nil {
			return nil, nil, failure
		}
		w := &writes[len(writes)-1]
		if !n.lazy {
			output[p.keys[a.key].name] = w.Update
		}
		if i == len(n.set)-1 {
			break
		}
		v.applyWrite(w)
		if slices.Contains(n.uses, "state") {
			env["state"] = v.readableState(n)
		}
	}
	if n.lazy {
		return nil, writes, nil
	}
	return output, writes, nil
}

// findOnceKeys returns the `once` keys that a model node's own expressions read.
func (b *builder) findOnceKeys(bound *bind.Node) []int {
	var out []int
	p := b.plan
	visitReads(func(r eval.Read) {
		path := r.Path
		if len(path) > 1 && path[0] == "state" {
			path = path[1:]
		}
		for i := range p.keys {
			isRead := len(path) == 0 || path[0] == "state" || path[0] == p.keys[i].name
			if isRead && p.keys[i].decl.Once && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}, [][]bind.Field{bound.Config, bound.Before}, bound.Each)
	slices.Sort(out)
	return out
}

// resetOnce resets the `once` keys that a model node has read, before the step's own writes.
func (t *Task) resetOnce(v *View) {
	if t.Failure != nil || t.Skipped {
		return
	}
	p := t.scope.plan
	var back []Write
	for _, key := range p.nodes[t.Node].talk.once {
		if p.initial[key] == absent {
			back = append(back, Write{Key: key, Absent: true})
		} else if v.Vals[key] != nil {
			back = append(back, Write{Key: key, Update: p.initial[key], Reset: true})
		}
	}
	if len(back) > 0 {
		t.Writes = append(back, t.Writes...)
	}
}

// WantsText returns a function that reports whether an exec node should read its output as text,
// because only the text fits what the node writes. It returns nil if data always fits. Any goroutine
// may call the function.
func (p *Plan) WantsText(node string) func(data any, text string) bool {
	decl := p.Graph.Node(node)
	if decl == nil || decl.Kind.Value != "exec" {
		return nil
	}
	n := &p.nodes[decl.Index]
	if !n.bound.TextOnly && n.schema == nil && len(n.writeKeys) == 0 {
		return nil
	}
	return func(data any, text string) bool {
		if n.bound.TextOnly {
			_, isObject := data.(map[string]any)
			return !isObject || len(n.writeKeys) == 0 || !p.fitsSchemas(n, data)
		}
		return !p.fitsSchemas(n, data) && p.fitsSchemas(n, text)
	}
}

// fitsSchemas reports whether the schemas allow an output and its writes.
func (p *Plan) fitsSchemas(n *node, output any) bool {
	if n.schema != nil {
		var err error
		if output, err = n.schema.Accept(output); err != nil {
			return false
		}
	}
	if n.bound.Each != nil {
		output = []any{output}
	}
	object, _ := output.(map[string]any)
	for _, i := range n.writeKeys {
		k := &p.keys[i]
		value, has := object[k.name]
		if !has {
			if len(n.writeKeys) > 1 {
				return false
			}
			value = output
		}
		if !k.acceptsUpdate(value) {
			return false
		}
	}
	return true
}

// acceptsUpdate reports whether a key's schema allows an update, regardless of the current value.
func (k *key) acceptsUpdate(update any) bool {
	switch k.reducer {
	case reduceReplace, reduceMin, reduceMax:
		_, err := k.schema.Accept(update)
		return err == nil
	case reduceAppend, reducePrepend, reduceUnion:
		items, isList := k.schema.Normalise(toList(update)).([]any)
		return isList && k.schema.CheckAppended(items, 0) == nil
	case reduceSum:
		_, isNumber := eval.Number(update)
		return isNumber
	case reduceMerge:
		_, isObject := update.(map[string]any)
		return isObject
	}
	return true
}
