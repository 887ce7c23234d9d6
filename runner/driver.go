// The driver of a run, and its loop.

package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/internal/runlog"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
)

// driver drives or reads one run. One goroutine owns it. Handlers and timers send it messages.
type driver struct {
	flow       *Flow
	opts       Options
	notices    *notices // nil without notifications
	clock      Clock
	plan       *machine.Plan
	state      *machine.State
	journal    store.Journal
	log        *runlog.Log
	secrets    secrets
	mask       *mask.Masker
	secretsErr error        // the error of reading the secrets of a record
	vault      *mask.Masker // masks values that are never stored
	// virtualClock is the clock if it is virtual. isCancelling reports whether a cancel request is
	// about to arrive.
	virtualClock *virtual.Clock
	isCancelling func() bool
	// host drives the run unless it is nil. arrived holds the messages that it has received.
	host    Host
	arrived []message

	inbox  chan message
	done   chan struct{} // closed at the end of the drive
	cancel map[machine.TaskID]func()
	timers map[timerID]func() bool
	// queue holds the next events, the first `durable` of them from the journal. advanceDue says that
	// an Advanced event follows.
	queue      []machine.Event
	durable    int
	advanceDue bool
	// places holds the place of each running attempt, calls the open calls of graphs.
	places     map[machine.TaskID]machine.Place
	calls      map[graphCall]*openCall
	graphCalls map[machine.TaskID]*graphCalls
	// texts and partials hold the output of running attempts so far, tails the ends of texts that may
	// be the beginning of a secret.
	texts    map[machine.TaskID]nodeText
	partials map[machine.TaskID]any
	tails    map[machine.TaskID]string
	// answers were given in advance, offers come from other processes. asked cancels open questions.
	answers answerBook
	asked   map[questionID]context.CancelFunc
	offers  []store.Offer

	started         time.Time
	forked          time.Time // when a fork started; its first events are older
	last            int64     // time of the last replayed event
	time            *timekeeper
	checkpointSteps int   // number of steps in the last checkpoint event
	seq             int64 // number of the last emitted event
	event           Event // reused
	history         []view.HistoryRecord
	watcher         Sink // receives events before Options.Sink
	saved           snapshotPolicy
	savedAt         int64 // time of the last call of saveStepCount
	// sinkErr and journalErr are the first errors of the sink and the journal.
	sinkErr    error
	journalErr error
	// pauseEmitted means that a replay has emitted the pause, emitsLive that it also emits live events.
	pauseEmitted bool
	emitsLive    bool
	scope        *handler.Scope // shared by tasks
	setups       map[*machine.Plan]*graphSetup
	folder       *folder
	budgets      map[int]*budget
	answered     []handler.Usage // calls that scripts answered before the run was resumed
}

func newDriver(f *Flow, opts Options, known secrets) *driver {
	clock := f.chooseClock(&opts)
	d := &driver{
		flow: f, opts: opts, clock: clock, plan: f.tree.Plan, state: f.tree.Plan.NewState(), secrets: known, mask: f.newMask(known),
		inbox: make(chan message, 64), done: make(chan struct{}), cancel: map[machine.TaskID]func(){}, timers: map[timerID]func() bool{},
		places: map[machine.TaskID]machine.Place{}, calls: map[graphCall]*openCall{}, graphCalls: map[machine.TaskID]*graphCalls{},
		texts: map[machine.TaskID]nodeText{}, partials: map[machine.TaskID]any{}, tails: map[machine.TaskID]string{},
		answers: newAnswerBook(opts.Answers), asked: map[questionID]context.CancelFunc{}, setups: map[*machine.Plan]*graphSetup{},
		time: newTimekeeper(clock), budgets: map[int]*budget{},
		scope:  handler.NewScope(nil, tasksDir(f.runner.cfg.Store, opts.RunID)),
		folder: newFolder(f.runner.cfg.Store, opts.RunID),
	}
	d.log = runlog.New(runlog.Config{Store: f.runner.cfg.Store, RunID: opts.RunID, Now: clock.Now, Mask: d.mask, OnLine: opts.OnLogLine})
	d.virtualClock, _ = clock.(*virtual.Clock)
	d.host = f.runner.cfg.Host
	d.vault = mask.NewVault(known.sortedValues())
	d.notices = f.newNotices()
	d.updateWatched()
	return d
}

// updateWatched lets the machine record notes only if something reads them.
func (d *driver) updateWatched() {
	d.state.Watched = d.hasListeners() || d.opts.History || d.notices != nil
}

// attachWatcher passes the events of a driven run to Config.Watch.
func (d *driver) attachWatcher() {
	d.watcher = d.flow.runner.cfg.Watch
	d.updateWatched()
}

// startRun drives a new run from the first event to its end or a pause.
func (d *driver) startRun(ctx context.Context, input map[string]any) (*Result, error) {
	d.attachWatcher()
	d.started = time.Unix(0, d.now())
	d.mask.LearnState(d.plan.Graph, d.opts.session.keys)
	d.mask.LearnState(d.plan.Graph, input)
	event := machine.Event{Kind: machine.RunBegan, At: d.started.UnixNano(), Input: input, Run: d.opts.runInfo(d.opts.RunID)}
	event.Run.Hooked = d.flow.runner.cfg.hasBeforeNode()
	if d.plan.ReadsRunDir() {
		event.Run.Dir = d.folder.Path()
	}
	d.state.SetSecrets(d.secrets)
	return d.beginRun(ctx, d.flow.newRecord(&d.opts, d.started), &event)
}

// now returns the run's time in Unix nanoseconds. It never decreases.
func (d *driver) now() int64 { return d.time.Now() }

// finishRun drives the run from the given event to its end or a pause.
func (d *driver) finishRun(ctx context.Context, first *machine.Event) (*Result, error) {
	d.attachWatcher()
	d.answered = d.state.Scripted
	sent := false
	d.isCancelling = func() bool { return ctx.Err() != nil && !sent }
	stopWatching := context.AfterFunc(ctx, func() {
		d.sendMessage(func() *machine.Event {
			sent = true
			return &machine.Event{Kind: machine.CancelAsked, At: d.now()}
		})
	})
	defer stopWatching()
	if d.host != nil {
		d.host.AttachDrive(&Drive{d})
	}
	d.folder.keepPath(d.state.Run.Dir)
	if first.Run != nil && first.Run.Dir != "" { // a fork's folder
		d.folder.keepPath(first.Run.Dir)
	}
	defer d.folder.Close()
	defer d.scope.Close()
	defer d.log.Close()
	defer d.stopPendingWork()
	d.forwardRequests()
	if err := d.driveLoop(ctx, first); err != nil {
		return d.brokenResult(err), errors.Join(err, d.closeJournal(nil))
	}
	d.log.Close()
	result := d.newResult()
	if err := d.saveSession(d.now()); err != nil {
		return d.brokenResult(err), errors.Join(err, d.closeJournal(nil))
	}
	result.Unused = d.answers.sortedTargets()
	if err := d.closeJournal(result); err != nil {
		return d.brokenResult(err), err
	}
	d.notifyEnd(result)
	d.emitFinished(result, d.now())
	return result, d.sinkErr
}

// driveLoop applies the first event and all further events until the run ends or pauses.
func (d *driver) driveLoop(ctx context.Context, first *machine.Event) error {
	commands, at, err := d.applyFirst(first)
	for err == nil {
		d.handleCommands(ctx, commands, at)
		if d.journal != nil && d.journalErr == nil {
			d.journalErr = d.snapshotIfDue()
		}
		event := d.awaitEvent()
		if event == nil {
			return d.journalErr
		}
		commands, at, err = d.applyReceived(event)
		if event.Kind == machine.Answered && err == nil && d.state.NoteCount() == 0 {
			d.warnUnused(event)
		}
	}
	return err
}

// awaitEvent waits for the next event, or returns nil if the run ended, pauses or lost its journal.
func (d *driver) awaitEvent() *machine.Event {
	for d.journalErr == nil && !d.state.HasEnded() {
		if d.state.Status == machine.Paused && d.isIdle() {
			return nil
		}
		if d.mayPark() {
			return &machine.Event{Kind: machine.PauseAsked, At: d.now(), Reason: "wait"}
		}
		if event := d.receiveEvent(); event != nil {
			return event
		}
	}
	return nil
}

// isIdle reports whether nothing is left that could end a pause.
func (d *driver) isIdle() bool {
	if len(d.queue)+d.countMessages()+len(d.asked)+len(d.offers) > 0 {
		return false
	}
	for _, id := range d.state.Attempts() {
		if !d.graphCalls[id].areAllWaiting() {
			return false
		}
	}
	return true
}

// mayPark reports whether the run does nothing but wait, for longer than Options.Park.
func (d *driver) mayPark() bool {
	if d.opts.Park == 0 || d.opts.Rush || d.advanceDue || !d.isIdle() {
		return false
	}
	due := d.state.WaitsUntil()
	return due > 0 && time.Duration(due-d.now()) > d.opts.Park
}

// applyFirst applies the first event of a drive. The event may be in the journal already.
func (d *driver) applyFirst(event *machine.Event) (commands []machine.Command, at int64, err error) {
	if d.durable == 0 {
		return d.applyThenStore(event)
	}
	d.vault.MaskEvent(event)
	d.durable--
	return d.applyStored(event)
}

// applyThenStore applies an event and stores it with the starts of tasks in one commit. The driver
// emits and starts nothing before that.
func (d *driver) applyThenStore(event *machine.Event) (commands []machine.Command, at int64, err error) {
	d.vault.MaskEvent(event)
	d.setEmitted(event)
	if commands, err = d.plan.Apply(d.state, *event); err == nil {
		err = d.appendEvents(append([]machine.Event{*event}, d.taskStarts(commands)...)...)
	}
	return commands, event.At, err
}

// applyStored applies an event that is in the journal, and stores the starts of tasks.
func (d *driver) applyStored(event *machine.Event) (commands []machine.Command, at int64, err error) {
	if commands, err = d.plan.Apply(d.state, *event); err == nil {
		err = d.appendEvents(d.taskStarts(commands)...)
	}
	return commands, event.At, err
}

// storeThenApply stores an event durably and applies it.
func (d *driver) storeThenApply(event *machine.Event) (commands []machine.Command, at int64, err error) {
	d.vault.MaskEvent(event)
	if err := d.appendEvents(*event); err != nil {
		return nil, 0, err
	}
	commands, err = d.plan.Apply(d.state, *event)
	return commands, event.At, err
}

// handleCommands emits the notes about an event and executes its commands.
func (d *driver) handleCommands(ctx context.Context, commands []machine.Command, at int64) {
	if d.state.IsInFinally() {
		for _, cancel := range d.asked { //lint:ignore mapiter nobody waits for the answers
			cancel()
		}
	}
	d.learnSecretValues()
	d.notifyQuestions()
	d.emitNotes(at)
	if d.journal != nil && at-d.savedAt >= summaryInterval && d.journalErr == nil {
		d.journalErr = d.saveStepCount(at)
	}
	var over []*machine.Command
	for i := range commands {
		if c := &commands[i]; c.Kind == machine.StartTimer && d.timerDelay(c) <= 0 {
			d.stopTimer(newTimerID(c))
			over = append(over, c)
		} else {
			d.executeCommand(ctx, c)
		}
	}
	slices.SortStableFunc(over, func(a, b *machine.Command) int { return int(a.For - b.For) })
	for _, c := range over {
		d.startTimer(c)
	}
}

func (d *driver) executeCommand(ctx context.Context, c *machine.Command) {
	switch c.Kind {
	case machine.Advance:
		d.advanceDue = true
	case machine.RunTask:
		d.startTask(ctx, c)
	case machine.CancelTask:
		d.cancelTask(c.Task)
	case machine.StartTimer:
		d.startTimer(c)
	case machine.StopTimer:
		d.stopTimer(newTimerID(c))
	case machine.Decide:
		d.startDecision(ctx, c)
	case machine.AskPerson:
		d.askQuestion(ctx, c.Question)
	case machine.CloseQuestion:
		d.stopAsking(questionID{c.Task, c.Question.ID})
	case machine.ReturnGraph:
		d.returnGraph(c)
	}
}
