// The last stop of a run that goes round without getting anywhere.

package machine

import (
	"slices"
	"strings"
)

// maxBarren is how many times in a row a superstep may close, or an attempt that
// has run before may run again, without a step, a new attempt or an answer. Nothing
// in a graph needs as many: more is an error in graphrun, and a run must not fill
// its journal with it.
const maxBarren = 1000

// barren counts one round without progress.
func (s *State) barren() { s.rounds++ }

// progress notes that the run got somewhere.
func (s *State) progress() { s.rounds = 0 }

// goesRound ends a run that makes no progress. It reports whether it does.
func (p *Plan) goesRound(s *State) bool {
	if s.rounds <= maxBarren || s.closing != nil || s.final != nil {
		return false
	}
	var nodes []string
	for _, list := range [...][]task{s.tasks, s.next, s.parked} {
		for i := range list {
			if id := p.nodes[list[i].node].id; !slices.Contains(nodes, id) {
				nodes = append(nodes, id)
			}
		}
	}
	s.rounds = 0
	p.end(s, ending{status: Failed, reason: "node_failed", failure: &Failure{
		Kind: "internal",
		Message: "the run went round " + plural(maxBarren, "time") + " at " + strings.Join(nodes, ", ") +
			" without a step, a new attempt or an answer: this is an error in graphrun, please report it",
	}})
	return true
}
