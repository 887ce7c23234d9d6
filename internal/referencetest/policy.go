// Policies, checked against the past of each step (§10).

package referencetest

import (
	"slices"

	"github.com/graphrun/graphrun/eval"
)

// endByPolicy ends the run because a step violates a policy.
func (s *scope) endByPolicy(st *step, message string) {
	s.culprit = st
	s.end("failed", "policy", &Error{Kind: "policy", Node: st.node.ID.Value, Message: message})
}

// hasSucceeded reports whether a node has succeeded in the past of a step.
func hasSucceeded(st *step, node string) bool {
	for p := range st.past {
		if p.node.ID.Value == node && p.failure == nil && !p.skipped {
			return true
		}
	}
	return false
}

// watchBefore checks require, forbid and max_visits when a step begins.
func (s *scope) watchBefore(st *step) {
	id := st.node.ID.Value
	for i := range s.graph.Policies {
		p := &s.graph.Policies[i]
		text := func(key string) string {
			if v := p.Get(key); v != nil {
				return v.Text.Value
			}
			return ""
		}
		switch {
		case text("require") != "" && text("before") == id && !hasSucceeded(st, text("require")):
			s.endByPolicy(st, "require")
		case text("forbid") == id && id != "" && slices.ContainsFunc(st.mergeOrder(), func(p *step) bool { return p.node.ID.Value == text("after") && !p.skipped && !p.refused }):
			s.endByPolicy(st, "forbid")
		case text("node") == id && p.Get("max_visits") != nil:
			if most, ok := p.Get("max_visits").Data().(int); ok && st.visit > most {
				s.endByPolicy(st, "max_visits")
			}
		}
	}
}

// watchAfter checks `never` when a step has succeeded.
func (s *scope) watchAfter(st *step) {
	for i := range s.graph.Policies {
		at := s.graph.Policies[i].Get("at")
		if at == nil || at.Text.Value != st.node.ID.Value || s.bound.Never[i] == nil || s.frozen {
			continue
		}
		var vm eval.VM
		holds, err := vm.Test(s.bound.Never[i], s.routingEnv(st))
		switch {
		case err != nil:
			s.endBy(st, "failed", &Error{Kind: "expression", Node: st.node.ID.Value, Message: err.Error()})
		case holds:
			s.endByPolicy(st, "never")
		}
	}
}

// watchReach checks `reach` where a token arrives.
func (s *scope) watchReach(t *token) {
	for i := range s.graph.Policies {
		reach, from := s.graph.Policies[i].Get("reach"), s.graph.Policies[i].Get("from")
		if reach == nil || from == nil || t.from == nil {
			continue
		}
		was := false
		for p := range t.past {
			was = was || p.node.ID.Value == from.Text.Value
		}
		if was && t.node != reach.Text.Value && !s.run.flow.reaches(s.graph, t.node, reach.Text.Value, "") {
			s.endByPolicy(t.from, "reach")
		}
	}
}

// pauseAtBreakpoint pauses the run at a node of pause_before or pause_after (§2), once for each step.
func (s *scope) pauseAtBreakpoint(list string, st *step) bool {
	texts := s.graph.PauseBefore
	if list == "pause_after" {
		texts = s.graph.PauseAfter
	}
	for _, t := range texts {
		if t.Value == st.node.ID.Value && !st.passed[list] {
			if st.passed == nil {
				st.passed = map[string]bool{}
			}
			st.passed[list] = true
			s.run.pausing = true
			s.run.halted = append(s.run.halted, Pending{StepID: st.id(nil), Breakpoint: list})
			return true
		}
	}
	return false
}
