// each: a node that runs once per element of a list, several elements at a time (§7). It is one step
// and one visit. Its output is the list of the elements' outputs.

package machine

import "slices"

// Each is the progress of a node with `each`.
type Each struct {
	Items   []any `json:"items"`
	Results []any `json:"results"`
	// Next is the next element to begin, from 1. Done counts the elements that have ended.
	Next int `json:"next"`
	Done int `json:"done"`
	// Size is the size of all results, as eval.Size measures it.
	Size int `json:"size,omitempty"`
	// Failures and Talk hold the failures and messages of elements by index.
	Failures map[int]*Failure   `json:"failures,omitempty"`
	Talk     map[int]*TalkDelta `json:"talk,omitempty"`

	looping bool // beginElements is running
}

// beginEach evaluates the list and begins as many elements as may run.
func (t *Task) beginEach(n *node) {
	value, err := t.scope.state.vm.Eval(n.bound.Each, t.nodeContext(n))
	if err != nil {
		t.failStep(expressionFailure("each: ", err))
		return
	}
	items, ok := value.([]any)
	if !ok {
		t.failStep(&Failure{Kind: "invalid_input", Message: "each: " + previewValue(value, 60) + " is not a list"})
		return
	}
	t.Each = &Each{Items: items, Results: make([]any, len(items)), Next: 1}
	if len(items) == 0 {
		t.endEach()
		return
	}
	t.beginElements()
}

// countOpen counts the elements that have begun and not ended.
func (e *Each) countOpen(t *Task) int {
	open := 0
	for _, u := range t.Units {
		if u.Begun && u.State != ended {
			open++
		}
	}
	return open
}

// beginElements begins the next elements. At most one of them waits for max_concurrency.
func (t *Task) beginElements() {
	e, n := t.Each, t.node()
	if e.looping {
		return
	}
	e.looping = true
	defer func() { e.looping = false }()
	waits := func(u *Unit) bool { return u.State == queued && !u.Begun }
	for !t.Done && e.Next <= len(e.Items) && !slices.ContainsFunc(t.Units, waits) {
		if n.decl.MaxConcurrency > 0 && e.countOpen(t) >= n.decl.MaxConcurrency {
			return
		}
		u := &Unit{Element: e.Next, Attempt: 1}
		e.Next++
		t.Units = append(t.Units, u)
		t.queueUnit(u)
	}
}

func (t *Task) endElement(u *Unit) {
	e, sc := t.Each, t.scope
	policy, i := sc.plan.nodes[t.Node].parallel.OnFailure, u.Element-1
	e.Done++
	if u.Failure != nil {
		e.Failures = setEntry(e.Failures, i, u.Failure)
	}
	t.noteElement(u)
	switch {
	case u.Failure == nil:
		e.Results[i] = u.Output
		if u.Talk != nil {
			e.Talk = setEntry(e.Talk, i, u.Talk)
		}
	case policy == "fail_all":
		for _, other := range t.Units {
			if other != u { // a resume continues the others
				t.interruptUnit(other)
			}
		}
		sc.savePartialResults(t)
		failure := *u.Failure
		t.Failure = &failure
		t.finishStep()
		return
	case policy == "wait_all":
		e.Results[i] = map[string]any{"error": failureData(u.Failure)}
	}
	t.Units = slices.DeleteFunc(t.Units, func(o *Unit) bool { return o == u })
	if e.Done == len(e.Items) {
		t.endEach()
		return
	}
	t.beginElements()
}

// savePartialResults stores the outputs of finished elements when the step fails.
func (sc *Scope) savePartialResults(t *Task) {
	if slices.ContainsFunc(t.Each.Results, func(v any) bool { return v != nil }) {
		sc.savePartial(t.Node, &Event{Partial: slices.Clone(t.Each.Results)})
	}
}

func (t *Task) endEach() {
	e, sc := t.Each, t.scope
	n := &sc.plan.nodes[t.Node]
	failed := len(e.Failures)
	if failed > 0 && failed == len(e.Items) && sc.plan.nodes[t.Node].parallel.OnFailure == "continue_others" {
		sc.savePartialResults(t)
		t.Failure = e.Failures[0]
		t.finishStep()
		return
	}
	sc.Degraded = sc.Degraded || failed > 0
	t.Output = e.Results
	writes, failure := t.checkStep(n, t.Output, t.elementWrites(n))
	if failure == nil && n.act == actSet {
		failure = t.view().tryWrites(writes)
	}
	if failure != nil {
		t.failStep(failure)
		return
	}
	t.Writes = writes
	t.finishStep()
}

// elementWrites returns the writes of a set node, which its elements' outputs hold.
func (t *Task) elementWrites(n *node) (writes []Write) {
	for i, result := range t.Each.Results {
		if t.Each.Failures[i] != nil {
			continue
		}
		output, _ := result.(map[string]any)
		for j := range n.set {
			key := n.set[j].key
			writes = append(writes, Write{Key: key, Update: output[t.scope.plan.keys[key].name]})
		}
	}
	return writes
}

// tryWrites applies the writes of all elements and undoes them. It returns the first failure.
func (v *View) tryWrites(writes []Write) *Failure {
	defer v.rollBack(v.changeMark())
	for i := range writes {
		if failure := v.applyWrite(&writes[i]); failure != nil {
			return failure
		}
	}
	return nil
}
