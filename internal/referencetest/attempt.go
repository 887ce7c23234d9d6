// Attempts of all kinds of nodes, and retries (§4).

package referencetest

import (
	"math"
	"slices"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// startAttempt starts an attempt according to the node's kind (§4).
func (s *scope) startAttempt(u *unit) {
	st := u.step
	u.state, u.begun, u.failure, u.output, u.writes = running, true, nil, nil, nil
	u.epoch++
	epoch := u.epoch
	alive := func() bool { return u.epoch == epoch && s.isAlive(st) }
	if d := s.timeout(st.node); d > 0 && st.node.Kind.Value != "human" {
		s.run.schedule(d, false, func() bool { return alive() && (u.state == running) }, func() {
			s.run.timed = true
			s.endAttempt(u, nil, s.newFailure(u, "timeout", "timeout"))
		})
	}
	env, bad := s.env(st, u)
	if bad != nil {
		s.endAttempt(u, nil, bad)
		return
	}
	switch st.node.Kind.Value {
	case "pass":
		out := env["input"]
		if st.isEach {
			out = u.item
		}
		s.endAttempt(u, out, nil)
	case "set":
		out, writes, fail := s.evalAssignments(st, env)
		u.writes = writes
		s.endAttempt(u, out, fail)
	case "fail":
		s.endAttempt(u, nil, s.newFailure(u, "failed", s.evalText(st, "message", env)))
	case "wait":
		d, err := s.waitDuration(st, env)
		if err != nil {
			s.endAttempt(u, nil, err)
			return
		}
		s.run.schedule(d, false, alive, func() { s.endAttempt(u, nil, nil) })
	case "human":
		s.openQuestions(u, []string{""})
	case "graph":
		s.enterGraph(u, env)
	default:
		out, takes := s.run.world.Attempt(st.id(u), u.attempt)
		s.run.schedule(takes, false, alive, func() { s.endEffect(u, out) })
	}
}

func (s *scope) newFailure(u *unit, kind, message string) *Error {
	out := u.step.newError(kind, message)
	out.Attempt = u.attempt
	return out
}

// evalText evaluates a templated text of a node.
func (s *scope) evalText(st *step, key string, env map[string]any) string {
	for _, f := range s.bound.Nodes[st.node.Index].Config {
		if f.Name == key {
			var vm eval.VM
			v, err := f.Value.Eval(&vm, env)
			if err == nil {
				return eval.Text(v)
			}
		}
	}
	return ""
}

// waitDuration returns how long a wait node waits.
func (s *scope) waitDuration(st *step, env map[string]any) (time.Duration, *Error) {
	if v := st.node.Field("for"); v != nil {
		if d, err := time.ParseDuration(v.Value); err == nil {
			return d, nil
		}
	}
	for _, f := range s.bound.Nodes[st.node.Index].Config {
		if f.Name != "for" {
			continue
		}
		var vm eval.VM
		v, err := f.Value.Eval(&vm, env)
		if err != nil {
			return 0, st.newError("expression", err.Error())
		}
		switch v := v.(type) {
		case int:
			return time.Duration(v) * time.Second, nil
		case float64:
			return time.Duration(v * float64(time.Second)), nil
		case string:
			if d, err := time.ParseDuration(v); err == nil {
				return d, nil
			}
		}
	}
	return 0, st.newError("expression", "no duration")
}

// endEffect ends an attempt with the outcome from the world, or opens the questions of the outcome.
func (s *scope) endEffect(u *unit, out Outcome) {
	switch {
	case len(out.Asks) > 0 && u.step.isFinal:
		s.endAttempt(u, nil, s.newFailure(u, "invalid_input", "finally can't ask"))
	case len(out.Asks) > 0:
		s.openQuestions(u, out.Asks)
	case out.Error != nil:
		e := *out.Error
		e.Node, e.Attempt = u.step.node.ID.Value, u.attempt
		s.endAttempt(u, nil, &e)
	default:
		s.endAttempt(u, canonical(out.Output), nil)
	}
}

// openQuestions opens questions of a unit. For a human node the answer is the output, or its default
// after its timeout; an interrupted attempt runs again after all questions are answered.
func (s *scope) openQuestions(u *unit, keys []string) {
	st := u.step
	u.state, u.open = asking, slices.Clone(keys)
	epoch := u.epoch
	alive := func() bool { return u.epoch == epoch && s.isAlive(st) && u.state == asking }
	human := st.node.Kind.Value == "human"
	for _, key := range keys {
		answer, takes, ok := s.run.world.Answer(st.id(u), key)
		if !ok {
			continue
		}
		s.run.schedule(takes, true, alive, func() {
			u.open = slices.DeleteFunc(u.open, func(k string) bool { return k == key })
			switch {
			case human:
				s.endAttempt(u, canonical(answer), nil)
			case len(u.open) == 0:
				u.round++
				u.state = queued
			}
		})
	}
	if d := st.node.Timeout; human && d > 0 {
		s.run.timed = true
		s.run.schedule(d, true, alive, func() {
			u.open = nil
			if v := st.node.Field("default"); v != nil {
				s.endAttempt(u, canonical(v.Data()), nil)
				return
			}
			s.endAttempt(u, nil, s.newFailure(u, "timeout", "nobody answered"))
		})
	}
}

// enterGraph starts the run of a subgraph (§4 graph, §5).
func (s *scope) enterGraph(u *unit, env map[string]any) {
	input := map[string]any{}
	for _, f := range s.bound.Nodes[u.step.node.Index].Config {
		if f.Name != "with" {
			continue
		}
		var vm eval.VM
		v, err := f.Value.Eval(&vm, env)
		if err != nil {
			s.endAttempt(u, nil, s.newFailure(u, "expression", err.Error()))
			return
		}
		input, _ = v.(map[string]any)
	}
	g := s.graph.InnerGraph(u.step.node.Field("graph").Value)
	for i, k := range g.State {
		v, given := input[k.Name.Value]
		bound := s.run.flow.bound[g].Keys[i]
		if k.Required && !given || given && bound.Schema.Check(bound.Schema.Normalise(canonical(v))) != nil {
			s.endAttempt(u, nil, s.newFailure(u, "invalid_input", k.Name.Value))
			return
		}
	}
	u.inner = s.run.newScope(g, input, u)
}

// endAttempt validates the output of an attempt, and then either schedules a retry or ends the unit (§4
// Retry).
func (s *scope) endAttempt(u *unit, output any, failure *Error) {
	st := u.step
	if failure == nil {
		failure = s.validateAttempt(u, output)
	}
	s.discardInner(u)
	u.epoch++
	if failure != nil && !st.timedOut {
		if delay, again := s.retryDelay(st.node, u, failure); again {
			u.attempt++
			u.round = 0
			u.state = delayed
			epoch := u.epoch
			s.run.schedule(delay, false, func() bool { return u.epoch == epoch && s.isAlive(st) }, func() { u.state = queued })
			return
		}
	}
	u.state, u.output, u.failure = ended, output, failure
	if failure != nil {
		u.output, u.writes = nil, nil
	}
	if st.isEach {
		s.endElement(st, u)
		return
	}
	st.output, st.failure, st.writes = u.output, u.failure, u.writes
	s.finishStep(st)
}

// validateAttempt checks an output, what it writes, and its goto (§4, §5 step 6, §6).
func (s *scope) validateAttempt(u *unit, output any) *Error {
	st := u.step
	if schema := s.bound.Nodes[st.node.Index].Output; schema != nil {
		if err := schema.Check(output); err != nil {
			return s.newFailure(u, "invalid_output", err.Error())
		}
	}
	if st.isEach {
		return nil
	}
	return s.validateStep(st, u, output)
}

func (s *scope) validateStep(st *step, u *unit, output any) *Error {
	if st.node.Kind.Value != "set" {
		writes, fail := s.evalWrites(st, output)
		if fail == nil {
			fail = s.checkWrites(st, writes)
		}
		if fail != nil {
			if u != nil {
				fail.Attempt = u.attempt
			}
			return fail
		}
		if u != nil {
			u.writes = writes
		} else {
			st.writes = writes
		}
	}
	if _, _, err := s.evalGoto(st, output); err != nil {
		return err
	}
	return nil
}

// retryDelay returns how long to wait before the next attempt, and false if there is none.
func (s *scope) retryDelay(n *spec.Node, u *unit, e *Error) (time.Duration, bool) {
	if slices.Contains([]string{"cancelled", "expression", "conflict", "invalid_input", "max_visits", "bypassed"}, e.Kind) {
		return 0, false
	}
	blocks := n.RetryBlocks(s.graph)
	if n.Retry == nil && n.Kind.Value == "agent" || n.Kind.Value == "fail" {
		blocks = nil
	}
	if blocks == nil {
		if !isTransient(n, e) {
			return 0, false
		}
		blocks = []spec.Retry{{MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second}}
	}
	i := slices.IndexFunc(blocks, func(b spec.Retry) bool { return b.AppliesTo(e.Kind) })
	if i < 0 {
		return 0, false
	}
	u.failures[i]++
	if u.failures[i] >= blocks[i].MaxAttempts {
		return 0, false
	}
	d := float64(blocks[i].InitialInterval) * math.Pow(blocks[i].Backoff, float64(u.failures[i]-1))
	return min(time.Duration(d), blocks[i].MaxInterval), true
}

// isTransient reports whether an error may disappear without a change (§4 Retry).
func isTransient(n *spec.Node, e *Error) bool {
	switch e.Kind {
	case "rate_limited", "network", "overloaded":
		return true
	case "timeout":
		return n.Kind.Value == "http" || n.Kind.Value == "llm"
	case "http_status":
		details, _ := e.Details.(map[string]any)
		status, _ := details["status"].(int)
		return status >= 500
	}
	return false
}
