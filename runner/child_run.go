// A subgraph's run: begun, or taken up where it was.

package runner

import (
	"context"
	"path/filepath"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/machine"
)

// subrun is what a subgraph is run with.
type subrun struct {
	flow    *Flow
	opts    Options
	secrets map[string]any
	nested  *nesting
	resting *driver
	calls   <-chan insideCall
	counted int // steps before it rested
}

// newSubrun makes the run of a subgraph with what it takes from the run around it.
// It is called from the goroutine of the task.
func (d *driver) newSubrun(flow *Flow, models machine.ModelSettings, nested *nesting) (*subrun, error) {
	secrets, err := flow.runner.secretsOf(&d.opts, flow.tree.Graph)
	if err != nil {
		return nil, &Failure{Kind: "invalid_input", Message: err.Error()}
	}
	s := &subrun{flow: flow, nested: nested, secrets: secrets, opts: Options{
		RunID: d.opts.RunID, Goal: d.opts.Goal, MaxConcurrency: d.opts.MaxConcurrency,
		Dir: filepath.Dir(flow.tree.Graph.File.Name), Models: models.Models, ModelParams: models.Params, Secrets: d.opts.Secrets,
	}}
	if d.watched {
		s.opts.Sink = childSink{d.passOn, nested}
	} else if d.opts.Warn != nil {
		s.opts.Warn = func(node, message string) {
			d.passOn(&Event{Node: nested.whole(node), Said: &Said{Type: "warning", Message: message}})
		}
	}
	return s, nil
}

// run runs a subgraph until it has ended or waits for people.
func (s *subrun) run(ctx context.Context, task *Task) (*driver, *Result, error) {
	if s.resting == nil && len(task.Log) == 0 {
		with, _ := task.Config["with"].(map[string]any)
		input, err := checkInput(s.flow.tree.Graph, with, nil)
		if err != nil {
			return nil, nil, &Failure{Kind: "invalid_input", Message: "with: " + err.Error()}
		}
		d := newDriver(s.flow, s.opts, s.secrets, s.nested)
		d.journal = s.nested.journal()
		go s.passCalls(d)
		result, err := d.run(ctx, input)
		return d, result, err
	}
	d, back, err := s.reopened(task)
	if err != nil {
		return nil, nil, err
	}
	if d.state.Status == machine.Completed {
		return d, d.result(), nil
	}
	open, _, err := d.questions()
	if err != nil {
		return nil, nil, err
	}
	for i := range open {
		q := &open[i]
		value, answered := task.Answers[answers.IDOf(q)]
		if answered {
			d.queue = append(d.queue, d.answerEvent(q, value, ""))
		}
		if answered || s.resting != nil { // the run around it still asks what it rested with
			d.told[asking{q.Task, q.ID}] = true
		}
	}
	info := s.opts.info(s.opts.RunID)
	info.Parent = s.nested.info()
	if pool := s.nested.parent.pool; s.nested.shares {
		before, err := d.takenBefore()
		if err != nil {
			return nil, nil, err
		}
		before -= s.counted
		if s.nested.call > 0 {
			before = max(0, before)
		}
		pool.Took(s.nested.task, before)
		info.Parent.Granted, info.Parent.Above = pool.Take(s.nested.task, d.state.StepsWanted())
	}
	event := back.Event(d.now(), info)
	go s.passCalls(d)
	result, err := d.finishRun(ctx, event)
	return d, result, err
}

// passCalls passes on to a subgraph what the run around it wants.
func (s *subrun) passCalls(d *driver) {
	for {
		select {
		case call := <-s.calls:
			d.send(message{call: &call})
			d.pace.Release()
		case <-d.done:
			return
		}
	}
}

// reopened is the driver of a subgraph that has begun, in the state in which it
// goes on.
func (s *subrun) reopened(task *Task) (*driver, *journal.Comeback, error) {
	if s.resting != nil {
		d := newDriver(s.flow, s.opts, s.secrets, s.nested)
		d.goOnFrom(s.resting)
		return d, &journal.Comeback{}, nil
	}
	rec, bytes, err := s.flow.readNotes(task.Log)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.replayed(rec, rec.Events, bytes)
	if err != nil || !d.state.Ending() || d.state.Status == machine.Completed {
		return d, &journal.Comeback{}, err
	}
	back, err := rec.Rewind(d.state)
	if err != nil {
		return nil, nil, err
	}
	d, err = s.replayed(rec, rec.Events, bytes)
	return d, back, err
}

// replayed is the driver of a subgraph after the events that are noted of it.
func (s *subrun) replayed(rec *journal.Reading, events []machine.Event, bytes int) (*driver, error) {
	d := newDriver(s.flow, s.opts, s.secrets, s.nested)
	if err := d.startFrom(rec); err != nil {
		return nil, err
	}
	d.state.SetSecrets(d.secrets)
	for i := range events {
		if err := d.replay(&events[i]); err != nil {
			return nil, err
		}
	}
	d.journal = journal.NewChild(s.nested.notes(), rec.Total, bytes)
	return d, nil
}

// goOnFrom takes over from a driver that has let a subgraph rest.
func (d *driver) goOnFrom(before *driver) {
	d.state, d.started, d.saved = before.state, before.started, before.saved
	d.resting, d.path, d.mask = before.resting, before.path, before.mask
	d.mask.HideForms(d.nested.hidden)
	if kept, ok := before.journal.(*journal.Child); ok {
		d.journal = kept.PassedOn(d.nested.notes())
	}
}

// rests reports whether a subgraph's driver can leave off: nothing runs, and
// people have to answer, or time to pass, before anything does.
func (d *driver) rests() bool {
	return d.nested != nil && d.idle() && d.state.Waiting(d.now(), d.nested.naps)
}

// leavesOff reports whether the driver has done what it can: the run has ended, pauses,
// or is a subgraph that rests. A graph that waits for people stays while other calls of
// its task run.
func (d *driver) leavesOff() bool {
	s := d.state
	switch {
	case s.Ended():
		return true
	case !d.still():
		return false
	case s.Live() || s.Reason == "human":
		return !d.nested.stays()
	}
	return true
}

// still reports whether nothing happens in a run that has not ended until something
// comes from elsewhere.
func (d *driver) still() bool {
	if d.state.Live() {
		return d.rests()
	}
	return !d.state.Ended() && d.idle()
}

// parking is what a subgraph that has not ended waits for; nil: it has ended.
func (d *driver) parking() *handler.Parked {
	s := d.state
	if s.Ended() {
		return nil
	}
	out := &handler.Parked{}
	if d.nested.naps {
		out.Until = s.GoesOnAt()
	}
	for _, q := range s.Questions() {
		out.Asks = append(out.Asks, d.passedOn(&q))
	}
	if s.Status == machine.Paused && s.Reason == "pause" {
		out.At = &machine.Breakpoint{}
		if s.PausedAt != nil {
			*out.At = *s.PausedAt
		}
	}
	return out
}

// takeResting is the driver that has let a subgraph rest which is to go on; nil:
// there is none.
func (d *driver) takeResting(id machine.TaskID) *driver {
	resting := d.resting[id]
	delete(d.resting, id)
	return resting
}
