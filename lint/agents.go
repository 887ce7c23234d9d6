// The states of an agent's loop: a small graph of their own. The findings
// belong to the rule about values.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// checkInvalidValues asks for what takes more than one key to tell.
func checkInvalidValues(f *facts) {
	checkAgentStates(f)
	f.finalPeople()
}

func checkAgentStates(f *facts) {
	for _, n := range f.graph.Nodes {
		loop := n.Field("loop")
		if n.Kind.Value != "agent" || loop == nil || loop.Kind != spec.Map {
			continue
		}
		pattern := loop.Get("pattern")
		if pattern == nil || pattern.Text.Value != "state_machine" {
			continue
		}
		f.agentStates(loop, pattern.Text)
	}
}

func (f *facts) agentStates(loop *spec.Value, pattern spec.Text) {
	states := loop.Get("states")
	if states == nil || states.Kind != spec.Map || len(states.Fields) == 0 {
		f.report(pattern.At(0, len(pattern.Value)), "a state_machine needs states")
		return
	}
	names := slices.Sorted(slices.Values(keysOf(states.Fields)))
	refer := func(v *spec.Value) {
		if v == nil || v.Kind != spec.String || slices.Contains(names, v.Text.Value) {
			return
		}
		d := f.report(v.Text.At(0, len(v.Text.Value)), "%q is no state of the loop; states are %s", v.Text.Value, strings.Join(names, ", "))
		d.Suggestion = suggest.Closest(v.Text.Value, names)
	}
	refer(loop.Get("initial"))
	ends := false
	for i := range states.Fields {
		state := &states.Fields[i].Value
		next := state.Get("transitions")
		terminal := state.Get("terminal")
		ends = ends || next == nil || len(next.Items) == 0 || terminal != nil && terminal.Data() == true
		for j := 0; next != nil && j < len(next.Items); j++ {
			refer(&next.Items[j])
		}
	}
	if !ends {
		f.report(pattern.At(0, len(pattern.Value)), "no state is terminal, so the loop would not end; mark one with terminal: true")
	}
}
