// Elements: a node that runs once for each of a list (§7).

package reference

import "slices"

func (r *run) enterEach(t *task) {
	t.isEach = true
	v, err := r.eval(t.node.Each.Value, r.env(t, nil))
	list, ok := v.([]any)
	if err != nil || !ok {
		t.failure = &failure{kind: "expression", node: t.node.ID.Value}
		r.finish(t)
		return
	}
	for i, item := range list {
		t.units = append(t.units, &unit{element: i + 1, item: item, state: ready})
	}
	t.status = ready
	for _, u := range t.units {
		if t.status == ready || t.status == running {
			r.begin(t, u)
		}
	}
	if len(list) == 0 {
		r.endEach(t)
	}
}

// endElement decides, by the node's policy, what a failed element means.
func (r *run) endElement(t *task, u *unit) {
	if u.failure != nil && r.policy(t.node) == "fail_all" {
		t.failure = u.failure
		r.forget(t)
		r.finish(t)
		return
	}
	if !slices.ContainsFunc(t.units, func(u *unit) bool { return u.state != done }) {
		r.endEach(t)
	}
}

func (r *run) endEach(t *task) {
	list := []any{}
	failed := 0
	for _, u := range t.units {
		switch {
		case u.failure == nil:
			list = append(list, u.output)
			continue
		case r.policy(t.node) == "wait_all":
			list = append(list, map[string]any{"error": u.failure.data()})
		default:
			list = append(list, nil)
		}
		failed++
	}
	t.output, t.lost = list, failed > 0
	if failed > 0 && failed == len(t.units) && r.policy(t.node) != "wait_all" {
		t.failure = t.units[0].failure
		t.output = nil
	}
	r.finish(t)
}
