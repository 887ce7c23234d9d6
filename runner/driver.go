// The in-process driver: append an event, apply it, carry out the commands.

package runner

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/internal/budget"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/internal/runlog"
	"github.com/graphrun/graphrun/runner/internal/steps"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
)

// grace is how long a cancelled handler may take before the run goes on
// without it.
const grace = 6 * time.Second

// driver runs one run. The goroutine of run owns everything in it; handlers
// and timers only send messages.
type driver struct {
	flow    *Flow
	opts    Options
	clock   Clock
	plan    *machine.Plan
	state   *machine.State
	journal store.Journal
	// log takes what is said; subgraphs have that of the run around them.
	log     *runlog.Log
	secrets map[string]any
	mask    *mask.Masker
	// unread says why the secrets of a record could not be read: it can be looked
	// at without them.
	unread error
	// vault hides what is never stored.
	vault *mask.Masker

	// pace is the clock if it is a virtual one, which has to know who works.
	pace *virtual.Clock

	inbox  chan *message
	done   chan struct{} // closed when nobody reads the inbox any more
	cancel map[machine.TaskID]func()
	timers map[timerID]func() bool

	started time.Time
	// forked is when a fork began, whose first events are those of another run.
	forked  time.Time
	time    *timekeeper
	watched bool
	// checkpoints says that a store keeps the run, whose supersteps are then told
	// as checkpoints; what subgraphs have done is kept with the run around them.
	checkpoints bool
	// seq is the number of the last event that was told; untold are those that nobody
	// is told of, of subgraphs too. ahead: the journal does not say so far.
	seq    int64
	untold atomic.Int64
	ahead  bool
	event  Event // reused, with names and candidates: the sink's until Event returns
	// names and candidates are what the event lists.
	names      []string
	candidates []machine.Candidate
	path       []int32
	// before is what the run was restored from, saved when the next snapshot is due.
	before  snapshot
	saved   saving
	history []view.HistoryRecord
	last    int64 // when the last replayed event happened
	// answers are those given in advance; queue holds events that are due at
	// once; asked are the questions that people are being asked now.
	answers *answers.Book
	// texts holds what running nodes have said so far, by task.
	texts map[machine.TaskID]saying
	// partials hold what else they have produced.
	partials map[machine.TaskID]any
	// tails are the texts that have not ended, of which the end is kept back while it
	// may be the beginning of a secret.
	tails map[machine.TaskID]string
	queue []machine.Event
	asked map[asking]context.CancelFunc
	// told are the questions of a subgraph that the run around it has answers to;
	// resting, the subgraphs of this one that wait.
	told    map[asking]bool
	resting map[machine.TaskID]*driver
	// readers are at the subgraphs of a run that is only told of.
	readers map[inner]*reader
	// inside are the boxes in which the subgraphs that run find what the run around
	// them wants.
	inside map[machine.TaskID]chan insideCall
	// look: the calls beside a graph that is a tool have ended or wait, too.
	look bool
	// offers are answers of others that wait for their turn.
	offers  []store.Offer
	durable int // events at the front of queue that are in the journal already
	// noted is when the number of steps was last told to those who list runs.
	noted   int64
	sinkErr error
	// pauseTold says that a pause was told to those who read the record of the run.
	pauseTold bool
	// journalErr is what kept a task from starting.
	journalErr error
	// scope is what tasks share; setup what of it the graph declares.
	scope *handler.Scope
	// folder is the folder of the run.
	folder *folder
	setup  setup
	// budget is what model calls may still come to; answered are the calls that
	// scripts answered before the run was taken up.
	budget *budget.Budget
	// steps are what subgraphs share of those of the run.
	pool     *steps.Pool
	answered []handler.Usage
	// nested tells where the run stands in the run around it; nil for one of its own.
	nested *nesting
	claims answers.Claims // of the outermost run
}

type timerID struct {
	kind machine.TimerKind
	task machine.TaskID
}

func newDriver(f *Flow, opts Options, secrets map[string]any, nested *nesting) *driver {
	clock := f.clockOf(&opts, nested)
	if nested == nil {
		opts.Answers = f.wholeTargets(opts.Answers)
	}
	d := &driver{
		flow: f, opts: opts, clock: clock, plan: f.plan, state: f.plan.NewState(),
		secrets: secrets, mask: mask.New(f.graph, secrets),
		inbox: make(chan *message, 64), done: make(chan struct{}),
		answers: answers.NewBook(opts.Answers), asked: map[asking]context.CancelFunc{}, told: map[asking]bool{}, resting: map[machine.TaskID]*driver{}, inside: map[machine.TaskID]chan insideCall{}, texts: map[machine.TaskID]saying{}, partials: map[machine.TaskID]any{}, cancel: map[machine.TaskID]func(){}, timers: map[timerID]func() bool{},
		nested: nested, watched: opts.Sink != nil || opts.History,
	}
	d.pace, _ = clock.(*virtual.Clock)
	if nested != nil {
		d.log, d.time = nested.parent.log, nested.parent.time
	} else {
		d.time = newTimekeeper(d.clock)
		d.log = runlog.New(runlog.Config{Store: f.runner.cfg.Store, RunID: opts.RunID, Now: clock.Now, Heard: opts.Heard})
	}
	d.log.HideForms(d.mask.Values)
	d.mask.Also = d.log.Hide
	var around *mask.Masker
	if nested != nil {
		around = nested.parent.vault
	}
	d.vault = mask.NewVault(secrets, around)
	d.checkpoints = nested == nil && f.runner.cfg.Store != nil
	d.watch()
	if nested == nil {
		d.scope, d.budget, d.pool = handler.NewScope(nil, tasksDir(f.runner.cfg.Store, opts.RunID)), budget.New(&f.graph.Limits, nil), steps.New(d.pace)
		d.folder = newFolder(f.runner.cfg.Store, opts.RunID)
	} else {
		d.folder = nested.parent.folder
		d.scope, d.budget = nested.parent.scope, budget.New(&f.graph.Limits, nested.parent.budget)
		d.pool = nested.parent.pool.Inside(nested.task, nested.shares)
		d.answered = nested.parent.answered
		d.answers = nested.parent.answers
		d.mask.HideForms(nested.hidden)
	}
	return d
}

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
		event.Run.Dir = d.folder.where()
	}
	d.state.SetSecrets(d.secrets)
	return d.begin(ctx, d.record(), &event)
}

// now is the run's time, Unix nanoseconds. It never goes back and never jumps.
func (d *driver) now() int64 { return d.time.now() }

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
		d.folder.stayAt(d.state.RunDir())
		defer d.folder.close()
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
			d.pool.Begin(d.state, c.Task, c.Work.Kind == graphKind && len(c.Work.Log) > 0)
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
