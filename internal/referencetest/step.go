// Steps: visit limit, elements, timeouts (§4, §5, §7 each).

package referencetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// step is one execution of a node.
type step struct {
	thread
	scope *scope
	node  *spec.Node
	token *token

	input    any
	inputs   map[string]any
	branches map[string]any
	cause    *Error // the failure that led here
	// preset is the reason why a join fails instead of running; settled are the conflicts of that join.
	preset  *Error
	settled []conflict

	begun, done      bool
	skipped, refused bool // by the visit limit
	isFinal          bool
	visit            int
	view             View
	isEach           bool
	units            []*unit
	timedOut         bool            // by step_timeout
	passed           map[string]bool // breakpoints, by list
	output           any
	failure          *Error
	writes           []write
}

type unitState int

const (
	queued  unitState = iota // its attempt waits for max_concurrency
	running                  // its attempt runs
	delayed                  // until the next attempt
	asking                   // until all questions are answered
	ended
)

// unit is one element of a step with `each`, or the whole step without it.
type unit struct {
	step      *step
	index     int // of the element
	item      any
	state     unitState
	attempt   int
	round     int
	failures  map[int]int // how many, by block of retry
	open      []string    // keys of the open questions
	inner     *scope      // of a graph node
	epoch     int         // changes with every attempt, so that late events are ignored
	begun     bool
	output    any
	failure   *Error
	writes    []write
	lastInner *scope // the inner scope that ended last
	cutOff    bool   // it was stopped before it ended
}

func (st *step) newError(kind, message string) *Error {
	return &Error{Kind: kind, Message: message, Node: st.node.ID.Value, Attempt: 1}
}

// id returns the name of a step, or of one element of it.
func (st *step) id(u *unit) StepID {
	out := StepID{
		Scope: st.scope.path(), Node: st.node.ID.Value, Visit: st.visit, Element: -1, Branch: st.branch,
		Rank: st.rank, Order: slices.Clone(st.order),
	}
	if o := st.scope.outer; o != nil {
		outer := o.step.id(o)
		out.Outer = &outer
	}
	if u != nil {
		out.Round = u.round
		if st.isEach {
			out.Element = u.index
		}
	}
	return out
}

// mayBegin reports whether a step may start: the run does not pause, this graph and all enclosing
// graphs have steps left, and there is room for the attempt.
func (s *scope) mayBegin(st *step) bool {
	r := s.run
	if st.isFinal {
		return !r.pausing
	}
	if r.pausing || s.pauseAtBreakpoint("pause_before", st) {
		return false
	}
	for _, one := range s.listEnclosing() {
		if max(one.executions-one.extra, one.refusals) >= one.graph.Limits.MaxSteps {
			one.full, r.timed = true, true
			return false
		}
		if one.full {
			return false
		}
	}
	return !takesSlot(st.node) || st.preset != nil || st.node.Each.IsSet() || s.hasRoom()
}

// beginStep starts a step: it checks the visit limit, takes the view, and starts the attempts.
func (s *scope) beginStep(st *step) {
	st.begun = true
	visits := 0
	for p := range st.past {
		if p.node == st.node && !p.skipped && !p.refused {
			visits++
		}
	}
	limit := st.node.VisitLimit(s.graph)
	over := limit > 0 && visits >= limit && !st.isFinal
	st.skipped, st.refused = over && st.node.OnMaxVisits == "skip", over && st.node.OnMaxVisits != "skip"
	if st.refused { // a refusal is no execution, but a loop of refusals must end
		s.refusals++
	} else if !st.isFinal {
		for _, one := range s.listEnclosing() {
			one.executions++
		}
		s.own++
	}
	if over {
		st.visit = visits
		st.view = s.view(st)
		if st.refused {
			st.failure = st.newError("max_visits", "more than "+strconv.Itoa(limit)+" visits")
			st.failure.Attempt = 0
		}
		s.finishStep(st)
		return
	}
	st.visit = visits + 1
	st.view = s.view(st)
	if st.preset == nil {
		s.watchBefore(st)
	}
	if s.frozen && !st.isFinal {
		return
	}
	if limit := s.graph.Limits.StepTimeout; limit > 0 && st.node.Kind.Value != "human" {
		s.run.schedule(limit, false, func() bool { return s.isAlive(st) && !st.done }, func() { s.timeOutStep(st) })
	}
	s.createUnits(st)
}

// createUnits makes the units of a step. After a resume it makes new ones.
func (s *scope) createUnits(st *step) {
	st.units, st.failure, st.output, st.writes = nil, nil, nil, nil
	if st.preset != nil {
		st.failure = st.preset
		s.finishStep(st)
		return
	}
	st.isEach = st.node.Each.IsSet()
	if !st.isEach {
		s.addUnit(st, nil)
		s.startPureUnits(st)
		return
	}
	v, err := s.eval(s.bound.Nodes[st.node.Index].Each, st.view.Env)
	list, ok := v.([]any)
	if err != nil || !ok {
		st.failure = st.newError("expression", "each gives no list")
		s.finishStep(st)
		return
	}
	for _, item := range list {
		s.addUnit(st, item)
	}
	if len(list) == 0 {
		s.endEach(st)
		return
	}
	s.startPureUnits(st)
}

func (s *scope) addUnit(st *step, item any) {
	st.units = append(st.units, &unit{step: st, index: len(st.units), item: item, attempt: 1, failures: map[int]int{}})
}

// startPureUnits starts the units of a node that takes no slot.
func (s *scope) startPureUnits(st *step) {
	for _, u := range st.units {
		if !st.done && u.state == queued && s.mayStart(u) {
			s.startAttempt(u)
		}
	}
}

// mayStart reports whether the run and the window of `each` have room for an attempt. A pause does not
// keep attempts of a started step from starting.
func (s *scope) mayStart(u *unit) bool {
	if limit := u.step.node.MaxConcurrency; u.step.isEach && limit > 0 && !u.begun {
		open := 0
		for _, other := range u.step.units {
			if other.begun && other.state != ended {
				open++
			}
		}
		if open >= limit {
			return false
		}
	}
	return !takesSlot(u.step.node) || s.hasRoom()
}

// env returns what the node's own expressions see. The result of `before` is added to the input (§4).
func (s *scope) env(st *step, u *unit) (map[string]any, *Error) {
	env := maps.Clone(st.view.Env)
	if st.isEach {
		env["item"], env["index"] = u.item, u.index
	}
	before := s.bound.Nodes[st.node.Index].Before
	if len(before) == 0 {
		return env, nil
	}
	var vm eval.VM
	more, err := bind.EvalFields(before, &vm, env)
	if err != nil {
		return nil, st.newError("expression", err.Error())
	}
	input := map[string]any{}
	if object, ok := st.input.(map[string]any); ok {
		maps.Copy(input, object)
	}
	maps.Copy(input, more)
	env["input"] = input
	return env, nil
}

// timeout returns the timeout of an attempt. A human node's timeout applies to its question instead.
func (s *scope) timeout(n *spec.Node) time.Duration {
	if n.Timeout > 0 {
		return n.Timeout
	}
	return s.graph.Limits.NodeTimeout
}

// endElement ends an element, and ends its step if no other element is left or a failure ends it (§7
// each).
func (s *scope) endElement(st *step, u *unit) {
	if u.failure != nil && failurePolicy(s.graph, st.node) == "fail_all" {
		s.run.timed = s.run.timed || len(st.units) > 1 // with other timing, another element might be first
		s.stopUnits(st)
		st.failure = u.failure
		s.finishStep(st)
		return
	}
	if !slices.ContainsFunc(st.units, func(u *unit) bool { return u.state != ended }) {
		s.endEach(st)
	}
}

// endEach ends a step with `each` and makes the list of outputs.
func (s *scope) endEach(st *step) {
	list, failures := []any{}, 0
	var first *Error
	for i, u := range st.units {
		st.writes = append(st.writes, u.writes...)
		switch {
		case u.failure == nil:
			list = append(list, u.output)
			continue
		case failurePolicy(s.graph, st.node) == "wait_all":
			named := *u.failure
			named.Message = fmt.Sprintf("element %d: %s", i, named.Message)
			list = append(list, map[string]any{"error": named.toData()})
		default:
			list = append(list, nil)
		}
		failures++
		if first == nil {
			first = u.failure
		}
	}
	if failures > 0 && failures == len(st.units) && failurePolicy(s.graph, st.node) == "continue_others" {
		st.failure = first
		s.finishStep(st)
		return
	}
	s.degraded = s.degraded || failures > 0
	st.output = list
	if st.failure = s.validateStep(st, nil, list); st.failure == nil && st.node.Kind.Value == "set" {
		st.failure = s.checkWrites(st, st.writes)
	}
	s.finishStep(st)
}

// stopUnits stops the units of a step. Their later events are ignored.
func (s *scope) stopUnits(st *step) {
	for _, u := range st.units {
		if u.state != ended {
			if u.inner != nil { // a resume may continue it
				before := s.run.partial
				u.inner.cutOffAll()
				s.run.partial = before
			}
			u.epoch++
			s.discardInner(u)
			u.state, u.cutOff = ended, true
		}
	}
}

// timeOutStep fails a step at its timeout, without a retry (§2).
func (s *scope) timeOutStep(st *step) {
	s.run.timed = true
	s.stopUnits(st)
	st.timedOut = true
	st.output, st.writes = nil, nil
	st.failure = st.newError("timeout", "step_timeout")
	for _, u := range st.units {
		st.failure.Attempt = u.attempt
	}
	s.finishStep(st)
}

// isAlive reports whether the scope of a step still runs and the step is not cancelled.
func (s *scope) isAlive(st *step) bool {
	return !s.closed && slices.Contains(s.listActiveSteps(), st) && slices.Contains(s.run.scopes, s) && (s.outer == nil || s.outer.inner == s && s.outer.step.scope.isAlive(s.outer.step))
}
