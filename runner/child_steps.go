// Steps that subgraphs take of those of the run around them (GraphSpec §5).

package runner

import "github.com/graphrun/graphrun/runner/machine"

// takenBefore are the steps that a run which is taken up has taken, and the
// subgraphs that run in it, however deep: counted at once, since whoever runs
// beside them may take the last step before they are taken up themselves.
func (d *driver) takenBefore() (int, error) {
	inside, err := d.flow.takenInside(d.state)
	steps := d.state.Steps + d.state.ChildSteps
	for id, n := range inside { //lint:ignore mapiter a sum
		steps += n
		d.pool.Know(id, n)
	}
	return steps, err
}

// takenInside are the steps of the subgraphs that a run was running, by task, as
// far as they are not counted.
func (f *Flow) takenInside(s *machine.State) (map[machine.TaskID]int, error) {
	out := map[machine.TaskID]int{}
	for _, id := range s.Attempts() {
		child := f.child(id.Node)
		log, counted := s.Noted(id)
		if child == nil || len(log) == 0 {
			continue
		}
		rec, _, err := child.readNotes(log)
		if err != nil {
			return nil, err
		}
		state, err := rec.ComesBackTo()
		if err != nil {
			return nil, err
		}
		inside, err := child.takenInside(state)
		if err != nil {
			return nil, err
		}
		out[id] = state.Steps + state.ChildSteps - counted
		for _, n := range inside { //lint:ignore mapiter a sum
			out[id] += n
		}
	}
	return out, nil
}

// takeSteps answers a subgraph that asks for steps.
func (d *driver) takeSteps(wanted int) {
	got, above := d.nested.parent.pool.Take(d.nested.task, wanted)
	d.queue = append(d.queue, machine.Event{
		Kind: machine.StepsGranted, At: d.now(), Steps: got, Above: above,
	})
}
