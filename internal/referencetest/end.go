// Ends of runs, `finally`, results, and resumes (§2, §5, §11).

package referencetest

import (
	"maps"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

func (s *scope) newLimitError(reason string) *Error {
	return &Error{Kind: "limit", Message: reason}
}

// mergeAll returns the thread after all steps, with all branches merged as by a join.
func (s *scope) mergeAll() *thread {
	arrived := slices.Concat(s.ended, s.live)
	out := thread{past: past{}, hoisted: map[*step]int{}}
	if len(arrived) > 0 {
		out = s.mergeThreads(arrived, s.gone)
	} else if len(s.gone) > 0 {
		out = s.mergeThreads(s.gone, nil)
	}
	for _, st := range s.steps {
		out.past[st] = true
	}
	return &out
}

// complete ends a scope that has no branch left. The status is `completed`, unless branches that never
// met conflict, or the output can't be evaluated.
func (s *scope) complete() {
	_, found := s.computeState(s.mergeAll())
	if len(found) > 0 {
		s.end("failed", "conflict", &Error{Kind: "conflict", Message: "conflicting writes to " + found[0].key})
		return
	}
	if err := s.evalOutput(false); err != nil {
		s.end("failed", "expression", &Error{Kind: "expression", Message: err.Error()})
		return
	}
	s.end("completed", "", nil)
}

// evalOutput evaluates `output`. Without `output` it takes the output of the node whose edge reached
// END, the last one in path order (§2). If the run was cut short, a part that cannot be evaluated is
// null.
func (s *scope) evalOutput(parts bool) error {
	var last *step
	for _, t := range s.ended {
		if t.node == spec.END && (last == nil || comparePath(last, t.from) < 0) {
			last = t.from
		}
	}
	if last == nil && parts {
		for _, st := range s.steps {
			if last == nil || comparePath(last, st) < 0 {
				last = st
			}
		}
	}
	if s.output = nil; last != nil {
		s.output = last.output
	}
	if s.bound.Output == nil {
		return nil
	}
	all := &step{thread: *s.mergeAll(), scope: s, node: s.graph.Nodes[0], skipped: true, input: s.input, inputs: map[string]any{}, branches: map[string]any{}}
	env := s.view(all).Env
	env["output"], env["outcome"] = s.output, "success"
	var vm eval.VM
	v, err := s.bound.Output.Eval(&vm, env)
	if err != nil && parts {
		s.degraded = true
		v, err = s.bound.Output.EvalParts(&vm, env), nil
	}
	s.output = v
	return err
}

// endAtStepLimit ends a scope at max_steps (§11).
func (s *scope) endAtStepLimit() {
	if on := s.graph.Limits.OnMaxSteps; on == "return_last" || on == "flag" {
		s.degraded, s.limited = true, on == "flag"
		_ = s.evalOutput(true)
		s.end("completed", "max_steps", nil)
		return
	}
	s.end("limit", "max_steps", s.newLimitError("max_steps"))
}

// endBy ends a scope because of a step. That step runs again when the run is resumed.
func (s *scope) endBy(st *step, status string, e *Error) {
	s.culprit = st
	reason := e.Kind
	if status == "stuck" {
		reason = ""
	}
	if status == "failed" && e.Kind == "max_visits" {
		status = "limit"
	}
	s.end(status, reason, e)
}

// end sets how a scope ends, cuts off what runs, and then runs `finally`.
func (s *scope) end(status, reason string, e *Error) {
	if s.frozen {
		return
	}
	s.run.timed = s.run.timed || status != "completed" && len(s.fans) > 0
	s.endStatus, s.endReason, s.endError = status, reason, e
	s.cutOffAll()
	s.finals = nil
	for _, f := range s.graph.Finally {
		s.finals = append(s.finals, f.Value)
	}
}

// cutOffAll stops all steps of a scope and of the scopes inside it.
func (s *scope) cutOffAll() {
	for _, st := range s.listActiveSteps() {
		for _, u := range st.units {
			if u.state == ended || u.state == queued && !u.begun {
				continue
			}
			if u.inner != nil {
				u.inner.cutOffAll()
				s.run.scopes = slices.DeleteFunc(s.run.scopes, func(o *scope) bool { return o == u.inner })
				continue
			}
			if !st.done {
				s.run.partial = append(s.run.partial, st.id(u))
			}
			u.epoch++
			u.state, u.open = queued, nil
		}
	}
	s.frozen = true
}

// discardInner ends the inner scope of a graph node's attempt permanently.
func (s *scope) discardInner(u *unit) {
	if u.inner == nil {
		return
	}
	for _, st := range u.inner.listActiveSteps() {
		for _, inside := range st.units {
			u.inner.discardInner(inside)
		}
	}
	s.run.scopes = slices.DeleteFunc(s.run.scopes, func(o *scope) bool { return o == u.inner })
	u.lastInner, u.inner = u.inner, nil
}

// nextFinal starts the next node of `finally`, or closes the scope.
func (s *scope) nextFinal() {
	if len(s.finals) == 0 {
		s.close()
		return
	}
	t := s.mergeAll()
	st := &step{thread: *t, scope: s, node: s.graph.Node(s.finals[0]), isFinal: true, inputs: map[string]any{}, branches: map[string]any{}, cause: s.endError}
	s.finals = s.finals[1:]
	st.rank, st.order, st.place = 1, nil, nil
	for p := range st.past {
		st.rank = max(st.rank, p.rank+1)
	}
	input := map[string]any{"status": s.endStatus, "reason": s.endReason, "error": nil, "output": s.output}
	if s.endError != nil {
		input["error"] = s.endError.toData()
	}
	st.input = input
	s.final = st
}

func (s *scope) finishFinal(st *step) {
	s.steps = append(s.steps, st)
	s.final = nil
	s.finallyFailed = s.finallyFailed || st.failure != nil
}

// close closes a scope. The outermost scope ends the run; an inner scope passes its result to its
// graph node.
func (s *scope) close() {
	s.closed = true
	s.run.scopes = slices.DeleteFunc(s.run.scopes, func(o *scope) bool { return o == s })
	u := s.outer
	if u == nil {
		return
	}
	around := u.step.scope
	if s.endStatus != "completed" {
		e := around.newFailure(u, "child_failed", "the subgraph ended "+s.endStatus.(string))
		around.endAttempt(u, nil, e)
		return
	}
	around.degraded = around.degraded || s.quality() == "degraded"
	state, _ := s.computeState(s.mergeAll())
	around.endAttempt(u, map[string]any{"output": s.output, "state": state, "status": "completed", "quality": s.quality()}, nil)
}

func (s *scope) quality() string {
	switch {
	case s.endStatus != "completed":
		return "failed"
	case s.degraded, s.finallyFailed:
		return "degraded"
	}
	return "clean"
}

// listQuestions lists the open questions and breakpoints.
func (r *Run) listQuestions() []Pending {
	var out []Pending
	for _, s := range r.scopes {
		for _, st := range s.listActiveSteps() {
			for _, u := range st.units {
				if u.state != asking {
					continue
				}
				for _, key := range u.open {
					out = append(out, Pending{StepID: st.id(u), Key: key})
				}
			}
		}
	}
	return out
}

// result returns the current result of the run.
func (r *Run) result(status string) Result {
	s := r.root
	out := Result{
		Status: status, Limited: s.limited, Steps: s.executions, Own: s.own, Visits: map[string]int{}, Fired: maps.Clone(r.fired),
		Partial: slices.Clone(r.partial), Took: r.now - r.began, Cancels: r.cancels, Timed: r.timed, Inner: map[string][]StepResult{},
	}
	out.State, _ = s.computeState(s.mergeAll())
	out.Log = s.log(out.Inner)
	for _, l := range out.Log {
		if !l.Final && l.Outcome != "refused" {
			out.Path = append(out.Path, l.Node)
		}
		if l.Outcome != "skipped" && l.Outcome != "refused" {
			out.Visits[l.Node]++
		}
	}
	if status == "paused" {
		out.Pending = slices.Concat(r.listQuestions(), r.halted)
		return out
	}
	out.Quality, out.Reason, out.Error = s.quality(), s.endReason.(string), s.endError
	if status == "completed" {
		out.Output = s.output
	}
	return out
}

// log lists the finished steps in path order, and adds those of subgraphs to inner.
func (s *scope) log(inner map[string][]StepResult) []StepResult {
	steps := slices.Clone(s.steps)
	slices.SortStableFunc(steps, comparePath)
	out := []StepResult{}
	for _, st := range steps {
		one := StepResult{StepID: st.id(nil), Outcome: "success", Output: st.output, Error: st.failure, View: st.view, Final: st.isFinal}
		switch {
		case st.skipped:
			one.Outcome = "skipped"
		case st.refused:
			one.Outcome = "refused"
		case st.failure != nil:
			one.Outcome = "failure"
		}
		out = append(out, one)
		for _, u := range st.units {
			if st.isEach {
				out[len(out)-1].Items = append(out[len(out)-1].Items, u.item)
			}
			if u.lastInner != nil {
				key := u.lastInner.path()
				inner[key] = append(inner[key], u.lastInner.log(inner)...)
			}
		}
	}
	return out
}

// Resume continues a run that is paused, or that ended with another status than completed (§5).
// Finished steps stay finished, steps that were cut off run again, and the step whose failure ended the
// run runs again with all its attempts. If a limit ended the run, the limit starts again at zero.
func (r *Run) Resume(w World, o Options) Result {
	r.world, r.opts, r.pausing, r.halted = w, o, false, nil
	r.partial = nil
	if r.root.closed {
		r.root.reopen()
	}
	return r.loop()
}

// reopen continues a scope that ended or was cut off.
func (s *scope) reopen() {
	r := s.run
	r.scopes = append(r.scopes, s)
	if s.endStatus == "limit" {
		s.extra, s.used, s.refusals = s.executions, 0, 0
	}
	s.frozen, s.closed, s.full, s.limited, s.finallyFailed = false, false, false, false, false
	s.endStatus, s.endReason, s.endError, s.final = nil, nil, nil, nil
	s.steps = slices.DeleteFunc(s.steps, func(st *step) bool { return st.isFinal })
	if st := s.culprit; st != nil {
		s.culprit = nil
		s.steps = slices.DeleteFunc(s.steps, func(o *step) bool { return o == st })
		s.reviveToken(st)
		s.rerunStep(st)
	}
	for _, st := range s.listActiveSteps() {
		for _, u := range st.units {
			if st.begun && u.inner != nil && !slices.Contains(r.scopes, u.inner) {
				u.inner.reopen()
			}
		}
	}
}

// reviveToken restores the token of a step, if the failure of the step removed the token together with
// its branch.
func (s *scope) reviveToken(st *step) {
	st.done = false
	t := st.token
	if slices.Contains(s.live, t) {
		return
	}
	s.gone = slices.DeleteFunc(s.gone, func(o *token) bool { return o == t })
	s.live = append(s.live, t)
	t.past, t.failed = st.past, nil
	for _, fr := range t.place {
		if l := fr.fan.lanes[fr.lane]; l.failedStep == st {
			l.failed, l.failedStep = nil, nil
		}
	}
}

// rerunStep runs the step whose failure ended a scope again. If its subgraph failed, the subgraph
// continues; of `each`, only the elements that have not succeeded run.
func (s *scope) rerunStep(st *step) {
	var resumable []*unit
	for _, u := range st.units {
		if u.state == ended && (u.failure != nil || u.cutOff) {
			resumable = append(resumable, u)
		}
	}
	if st.refused {
		s.refuseAgain(st)
		return
	}
	if len(resumable) == 0 || st.preset != nil {
		s.createUnits(st)
		return
	}
	st.failure, st.timedOut = nil, false
	st.writes = nil
	for _, u := range resumable {
		failed := u.failure != nil
		u.failure, u.round, u.state = nil, 0, queued
		if failed {
			u.attempt, u.failures = 1, map[int]int{}
		}
		u.cutOff = false
		if u.lastInner != nil && u.lastInner.endStatus != "completed" {
			u.inner, u.lastInner, u.state = u.lastInner, nil, running
			u.inner.reopen()
		}
	}
}

// refuseAgain refuses a visit again, since its limit still applies.
func (s *scope) refuseAgain(st *step) {
	st.failure = st.newError("max_visits", "too many visits")
	s.finishStep(st)
}
