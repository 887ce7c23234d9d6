// The loop of a run: append an event, apply it, carry out the commands.

package runner

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/machine"
)

// run drives the machine from the first event to the last.
func (d *driver) run(ctx context.Context, input map[string]any) (*Result, error) {
	d.started = time.Unix(0, d.now())
	d.mask.Learn(d.opts.taken.keys)
	d.mask.Learn(input)
	event := machine.Event{
		Kind: machine.RunBegan, At: d.started.UnixNano(), Input: input,
		Run: d.opts.info(d.opts.RunID),
	}
	event.Run.Parent = d.nested.info()
	if d.plan.SeesRunDir() {
		event.Run.Dir = d.folder.Where()
	}
	d.state.SetSecrets(d.secrets)
	return d.begin(ctx, d.record(), &event)
}

// now is the run's time, Unix nanoseconds. It never goes back and never jumps.
func (d *driver) now() int64 { return d.time.Now() }

// finishRun drives the run from an event to its end or a pause.
func (d *driver) finishRun(ctx context.Context, first *machine.Event) (*Result, error) {
	before := d.state.Usage()
	d.budget.Count(&before)
	if d.nested == nil {
		d.answered = d.state.Scripted()
	}
	var heard atomic.Bool
	stopWatching := context.AfterFunc(ctx, func() {
		d.send(message{event: machine.Event{Kind: machine.CancelAsked, At: d.now()}})
		heard.Store(true)
	})
	defer stopWatching()
	defer d.pace.Watch(func() bool { return ctx.Err() != nil && !heard.Load() })()
	if d.nested == nil { // else the task that runs it works already
		defer d.pace.Enter(staged{d})()
		d.folder.StayAt(d.state.RunDir())
		defer d.folder.Close()
		defer d.scope.Close()
	}
	if d.nested == nil {
		defer d.log.Close() // before the lease is given back, where all goes well
	}
	defer d.stop()
	d.heed()
	if err := d.drive(ctx, first); err != nil {
		return d.broken(err), errors.Join(err, d.closeJournal(nil))
	}
	if d.nested == nil {
		d.log.Close()
	}
	result, err := d.wholeResult()
	if err == nil {
		err = d.leave(d.now())
	}
	if err != nil {
		return d.broken(err), errors.Join(err, d.closeJournal(nil))
	}
	result.Unused = d.answers.Left()
	if err := d.closeJournal(result); err != nil {
		return d.broken(err), err
	}
	d.conclude(result, d.now())
	return result, d.sinkErr
}

// drive applies the first event and all that follow, until the run has ended.
func (d *driver) drive(ctx context.Context, first *machine.Event) error {
	due := false // the superstep is complete and has not been closed yet
	commands, at, err := d.open(first)
	for err == nil {
		due = d.follow(ctx, commands, at) || due
		if d.journal != nil {
			if err := d.keepSnapshot(); err != nil {
				return err
			}
		}
		if d.journalErr != nil {
			return d.journalErr
		}
		if d.state.Ended() || !due && d.leavesOff() {
			return nil
		}
		if !due && d.parks() {
			commands, at, err = d.apply(&machine.Event{Kind: machine.PauseAsked, At: d.now(), Reason: "wait"})
			continue
		}
		event, left := d.await(due)
		if left {
			return nil
		}
		if event != nil {
			commands, at, err = d.take(event)
			if event.Kind == machine.Answered && err == nil && d.state.Effect == machine.Ignored {
				d.unused(event.Task, event.Target, event.By)
			}
		} else if d.journalErr != nil {
			return d.journalErr
		} else {
			due = false
			commands, at, err = d.advance()
		}
	}
	return err
}

// open applies an event that a drive begins with: it may be in the journal since
// that was created.
func (d *driver) open(event *machine.Event) (commands []machine.Command, at int64, err error) {
	if d.durable == 0 {
		return d.apply(event)
	}
	d.vault.Event(event)
	d.durable--
	commands, err = d.plan.Apply(d.state, *event)
	return commands, event.At, err
}

// apply makes an event durable and applies it. It returns what follows, and
// when the event happened.
func (d *driver) apply(event *machine.Event) (commands []machine.Command, at int64, err error) {
	d.vault.Event(event)
	if err := d.append(event); err != nil {
		return nil, 0, err
	}
	commands, err = d.settle(event)
	return commands, event.At, err
}

// settle applies an event that is durable.
func (d *driver) settle(event *machine.Event) (commands []machine.Command, err error) {
	if event.Kind != machine.TaskEnded || event.Child == nil {
		return d.plan.Apply(d.state, *event)
	}
	d.pool.End(d.state, event.Task, func() { commands, err = d.plan.Apply(d.state, *event) })
	return commands, err
}

// advance closes the superstep. A time is read only for those who look at it.
func (d *driver) advance() (commands []machine.Command, at int64, err error) {
	if d.watched || d.journal != nil || d.plan.ReadsClock() {
		at = d.now()
	}
	if d.journal != nil {
		if err := d.append(&machine.Event{Kind: machine.Advanced, At: at, Superstep: d.state.Superstep}); err != nil {
			return nil, 0, err
		}
	}
	commands = d.plan.Advance(d.state, at)
	if d.journal != nil && at-d.noted >= noteEvery {
		err = d.noteSteps(at)
	}
	return commands, at, err
}

// follow tells what an event changed and carries out the commands. It reports
// whether the superstep is complete.
func (d *driver) follow(ctx context.Context, commands []machine.Command, at int64) (advance bool) {
	if len(d.path) == cap(d.path) { // by more than append would: long runs make little garbage
		d.path = slices.Grow(d.path, 3*len(d.path)+64)
	}
	if ran := d.state.Ran; len(ran) == 1 { // as mostly: without a call
		d.path = append(d.path, ran[0])
	} else {
		d.path = append(d.path, ran...)
	}
	if len(d.asked) > 0 && d.state.InFinally() {
		for _, cancel := range d.asked { // nobody waits for the answers
			cancel()
		}
	}
	if len(d.state.Confided()) > 0 {
		d.learnConfided()
	}
	if d.opts.History {
		d.rememberAll(at)
	}
	if d.nested != nil && slices.ContainsFunc(commands, func(c machine.Command) bool { return c.Kind == machine.AskPerson }) {
		d.flush() // a question is kept before it is told
	}
	if len(d.state.Notes()) > 0 {
		d.publish(at)
	}
	return d.carryOutAll(ctx, commands)
}

// carryOutAll reports whether Advance is among the commands.
func (d *driver) carryOutAll(ctx context.Context, commands []machine.Command) (advance bool) {
	if len(commands) == 1 && commands[0].Kind == machine.Advance { // as mostly
		return true
	}
	if d.journal != nil && !d.recordStarts(commands) {
		return false
	}
	for i := range commands { // before any of them runs
		if c := &commands[i]; c.Kind == machine.RunTask && c.Work.SharesSteps {
			d.pool.Begin(d.state, c.Task, c.Work.Kind == flowtree.GraphKind && len(c.Work.Log) > 0)
		}
	}
	for i := range commands {
		if commands[i].Kind == machine.Advance {
			advance = true
			continue
		}
		d.carryOut(ctx, &commands[i])
	}
	return advance
}

func (d *driver) carryOut(ctx context.Context, c *machine.Command) {
	switch c.Kind {
	case machine.RunTask:
		d.startTask(ctx, c)
	case machine.CancelTask:
		d.cancelTask(c.Task)
	case machine.PauseTask:
		d.callInside(c.Task, insideCall{pause: true})
	case machine.PassAnswer:
		d.callInside(c.Task, insideCall{question: c.Question.ID, answer: c.Answer, by: c.By})
	case machine.TakeSteps:
		d.takeSteps(c.Steps)
	case machine.StartTimer:
		d.startTimer(c)
	case machine.StopTimer:
		d.stopTimer(timerID{c.Timer, c.Task})
	case machine.Decide:
		d.decide(ctx, c)
	case machine.AskPerson:
		d.ask(ctx, c.Question)
	}
}
