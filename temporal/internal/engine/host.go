// The host of a run: it stands between a workflow and the run's driver.

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
)

// host drives a run on a stage. Its handlers do nothing themselves: what they are
// asked for becomes a call, which the workflow has done by an activity.
type host struct {
	start  *Start
	digest string
	stage  *virtual.Stage
	runner *runner.Runner
	flow   *runner.Flow
	store  *journal

	mu     sync.Mutex
	begun  []*call // since the workflow looked last, in order
	number int
	dead   bool
	tape   *tape // nil: models and tools are asked, and nothing is recorded

	// result and err are those of the last drive.
	result *runner.Result
	err    error
}

// call is a task that waits for an activity.
type call struct {
	id    string
	queue string
	ctx   context.Context
	task  *runner.Task
	input *taskInput
	state *taskState
	over  chan struct{}
	// future is that of the activity at work; nil: there is none, or it has ended.
	future workflow.Future
	// result is that of the activity, or err why there is none.
	result *taskResult
	err    error
	room   map[string]*handler.Reserved // by the id of the reservation
	// noted is what the task has noted since it began here.
	noted []json.RawMessage
	// beside is how many calls the task makes side by side, by the activity of that
	// attempt.
	beside  int
	attempt int32
}

// newHost prepares a run. The error says that this worker can't run its version.
func newHost(start *Start, now time.Time) (*host, error) {
	h := &host{start: start, digest: digestOf(&start.Record), stage: virtual.NewStage(now)}
	record := start.Record
	if start.Before != nil {
		record = *start.Before
	}
	h.store = newJournal(record, start.RunDir, start.Seed)
	h.store.session, h.store.stage = start.Session, h.stage
	h.tape = start.Tape.copy()
	var kinds []runner.Kind
	for _, kind := range node.Kinds(node.Options{}) {
		kinds = append(kinds, runner.Kind{Spec: kind.Spec, Handler: runner.HandlerFunc(h.handle)})
	}
	var err error
	h.runner, h.flow, err = flowRunner(&start.Record, runner.Config{
		Kinds: kinds, Clock: h.stage.Clock(), Store: h.store, Decider: h, Secrets: sealedSecrets(start.Nonce),
	})
	return h, err
}

// begin starts to drive the run.
func (h *host) begin() {
	h.drive(func() (*runner.Result, error) {
		if h.start.Before != nil {
			return h.adopt()
		}
		if h.start.Seed != nil {
			return h.runner.Resume(context.Background(), h.start.Record.ID, h.options(&h.start.Settings))
		}
		opts := h.options(&h.start.Settings)
		record := &h.start.Record
		opts.RunID, opts.Labels, opts.Session = record.ID, record.Labels, record.Session
		if opts.MaxConcurrency == 0 && h.flow.Limits().MaxConcurrency > maxConcurrency {
			opts.MaxConcurrency = maxConcurrency
		}
		return h.flow.Run(context.Background(), opts)
	})
}

func (h *host) options(s *runner.Options) runner.Options {
	opts := *s
	opts.Park, opts.History = 0, false
	opts.MaxConcurrency = min(opts.MaxConcurrency, maxConcurrency)
	opts.Sink = liveSink{h.store}
	if opts.Dir == "" {
		opts.Dir = h.start.Settings.Dir
	}
	if opts.Dir == "" {
		opts.Dir = filepath.Dir(h.start.Record.File)
	}
	return opts
}

// resume goes on with a run that pauses.
func (h *host) resume(s *runner.Options) {
	h.drive(func() (*runner.Result, error) {
		return h.runner.Resume(context.Background(), h.start.Record.ID, h.options(s))
	})
}

// answer keeps answers for a run that pauses.
func (h *host) answer(answers []store.GivenAnswer, by string) {
	h.drive(func() (*runner.Result, error) {
		_, err := h.runner.Answer(context.Background(), h.start.Record.ID, answers, by)
		return h.result, err
	})
}

// cancel ends a run that pauses.
func (h *host) cancel() {
	h.drive(func() (*runner.Result, error) { return h.runner.Cancel(h.start.Record.ID) })
}

func (h *host) drive(do func() (*runner.Result, error)) {
	h.stage.Go(func() { h.result, h.err = do() })
}

// leave ends the driver of a workflow that leaves this process, or moves on.
func (h *host) leave(calls []*call) {
	h.store.leave()
	h.mu.Lock()
	h.dead = true
	calls = append(calls, h.begun...)
	h.begun = nil
	h.mu.Unlock()
	for _, c := range calls {
		c.err = errLeft
		h.stage.Wake(c.over)
	}
	h.stage.Ask(store.RequestCancel) // to apply it, it has to be kept, which fails
}

// take are the calls that were begun.
func (h *host) take() []*call {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.begun
	h.begun = nil
	return out
}

// wait puts a call before the workflow and waits until it is done.
func (h *host) wait(c *call) {
	h.mu.Lock()
	h.number++
	c.id = strconv.Itoa(h.number)
	c.input.ID, c.input.Flow, c.input.Nonce, c.input.Tape = c.id, h.digest, h.start.Nonce, h.tape.of(c.input)
	dead := h.dead
	if !dead {
		h.begun = append(h.begun, c)
	}
	h.mu.Unlock()
	if dead {
		c.err = errLeft
		return
	}
	h.stage.Wait(c.over)
}

func (h *host) newCall(ctx context.Context, task *runner.Task) *call {
	return &call{
		ctx: ctx, task: task, over: make(chan struct{}), input: h.inputOf(task), state: stateOf(task), room: map[string]*handler.Reserved{},
	}
}

// handle stands in for the handler of a node.
func (h *host) handle(ctx context.Context, task *runner.Task) (any, error) {
	c := h.newCall(ctx, task)
	c.queue = queueOf(task)
	h.wait(c)
	if c.err != nil {
		return nil, c.err
	}
	r := c.result
	for _, text := range r.Hide {
		task.Models.Hide(text)
	}
	if r.Partial != nil {
		task.Partial(r.Partial)
	}
	for _, said := range r.Said {
		task.Emit(said)
	}
	if r.Because != "" {
		task.Because(r.Because)
	}
	return r.Return(task.Talk)
}

// Decide has an activity decide.
func (h *host) Decide(ctx context.Context, task *runner.Task, choice handler.Choice) (target, reasoning string, err error) {
	c := h.newCall(ctx, task)
	c.input.Choice, c.input.Task.Kind = &choice, "llm"
	h.wait(c)
	switch {
	case c.err != nil:
		return "", "", c.err
	case c.result.Failure != nil:
		return "", "", c.result.Failure
	}
	return c.result.Target, c.result.Reasoning, nil
}

// bounds reports whether a graph around a node bounds what models may cost.
func (h *host) bounds(path string) bool {
	return slices.ContainsFunc(h.flow.GraphsAround(path), func(g *spec.Graph) bool {
		return g.Limits.MaxTokens > 0 || g.Limits.MaxCostUSD > 0
	})
}

// takesNoNotes reports whether nodes of a kind call no tools and no models, and so note
// nothing either.
func takesNoNotes(kind string) bool { return kind == "exec" || kind == "http" }

// inputOf is a task as it is sent.
func (h *host) inputOf(t *runner.Task) *taskInput {
	in := &taskInput{Task: *t, Graphs: t.CallGraph != nil, Budget: h.bounds(t.Node), RunDir: h.start.RunDir}
	in.Task.State = nil // it is sent apart
	if takesNoNotes(t.Kind) {
		in.Graphs, in.Task.Tools, in.Task.Providers, in.Task.Talk, in.Task.Models = false, nil, nil, nil, nil
	}
	return in
}

// stateOf is what a task needs to see of the state.
func stateOf(t *runner.Task) *taskState {
	_, given := t.Config["stdin"]
	if t.Kind == "http" || t.Kind == "exec" && given { // it shows the state to nobody
		return &taskState{}
	}
	return &taskState{t.State}
}

// queueOf is the queue that a node names; empty: the run's.
func queueOf(task *runner.Task) string {
	id := task.Node
	if at := bytes.LastIndexByte([]byte(id), '/'); at >= 0 {
		id = id[at+1:]
	}
	if task.Graph == nil {
		return ""
	}
	if n := task.Graph.Node(id); n != nil {
		return n.Queue.Value
	}
	return ""
}

// work does something for a task, in a goroutine that the stage waits for.
func (h *host) work(do func()) {
	h.stage.Hold()
	go func() {
		defer h.stage.Release()
		do()
	}()
}

// beside tells the run how many calls a task makes side by side. Of an activity that was
// lost they are none any more.
func (h *host) beside(c *call, n *note) {
	if c.task.Beside == nil || n.Attempt < c.attempt {
		return
	}
	change := n.Beside
	if n.Attempt > c.attempt {
		change -= c.beside
		c.attempt = n.Attempt
	}
	c.beside += change
	h.work(func() { c.task.Beside(change) })
}

// noted keeps what a running task notes.
func (h *host) noted(c *call, n *note) {
	if n.Beside != 0 {
		h.beside(c, n)
		return
	}
	if text, err := json.Marshal(n.Data); err == nil {
		c.noted = append(c.noted, text)
	}
	h.work(func() {
		var err error
		if n.Usage != nil {
			err = c.task.Models.Note(n.Data, *n.Usage)
		} else {
			err = c.task.Note(n.Data)
		}
		_ = err // the task ends, or the run is over
		if room := c.room[n.Settles]; room != nil && n.Usage != nil {
			room.Settle(*n.Usage)
		}
	})
}

// reserve keeps room in the budget for a call of a task.
func (h *host) reserve(c *call, r *reservation) *reserved {
	room, err := c.task.Models.Reserve(handler.Reservation{
		Input: r.Input, Output: r.Output,
		Cost: func(input, output int) (float64, bool) {
			return r.Base + r.Each*float64(output), r.Known
		},
	})
	if err != nil {
		var failure *runner.Failure
		if !errors.As(err, &failure) {
			failure = &runner.Failure{Kind: "failed", Message: err.Error()}
		}
		return &reserved{Failure: failure}
	}
	c.room[r.ID] = room
	return &reserved{Output: room.Output}
}

// events are those after the first from, of about size bytes, and what was told live
// from a number on.
func (h *host) events(from, size, live int) *journalPart {
	out := &journalPart{Base: h.store.base, Sure: h.store.sure, Task: h.store.task}
	if h.start.Seed != nil {
		out.Previous = h.start.Seed.Previous
	}
	for _, text := range h.store.after(from, size) {
		out.Events = append(out.Events, json.RawMessage(text))
	}
	out.Live, out.LiveFrom = h.store.liveAfter(live)
	return out
}
