// What the driver of a run has.

package runner

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/internal/answers"
	"github.com/graphrun/graphrun/runner/internal/budget"
	"github.com/graphrun/graphrun/runner/internal/journal"
	"github.com/graphrun/graphrun/runner/internal/mask"
	"github.com/graphrun/graphrun/runner/internal/rundir"
	"github.com/graphrun/graphrun/runner/internal/runlog"
	"github.com/graphrun/graphrun/runner/internal/steps"
	"github.com/graphrun/graphrun/runner/internal/wallclock"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
)

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
	time    *wallclock.Keeper
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
	before  journal.Snapshot
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
	// attends says that they are told what the driver of the run tells as it happens.
	attends bool
	// journalErr is what kept a task from starting.
	journalErr error
	// scope is what tasks share; setup what of it the graph declares.
	scope *handler.Scope
	// folder is the folder of the run.
	folder *rundir.Folder
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
	d := &driver{
		flow: f, opts: opts, clock: clock, plan: f.tree.Plan, state: f.tree.Plan.NewState(),
		secrets: secrets, mask: mask.New(f.tree.Graph, secrets),
		inbox: make(chan *message, 64), done: make(chan struct{}),
		answers: answers.NewBook(opts.Answers), asked: map[asking]context.CancelFunc{}, told: map[asking]bool{}, resting: map[machine.TaskID]*driver{}, inside: map[machine.TaskID]chan insideCall{}, texts: map[machine.TaskID]saying{}, partials: map[machine.TaskID]any{}, cancel: map[machine.TaskID]func(){}, timers: map[timerID]func() bool{},
		nested: nested, watched: opts.Sink != nil || opts.History,
	}
	d.pace, _ = clock.(*virtual.Clock)
	if nested != nil {
		d.log, d.time = nested.parent.log, nested.parent.time
	} else {
		d.time = wallclock.NewKeeper(d.clock)
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
		d.scope, d.budget, d.pool = handler.NewScope(nil, rundir.TasksDir(f.runner.cfg.Store, opts.RunID)), budget.New(&f.tree.Graph.Limits, nil), steps.New(d.pace)
		d.folder = rundir.New(f.runner.cfg.Store, opts.RunID)
	} else {
		d.folder = nested.parent.folder
		d.scope, d.budget = nested.parent.scope, budget.New(&f.tree.Graph.Limits, nested.parent.budget)
		d.pool = nested.parent.pool.Inside(nested.task, nested.shares)
		d.answered = nested.parent.answered
		d.answers = nested.parent.answers
		d.mask.HideForms(nested.hidden)
	}
	return d
}
