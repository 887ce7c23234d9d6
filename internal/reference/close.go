// The closing of a superstep: writes, routing, failures, moves (§5, §6).

package reference

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// close applies the writes of the tasks that are done and decides where their
// tokens go.
func (r *run) close() {
	var list []*task
	all := r.open
	for _, t := range r.open {
		if t.status == done && !t.away {
			list = append(list, t)
		}
	}
	sort := func(t *task) int { return slices.Index(r.open, t) } // -1: parked before
	slices.SortStableFunc(r.parked, func(a, b *task) int { return sort(a) - sort(b) })
	r.open, r.stepEnds = nil, 0
	if r.final {
		r.closeFinally(list)
		return
	}
	for _, t := range list {
		if t.failure == nil || t.failure.kind != "max_visits" {
			r.result.Path = append(r.result.Path, t.node.ID.Value)
		}
	}
	r.write(list)
	if r.result.Status != "" {
		return
	}
	for _, t := range list {
		r.record(t)
	}
	var tokens []*token
	var lost []*task
	for _, t := range list {
		moves, caught := r.route(t)
		if r.result.Status != "" {
			return
		}
		if !caught || t.expired != nil {
			lost = append(lost, t)
			continue
		}
		if t.failure != nil || t.lost {
			r.degraded = true
		}
		tokens = append(tokens, r.leave(t, moves)...)
	}
	r.settleTokens(tokens, append(lost, r.cancelledIn(all)...))
}

func (r *run) record(t *task) {
	rec := r.records[t.node.ID.Value]
	rec.output = t.output
	if t.failure == nil && !t.skipped {
		r.last = t.output
	}
	if t.failure == nil {
		rec.history = append(rec.history, t.output)
	}
}

// write applies the writes of a superstep: those of keys with a reducer in the
// order of declaration, those of the others as the fan-outs' policies say.
func (r *run) write(list []*task) {
	type writer struct {
		task *task
		w    write
	}
	holds, state := map[string]writer{}, maps.Clone(r.state)
	for _, t := range list {
		if t.failure != nil {
			continue
		}
		writes, _ := r.writes(t, t.output)
		for _, w := range writes {
			k := r.graph.Key(w.key)
			if name := k.Reducer.Value; name != "" && name != "replace" {
				if !r.reduce(state, w) {
					panic("a write that does not fit after others is not covered")
				}
				continue
			}
			other, taken := holds[w.key]
			if !taken || other.task == t {
				holds[w.key] = writer{t, w}
				continue
			}
			f := shared(t.place, other.task.place)
			switch first := other.task.order < t.order; r.conflict(f) {
			case "error":
				r.end("failed", "conflict", Error{"conflict", ""})
				return
			case "first_wins":
				if !first {
					holds[w.key] = writer{t, w}
				}
			default:
				if first {
					holds[w.key] = writer{t, w}
				}
			}
		}
	}
	for _, k := range r.graph.State {
		if h, ok := holds[k.Name.Value]; ok && !r.reduce(state, h.w) {
			panic("a write that does not fit is not covered")
		}
	}
	r.state = state
}

// move is a way out of a node.
type move struct {
	to    string
	input any
	twin  bool
}

// route decides which ways a token takes. It is not caught when its node failed
// and no edge leads on.
func (r *run) route(t *task) (moves []move, caught bool) {
	env := r.after(t)
	if t.failure == nil && !t.skipped {
		if moves, ok := r.dynamic(t, env); ok {
			return moves, t.failure == nil
		}
	}
	edges, ok := r.resolve(t, env)
	if !ok {
		return nil, false
	}
	if len(edges) == 0 && t.failure != nil {
		return nil, false
	}
	if len(edges) == 0 {
		r.end("stuck", "no_edge", Error{"stuck", t.node.ID.Value})
		return nil, false
	}
	for _, e := range edges {
		m := move{to: e.To.Value, input: t.output}
		if t.failure != nil {
			m.input = t.failure.data()
		}
		if e.Transform != nil {
			v, err := r.expression(e.Transform, env)
			if err != nil {
				r.end("failed", "expression", Error{"expression", t.node.ID.Value})
				return nil, false
			}
			m.input = v
		}
		r.fired[e.Index]++
		moves = append(moves, m)
	}
	return moves, true
}

// resolve says which edges fire (§6).
func (r *run) resolve(t *task, env map[string]any) ([]*spec.Edge, bool) {
	choices, plain, always := r.candidates(t)
	if t.skipped {
		choices = nil
	}
	slices.SortStableFunc(choices, func(a, b []*spec.Edge) int { return b[0].Priority - a[0].Priority })
	var all []*spec.Edge
	for _, edges := range choices {
		v, err := r.eval(edges[0].When.Value, env)
		is, isBool := v.(bool)
		if err != nil || !isBool {
			r.end("failed", "expression", Error{"expression", t.node.ID.Value})
			return nil, false
		}
		if !is {
			continue
		}
		all = append(all, edges...)
		if t.node.Routing != "all" {
			return edges, true
		}
	}
	for _, fallback := range [][]*spec.Edge{all, plain, always} {
		if len(fallback) > 0 {
			slices.SortFunc(fallback, func(a, b *spec.Edge) int { return a.Index - b.Index })
			return fallback, true
		}
	}
	return nil, true
}

// candidates lists the edges that the outcome allows: those with a condition,
// by their declarations, those without, and what is left after that.
func (r *run) candidates(t *task) (choices [][]*spec.Edge, plain, always []*spec.Edge) {
	declared := map[int]int{}
	for _, e := range r.graph.Edges {
		if e.From.Value != t.node.ID.Value {
			continue
		}
		switch {
		case e.Condition == "conditional" && t.failure == nil, e.Condition == "on_failure" && t.failure != nil && e.When.IsSet():
			i, ok := declared[e.Decl]
			if !ok {
				i = len(choices)
				declared[e.Decl] = i
				choices = append(choices, nil)
			}
			choices[i] = append(choices[i], e)
		case e.Condition == "on_failure" && t.failure != nil:
			plain = append(plain, e)
		case e.Condition == "always" && t.failure != nil:
			always = append(always, e)
		case (e.Condition == "always" || e.Condition == "on_success") && t.failure == nil:
			plain = append(plain, e)
		}
	}
	return choices, plain, always
}

// dynamic follows the node's goto, if its output or the node has one.
func (r *run) dynamic(t *task, env map[string]any) (moves []move, ok bool) {
	var labels any
	if object, is := t.output.(map[string]any); is {
		labels = object["goto"]
	}
	if t.node.Goto.IsSet() {
		v, err := r.eval(t.node.Goto.Value, env)
		if err != nil {
			r.end("failed", "expression", Error{"expression", t.node.ID.Value})
			return nil, true
		}
		labels = v
	}
	if labels == nil || !t.node.HasEnds && !t.node.Goto.IsSet() {
		return nil, false
	}
	var seen []any
	for _, item := range asList(labels) {
		m := move{input: t.output}
		if object, is := item.(map[string]any); is {
			item = object["to"]
			if v, has := object["input"]; has {
				m.input, m.twin = v, true
			}
		}
		target, legal := r.target(t.node, item)
		if !legal {
			t.failure = &failure{kind: "invalid_output", node: t.node.ID.Value, attempt: 1}
			return nil, true
		}
		m.to = target
		if !m.twin && slices.Contains(seen, item) {
			continue
		}
		if !m.twin {
			seen = append(seen, item)
		}
		moves = append(moves, m)
	}
	return moves, true
}

func (r *run) target(n *spec.Node, label any) (string, bool) {
	name, _ := label.(string)
	for _, e := range n.Ends {
		if e.Label.Value == name {
			return e.Target.Value, true
		}
	}
	return name, !n.HasEnds && (name == spec.END || r.graph.Node(name) != nil)
}
