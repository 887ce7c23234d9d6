// The in-process driver: append an event, apply it, carry out the commands.

package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
)

// grace is how long a cancelled handler may take before the run goes on
// without it.
const grace = 6 * time.Second

// message is what the other goroutines send the driver: an event, or
// something that a running node said.
type message struct {
	event machine.Event
	task  machine.TaskID
	said  *Said
}

// driver runs one run. The goroutine of run owns everything in it; handlers
// and timers only send messages.
type driver struct {
	flow    *Flow
	opts    Options
	clock   Clock
	plan    *machine.Plan
	state   *machine.State
	journal Journal
	secrets map[string]any
	mask    *masker

	inbox  chan *message
	done   chan struct{} // closed when nobody reads the inbox any more
	cancel map[machine.TaskID]func()
	timers map[timerID]func() bool

	started time.Time
	watched bool
	seq     int64
	event   Event // reused: the sink's until Event returns
	path    []int32
	history []HistoryRecord
	sinkErr error
}

type timerID struct {
	kind machine.TimerKind
	task machine.TaskID
}

func newDriver(f *Flow, opts Options, secrets map[string]any) (*driver, error) {
	d := &driver{
		flow: f, opts: opts, clock: f.runner.cfg.Clock, plan: f.plan, state: f.plan.NewState(),
		secrets: secrets, mask: newMasker(f.graph, secrets),
		inbox: make(chan *message, 64), done: make(chan struct{}),
		cancel: map[machine.TaskID]func(){}, timers: map[timerID]func() bool{},
		watched: opts.Sink != nil || opts.History,
	}
	d.state.Watched = d.watched
	if store := f.runner.cfg.Store; store != nil {
		journal, err := store.Create(RunRecord{ID: opts.RunID, File: f.graph.File.Name, Source: f.graph.File.Src})
		if err != nil {
			return nil, err
		}
		d.journal = journal
	}
	return d, nil
}

// run drives the machine from the first event to the last.
func (d *driver) run(ctx context.Context, input map[string]any) (*Result, error) {
	stopWatching := context.AfterFunc(ctx, func() {
		d.send(message{event: machine.Event{Kind: machine.CancelAsked, At: d.clock.Now().UnixNano()}})
	})
	defer stopWatching()
	defer d.stop()
	d.started = d.clock.Now()
	d.mask.learn(input)
	d.announce(input)
	event := machine.Event{
		Kind: machine.RunBegan, At: d.started.UnixNano(), Input: input,
		Run: &machine.RunInfo{
			ID: d.opts.RunID, MaxSteps: d.opts.MaxSteps, MaxConcurrency: d.opts.MaxConcurrency,
			Timeout: d.opts.Timeout, Goal: d.opts.Goal,
		},
	}
	d.state.SetSecrets(d.secrets)
	for {
		advance, err := d.step(ctx, event)
		if err != nil {
			return nil, err
		}
		if d.state.Ended() {
			break
		}
		if event, err = d.nextEvent(advance); err != nil {
			return nil, err
		}
	}
	result := d.result()
	d.conclude(result)
	return result, d.sinkErr
}

// step makes one event durable, applies it and carries out what follows. It
// reports whether the superstep is complete.
func (d *driver) step(ctx context.Context, event machine.Event) (advance bool, err error) {
	if d.journal != nil {
		if err := d.journal.Append(event); err != nil {
			return false, fmt.Errorf("journal of run %s: %w", d.opts.RunID, err)
		}
	}
	commands, err := d.plan.Apply(d.state, event)
	if err != nil {
		return false, err
	}
	d.path = append(d.path, d.state.Ran...)
	if d.watched {
		d.publish(event.At)
	}
	for i := range commands {
		if commands[i].Kind == machine.Advance {
			advance = true
			continue
		}
		d.carryOut(ctx, &commands[i])
	}
	return advance, nil
}

// nextEvent is what happens next: something that was sent, else, when the
// superstep is complete, its closing.
func (d *driver) nextEvent(advance bool) (machine.Event, error) {
	for {
		if advance && len(d.inbox) == 0 {
			event := machine.Event{Kind: machine.Advanced}
			if d.watched || d.plan.ReadsClock() {
				event.At = d.clock.Now().UnixNano()
			}
			return event, nil
		}
		m := <-d.inbox
		if m.said != nil {
			d.said(m)
			continue
		}
		return m.event, nil
	}
}

func (d *driver) carryOut(ctx context.Context, c *machine.Command) {
	switch c.Kind {
	case machine.RunTask:
		d.startTask(ctx, c)
	case machine.CancelTask:
		d.cancelTask(c.Task)
	case machine.StartTimer:
		d.startTimer(c)
	case machine.StopTimer:
		d.stopTimer(timerID{c.Timer, c.Task})
	case machine.Decide:
		d.decide(ctx, c)
	}
}

func (d *driver) startTimer(c *machine.Command) {
	id := timerID{c.Timer, c.Task}
	d.timers[id] = d.clock.AfterFunc(c.For, func() {
		d.send(message{event: machine.Event{
			Kind: machine.TimerFired, At: d.clock.Now().UnixNano(), Task: id.task, Timer: id.kind,
		}})
	})
}

func (d *driver) stopTimer(id timerID) {
	if stop := d.timers[id]; stop != nil {
		stop()
		delete(d.timers, id)
	}
}

// cancelTask cancels a handler. One that does not return in time is given up.
func (d *driver) cancelTask(task machine.TaskID) {
	if cancel := d.cancel[task]; cancel != nil {
		cancel()
	}
	stop := d.clock.AfterFunc(grace, func() {
		d.send(message{event: machine.Event{
			Kind: machine.TaskEnded, At: d.clock.Now().UnixNano(), Task: task,
			Failure: &Failure{Kind: "cancelled", Message: "the handler did not stop when it was cancelled"},
		}})
	})
	d.timers[timerID{"grace", task}] = stop
}

// send gives the driver a message; after the run's end it is dropped.
func (d *driver) send(m message) {
	select {
	case d.inbox <- &m:
	case <-d.done:
	}
}

// stop releases what still waits for the driver.
func (d *driver) stop() {
	close(d.done)
	for _, cancel := range d.cancel {
		cancel()
	}
	for _, stop := range d.timers {
		stop()
	}
}

// decide asks the decider; without one the decision fails, and the machine
// takes the fallback edge.
func (d *driver) decide(ctx context.Context, c *machine.Command) {
	task, choice := c.Task, *c.Choice
	decider := d.flow.runner.cfg.Decider
	go func() {
		event := machine.Event{Kind: machine.Decided, Task: task}
		if decider == nil {
			event.Failure = &Failure{Kind: "llm", Message: "no model is configured"}
		} else if target, reasoning, err := decider.Decide(ctx, choice); err != nil {
			event.Failure = asFailure(ctx, err)
		} else {
			event.Target, event.Reasoning = target, reasoning
		}
		event.At = d.clock.Now().UnixNano()
		d.send(message{event: event})
	}()
}

// errHandlerPanic marks the failure of a handler that panicked.
var errHandlerPanic = errors.New("the handler panicked")
