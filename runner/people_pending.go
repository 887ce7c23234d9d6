// What a run waits for: questions, and moments.

package runner

import (
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

// addPending tells what the run waits for.
func (d *driver) addPending(result *Result) error {
	open, due, err := d.questions()
	for i := range open {
		result.Pending = append(result.Pending, d.pendingOf(&open[i]))
	}
	result.Due = moment(due)
	return err
}

// questions are those that are open, of subgraphs that run too, as this run would
// ask them; due is when the first thing that waits goes on by itself (Unix
// nanoseconds; 0: nothing does).
func (d *driver) questions() (open []machine.Question, due int64, err error) {
	if d.state.Ended() {
		return nil, 0, nil
	}
	open, due = d.state.Questions(), d.state.FirstDue()
	for _, id := range d.state.Attempts() {
		children, err := d.readChildren(id)
		if err != nil {
			return nil, 0, err
		}
		for _, child := range children {
			inside, first, err := child.questions()
			if err != nil {
				return nil, 0, err
			}
			for i := range inside {
				// One that is answered here is closed, also before the subgraph has noted it.
				if ask := child.passedOn(&inside[i]); !d.state.Settled(id, ask.ID) {
					open = append(open, machine.Question{Task: id, Ask: ask})
				}
			}
			if first > 0 && (due == 0 || first < due) {
				due = first
			}
		}
	}
	return open, due, nil
}

// parks reports whether only time has to pass for longer than the driver is to wait.
// A run or a branch whose own time ends meanwhile is not left alone.
func (d *driver) parks() bool {
	if d.nested != nil || d.opts.Park == 0 || d.opts.Rush || !d.idle() {
		return false
	}
	due := d.state.WaitsUntil()
	return due > 0 && time.Duration(due-d.now()) > d.opts.Park
}

// passedOn is a question of a subgraph as the run around it asks it.
func (d *driver) passedOn(q *machine.Question) machine.Ask {
	ask := q.Ask
	ask.ID, ask.Node, ask.Element = d.nested.askID(q), q.Path(), q.Index()+1
	ask.Prompt = d.mask.Text(ask.Prompt) // what the subgraph hides, nobody hides any more once it rests
	return ask
}

// readChildren are the drivers of the subgraphs that a task runs, as its notes tell
// of them: they drive nothing.
func (d *driver) readChildren(id machine.TaskID) ([]*driver, error) {
	return d.readChildrenOf(id, d.state.Log(id))
}

func (d *driver) readChildrenOf(id machine.TaskID, notes []any) (children []*driver, err error) {
	var all []inner
	flows, logs := map[inner]*Flow{}, map[inner][]any{}
	for _, note := range notes {
		of, flow, log := d.innerOf(id, note)
		if flow == nil {
			continue
		}
		if flows[of] == nil {
			all = append(all, of)
		}
		flows[of], logs[of] = flow, append(logs[of], log)
	}
	for _, of := range all {
		child, err := d.readInside(flows[of], of, logs[of])
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return children, nil
}

func (d *driver) readInside(flow *Flow, of inner, log []any) (*driver, error) {
	rec, _, err := flow.readNotes(log)
	if err != nil {
		return nil, err
	}
	child, err := startReading(flow, d.reading(of), rec)
	if err != nil {
		return nil, err
	}
	for i := range rec.Events {
		if err := child.replay(&rec.Events[i]); err != nil {
			return nil, err
		}
	}
	return child, nil
}

// reading is where a subgraph that is only read stands.
func (d *driver) reading(of inner) *nesting {
	id := of.task
	return &nesting{
		parent: d, task: id, node: d.nested.path(id.Node), prefix: d.nested.prefixOf(id.Node, id.Element-1),
		hidden: d.mask.Values, call: of.call, file: of.file,
	}
}

func (d *driver) pendingOf(q *machine.Question) view.Pending {
	p := view.Pending{
		Node: d.nested.inTarget(q.Path()), Kind: "human", Prompt: d.mask.Text(q.Prompt), Schema: q.Schema, Due: moment(q.Until),
	}
	p.Fields = d.flow.tree.FieldOrder(q.Path())
	if q.Key != "" {
		p.Key, p.Kind = &q.Key, "interrupt"
	}
	if call := q.Tool; call != nil {
		p.Kind, p.Name = "tool", call.Name
		p.Args, _ = d.mask.Value(call.Args).(map[string]any)
	}
	if i := q.Index(); i >= 0 {
		p.Index = &i
	}
	return p
}

// moment is a moment in Unix nanoseconds as a time; 0: nil.
func moment(at int64) *time.Time {
	if at == 0 {
		return nil
	}
	t := time.Unix(0, at).UTC()
	return &t
}

// asks is the event of a question, and of its answer.
func (d *driver) asks(n *machine.Note) *Said {
	q, _ := n.Output.(*machine.Question)
	pending := d.pendingOf(q)
	if n.Kind == machine.NoteAnswered {
		return &Said{Type: "answer", Question: &pending, Name: n.By}
	}
	return &Said{Type: "question", Question: &pending}
}
