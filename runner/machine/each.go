// each: a node that runs once per element of a list, as a sliding window (§7). It is one
// step and one visit; its output is the list of the elements' outputs in element order.

package machine

import (
	"slices"
)

// Each is the progress of a node with `each`.
type Each struct {
	Items   []any `json:"items"`
	Results []any `json:"results"`
	// Next is the next element to begin, from 1; Done counts those that have ended.
	Next   int `json:"next"`
	Done   int `json:"done"`
	Failed int `json:"failed,omitempty"`
	// First is the failure of the element that stands first, which is number FirstAt.
	First   *Failure `json:"first,omitempty"`
	FirstAt int      `json:"first_at,omitempty"`
	// Size is that of all results, in bytes as JSON.
	Size int `json:"size,omitempty"`
	// FailedAt are the failed elements, and Talk what the others said, by index.
	FailedAt []int              `json:"failed_at,omitempty"`
	Talk     map[int]*TalkDelta `json:"talk,omitempty"`

	looping bool // in moreElements
}

// launchEach evaluates the list and begins as many elements as may run.
func (t *Task) launchEach(n *node) {
	value, err := t.scope.state.vm.Eval(n.each, t.nodeContext(n))
	if err != nil {
		t.failFinal(&Failure{Kind: "expression", Message: "each: " + err.Error()}, 1)
		return
	}
	items, ok := value.([]any)
	if !ok {
		t.failFinal(&Failure{Kind: "invalid_input", Message: "each: " + preview(value, 60) + " is no list"}, 1)
		return
	}
	t.Each = &Each{Items: items, Results: make([]any, len(items)), Next: 1}
	if len(items) == 0 {
		t.endEach()
		return
	}
	t.moreElements()
}

// open returns the number of elements that have begun and not ended.
func (e *Each) open(t *Task) int {
	open := 0
	for _, u := range t.Units {
		if u.Begun && u.State != ended {
			open++
		}
	}
	return open
}

// moreElements begins the next elements. At most one element waits for room at a time.
func (t *Task) moreElements() {
	e, n := t.Each, &t.scope.plan.nodes[t.Node]
	if e.looping {
		return
	}
	e.looping = true
	defer func() { e.looping = false }()
	var u *Unit
	for !t.Done && e.Next <= len(e.Items) {
		if n.atOnce > 0 && e.open(t) >= n.atOnce {
			return
		}
		waits := slices.ContainsFunc(t.Units, func(u *Unit) bool { return u.State == queued && !u.Begun })
		if waits {
			return
		}
		if u == nil || u.State != ended {
			u = &Unit{}
		}
		*u = Unit{Element: e.Next, Attempt: 1}
		e.Next++
		t.Units = append(t.Units, u)
		t.queue(u)
		if u.State == queued && n.countsForConcurrency() {
			return
		}
	}
}

// endElement takes the result of an element.
func (t *Task) endElement(u *Unit) {
	e, sc := t.Each, t.scope
	policy := sc.plan.policyOf(t.Node)
	e.Done++
	if u.Failure != nil {
		e.Failed++
	}
	t.noteElement(u)
	if u.Failure != nil && policy == "fail_all" {
		for _, other := range t.Units {
			if other != u { // it goes on where it is if the failure ends the run
				t.cutUnit(other)
			}
		}
		sc.keepResults(t)
		failure := *u.Failure
		t.Failure = &failure
		t.finish()
		return
	}
	i := u.Element - 1
	switch {
	case u.Failure == nil:
		e.Results[i] = u.Output
		if u.Talk != nil {
			if e.Talk == nil {
				e.Talk = map[int]*TalkDelta{}
			}
			e.Talk[i] = u.Talk
		}
	case policy == "wait_all":
		e.Results[i] = map[string]any{"error": failureData(u.Failure)}
	}
	if u.Failure != nil {
		e.FailedAt = append(e.FailedAt, i)
		if e.First == nil || u.Element < e.FirstAt {
			e.First, e.FirstAt = u.Failure, u.Element
		}
	}
	t.Units = slices.DeleteFunc(t.Units, func(o *Unit) bool { return o == u })
	if e.Done == len(e.Items) {
		t.endEach()
		return
	}
	t.moreElements()
}

// keepResults keeps the outputs of finished elements of a step that fails or is cut off.
func (sc *Scope) keepResults(t *Task) {
	if slices.ContainsFunc(t.Each.Results, func(v any) bool { return v != nil }) {
		sc.savePartial(t.Node, &Event{Partial: slices.Clone(t.Each.Results)})
	}
}

// endEach builds the list of outputs.
func (t *Task) endEach() {
	e, sc := t.Each, t.scope
	n := &sc.plan.nodes[t.Node]
	if e.Failed > 0 && e.Failed == len(e.Items) && sc.plan.policyOf(t.Node) == "continue_others" {
		sc.keepResults(t)
		t.Failure = e.First
		t.finish()
		return
	}
	sc.Degraded = sc.Degraded || e.Failed > 0
	t.Output = e.Results
	writes, failure := t.checkStep(n, t.Output, t.elementWrites(n))
	t.Writes = writes
	if failure == nil && n.act == actSet {
		failure = t.checkElementWrites()
	}
	if failure != nil {
		t.failFinal(failure, 1)
		return
	}
	t.finish()
}

// elementWrites returns what a set node wrote for its elements: the outputs say it.
func (t *Task) elementWrites(n *node) []Write {
	e := t.Each
	if len(n.set) == 0 {
		return nil
	}
	writes := make([]Write, 0, len(n.set)*len(e.Items))
	failed := slices.Sorted(slices.Values(e.FailedAt))
	for i := range e.Items {
		if _, is := slices.BinarySearch(failed, i); is {
			continue
		}
		output, _ := e.Results[i].(map[string]any)
		for j := range n.set {
			key := n.set[j].key
			writes = append(writes, Write{Key: key, Update: output[t.scope.plan.keys[key].name]})
		}
	}
	return writes
}

// checkElementWrites checks the writes of all elements one after the other.
func (t *Task) checkElementWrites() *Failure {
	v := t.view()
	held := slices.Clone(v.Vals)
	size := v.Size
	defer func() { v.Vals, v.Size, v.env = held, size, nil }()
	for i := range t.Writes {
		w := &t.Writes[i]
		if v.scope.plan.keys[w.Key].reducer == reduceReplace {
			v.Vals[w.Key] = w.Update
			continue
		}
		value, failure := v.reduce(w.Key, w.Update)
		if failure != nil {
			return failure
		}
		v.Vals[w.Key] = value
	}
	return t.scope.checkStateSize(v, t.Writes)
}
