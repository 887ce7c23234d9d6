// How a run stands that is only looked at: whether anybody drives it, and what
// it is at.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
)

// stands says of a run that is looked at whether it goes on: one that nobody
// drives has crashed.
func (r *Runner) stands(result *Result) error {
	if result.Status != machine.Running {
		return nil
	}
	lines, err := r.cfg.Store.List(store.RunFilter{ID: result.RunID})
	if err == nil && len(lines) == 1 && lines[0].StandsAs() == store.Crashed {
		result.Status = store.Crashed
	}
	return err
}

// running lists what the run is at, subgraphs behind the nodes that run them.
func (d *driver) running() ([]view.RunningNode, error) {
	var out []view.RunningNode
	for _, t := range d.state.Active() {
		out = append(out, view.RunningNode{
			Node: d.nested.path(t.Node), Step: t.Step, Visit: t.Visit, Attempt: max(t.Attempt, 1), Doing: t.Doing, Since: time.Unix(0, t.Began).UTC(),
		})
		children, err := d.readChildren(t.TaskID)
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			inside, err := child.running()
			if err != nil {
				return nil, err
			}
			out = append(out, inside...)
		}
	}
	return out, nil
}
