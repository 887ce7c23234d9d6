// Whether a run gets stuck at a node because none of its conditions holds.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
)

// fallsThrough is a run in which no condition of a decision holds, and what they read
// then.
func (f *facts) fallsThrough(d *judgement) (path []int, values []solve.Binding) {
	v := d.site.node.Index
	a := f.shows(f.wayTo(v), explore.Question{Found: func(r *explore.Run) bool {
		skipped := func(n machine.Note) bool { return n.Skipped } // its conditions are not tried
		how := r.State.Failure
		if r.State.Status != machine.Stuck || how.Node != d.site.node.ID.Value || len(how.Candidates) == 0 || how.Candidates[0].Edge < 0 || slices.ContainsFunc(r.State.Notes(), skipped) {
			return false // or it is a join that waits for branches which can't come
		}
		told := map[string]bool{}
		for _, p := range d.conditions {
			for _, read := range p.Reads() {
				name := solve.PathName(read.Path)
				if value, ok := r.Read(read.Path, v); ok && !told[name] {
					values, told[name] = append(values, solve.Binding{Path: read.Path, Value: value}), true
				}
			}
		}
		return true
	}})
	return a.Witness, values
}
