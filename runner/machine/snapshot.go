// Snapshots: the state as JSON, so that nobody has to apply the events before it.

package machine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// snapshotVersion is that of the form; one of another version can't be restored.
const snapshotVersion = 2

// savedState is State in a snapshot. What is missing is derived from the rest,
// or of no interest to the next event.
type savedState struct {
	Version    int         `json:"version"`
	Graph      string      `json:"graph"`
	RunID      string      `json:"run_id"`
	Group      string      `json:"group,omitempty"`
	Status     Status      `json:"status"`
	Quality    Quality     `json:"quality,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Limited    bool        `json:"limited,omitempty"`
	Failure    *int        `json:"failure,omitempty"`
	PausedAt   *Breakpoint `json:"paused_at,omitempty"`
	Output     any         `json:"output,omitempty"`
	Superstep  int         `json:"superstep"`
	Steps      int         `json:"steps"`
	ChildSteps int         `json:"child_steps,omitempty"`

	Limits      spec.Limits    `json:"limits"`
	Goal        string         `json:"goal,omitempty"`
	BreakBefore []string       `json:"break_before,omitempty"`
	BreakAfter  []string       `json:"break_after,omitempty"`
	PauseDue    bool           `json:"pause_due,omitempty"`
	Edits       map[string]any `json:"edits,omitempty"`
	Parent      *ParentInfo    `json:"parent,omitempty"`
	Began       int64          `json:"began"`
	Now         int64          `json:"now"`
	PausedFrom  int64          `json:"paused_from,omitempty"`
	Undriven    int64          `json:"undriven,omitempty"`
	Deadline    int64          `json:"deadline,omitempty"`
	Degraded    bool           `json:"degraded,omitempty"`
	Closing     *savedEnding   `json:"closing,omitempty"`
	Violated    *savedEnding   `json:"violated,omitempty"`
	Final       *savedFinale   `json:"final,omitempty"`
	Endings     int            `json:"endings,omitempty"`
	Open        bool           `json:"open,omitempty"`

	Env     map[string]any `json:"env"`
	Visits  map[string]any `json:"visits,omitzero"`
	History map[string]any `json:"history,omitzero"`
	ByNode  map[string]any `json:"nodes,omitzero"`
	Extra   []string       `json:"extra,omitempty"`
	// Counts are those of nodes and edges above 0, as pairs of index and count.
	NodeCounts [][2]int       `json:"node_counts,omitempty"`
	EdgeCounts [][2]int       `json:"edge_counts,omitempty"`
	Partial    []savedPartial `json:"partial,omitempty"`
	Reasons    []savedReason  `json:"reasons,omitempty"`
	Succeeded  [][2]int       `json:"succeeded,omitempty"`

	Tasks        []savedTask    `json:"tasks,omitempty"`
	Next         []savedTask    `json:"next,omitempty"`
	Parked       []savedTask    `json:"parked,omitempty"`
	ReadyTasks   int            `json:"ready_tasks,omitempty"`
	RunningTasks int            `json:"running_tasks,omitempty"`
	WaitingTasks int            `json:"waiting_tasks,omitempty"`
	NextReady    int            `json:"next_ready,omitempty"`
	Mixed        bool           `json:"mixed,omitempty"`
	Fanouts      int            `json:"fanouts,omitempty"`
	Fans         []savedFanout  `json:"fans,omitempty"` // outer ones first
	Laned        []int          `json:"laned,omitempty"`
	Barriers     []savedBarrier `json:"barriers,omitempty"`
	Expiries     []savedExpiry  `json:"expiries,omitempty"`
	Deciding     int            `json:"deciding,omitempty"`
	Routes       []savedRoute   `json:"routes,omitempty"`
	Refused      int            `json:"refused,omitempty"`
	Grants       grants         `json:"grants,omitzero"`
	OutOfSteps   bool           `json:"out_of_steps,omitempty"`
	NoStep       bool           `json:"no_step,omitempty"`
	Rounds       int            `json:"rounds,omitempty"`
	LastEnd      any            `json:"last_end,omitempty"`
	LastOutput   any            `json:"last_output,omitempty"`
	Order        int            `json:"order,omitempty"`
	Logs         []savedLog     `json:"logs,omitempty"`
	Failures     []savedFailure `json:"failures,omitempty"`

	Conversation conversation  `json:"conversation,omitzero"`
	Threads      []savedThread `json:"threads,omitempty"`
	LastThread   int           `json:"last_thread,omitempty"`
	EndThread    int           `json:"end_thread,omitempty"`
	Models       ModelSettings `json:"models,omitzero"`
	Usage        Usage         `json:"usage,omitzero"`
	Scripted     []Usage       `json:"scripted,omitempty"`
}

// savedEnding is ending.
type savedEnding struct {
	Status  Status `json:"status"`
	Reason  string `json:"reason"`
	Failure *int   `json:"failure,omitempty"`
}

// savedFailure is a Failure with its details written like other data.
type savedFailure struct {
	Failure
	Details map[string]any `json:"details,omitzero"`
}

// MarshalJSON writes the state as a snapshot; Plan.Restore reads it.
func (s *State) MarshalJSON() ([]byte, error) {
	out, _, err := s.AppendSnapshot(nil, math.MaxInt)
	return out, err
}

// AppendSnapshot appends the state as JSON, which Plan.Restore reads. Between
// two events it is all that the events so far determine. A state that takes
// more than limit bytes does not fit, and is given up when that shows: dst is
// returned as it was.
func (s *State) AppendSnapshot(dst []byte, limit int) (out []byte, fits bool, err error) {
	k := &saver{packer: newPacker(limit), state: s}
	saved, err := json.Marshal(k.save())
	if k.err != nil {
		err = k.err
	}
	const frame = len(`{"values":[],"state":}`)
	if err == nil && len(saved)+len(k.values)+frame > limit {
		err = errTooLarge
	}
	if errors.Is(err, errTooLarge) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, fmt.Errorf("state of run %q can't be written: %w", s.RunID, err)
	}
	out = append(dst, `{"values":[`...)
	out = append(append(out, k.values...), `],"state":`...)
	return append(append(out, saved...), '}'), true, nil
}

// Restore reads a state that the plan's graph had led to. Secrets are no part
// of it: give them with SetSecrets. The errors are those of a text that is no
// snapshot, or one of another version or graph.
func (p *Plan) Restore(text []byte) (*State, error) {
	var whole struct {
		Values []any      `json:"values"`
		State  savedState `json:"state"`
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&whole); err != nil {
		return nil, fmt.Errorf("snapshot can't be read: %w", err)
	}
	saved := &whole.State
	switch {
	case saved.Version != snapshotVersion:
		return nil, fmt.Errorf("snapshot has version %d; this one reads %d", saved.Version, snapshotVersion)
	case saved.Graph != p.fingerprint():
		return nil, errors.New("snapshot is one of another graph")
	}
	r := &restorer{plan: p, state: p.NewState()}
	r.values = make([]any, 0, len(whole.Values))
	for _, value := range whole.Values {
		r.values = append(r.values, r.unpack(value))
	}
	r.restore(saved)
	if r.err != nil {
		return nil, fmt.Errorf("snapshot can't be read: %w", r.err)
	}
	return r.state, nil
}

// fingerprint tells graphs apart: nodes, edges and keys go by their index.
func (p *Plan) fingerprint() string {
	if p.Graph.File == nil {
		return ""
	}
	sum := sha256.Sum256(append(slices.Clip(p.Graph.Whole().Text()), p.Graph.Ref()...))
	return hex.EncodeToString(sum[:8])
}

// saver writes a state. What several places point to goes into tables.
type saver struct {
	packer
	state    *State
	fans     map[*fanout]bool
	fanList  []*fanout
	failures map[*Failure]int
	failed   []savedFailure
	expiries map[*expiry]int
	expired  []savedExpiry
	threads  map[*thread]int
	threaded []savedThread
}

// restorer reads a state.
type restorer struct {
	unpacker
	plan     *Plan
	state    *State
	failures []*Failure
	fans     map[int]*fanout
	expiries []*expiry
	threads  []*thread
}

func (k *saver) save() *savedState {
	s := k.state
	k.fans, k.failures, k.expiries = map[*fanout]bool{}, map[*Failure]int{}, map[*expiry]int{}
	k.threads = map[*thread]int{}
	out := &savedState{
		Version: snapshotVersion, Graph: s.plan.fingerprint(), RunID: s.RunID, Group: s.Group,
		Status: s.Status, Quality: s.Quality, Reason: s.Reason, Limited: s.Limited, Failure: k.failure(s.Failure),
		PausedAt: s.PausedAt, Output: k.pack(s.Output), Superstep: s.Superstep, Steps: s.Steps, ChildSteps: s.ChildSteps,
		Limits: s.limits, Goal: s.goal, BreakBefore: s.breakBefore, BreakAfter: s.breakAfter, PauseDue: s.pauseDue,
		Edits: k.packMap(s.edits), Parent: s.parent, Began: s.began, Now: s.now, Deadline: s.deadline, PausedFrom: s.pausedFrom, Undriven: s.undriven, Degraded: s.degraded,
		Closing: k.ending(s.closing), Violated: k.ending(s.violated), Final: k.finale(s.final), Endings: s.endings, Open: s.open,
		Env: k.env(), Visits: k.packMap(s.visits), History: k.packMap(s.hist), ByNode: k.packMap(s.byNode), Extra: s.extra,
		ReadyTasks: s.readyTasks, RunningTasks: s.runningTasks, WaitingTasks: s.waitingTasks, NextReady: s.nextReady,
		Mixed: s.mixed, Fanouts: s.fanouts, Deciding: s.deciding, Refused: s.refused, OutOfSteps: s.outOfSteps, NoStep: s.noStep, Rounds: s.rounds, Grants: s.grants,
		LastEnd: k.pack(s.lastEnd), LastOutput: k.pack(s.lastOutput), Order: s.order, Logs: k.logs(),
	}
	k.saveMemory(out, &s.memory)
	out.Tasks, out.Next, out.Parked = k.tasks(s.tasks), k.tasks(s.next), k.tasks(s.parked)
	for i := range s.barriers {
		out.Barriers = append(out.Barriers, k.barrier(&s.barriers[i]))
	}
	for _, f := range s.laned {
		out.Laned = append(out.Laned, k.fan(f))
	}
	if s.deciding > 0 {
		for i := range s.routes {
			r := &s.routes[i]
			out.Routes = append(out.Routes, savedRoute{r.task, r.edge, r.to, k.pack(r.input), r.own})
		}
	}
	// Fan-outs point to failures, and are known once all else is written.
	slices.SortFunc(k.fanList, func(a, b *fanout) int { return a.id - b.id })
	for _, f := range k.fanList {
		out.Fans = append(out.Fans, k.saveFan(f))
	}
	out.LastThread, out.EndThread = k.thread(s.lastThread), k.thread(s.endThread)
	out.Conversation, out.Models, out.Usage, out.Scripted = s.conversation, s.models, s.usage, s.scripted
	out.Expiries, out.Failures, out.Threads = k.expired, k.failed, k.threaded
	return out
}

func (k *saver) ending(e *ending) *savedEnding {
	if e == nil {
		return nil
	}
	return &savedEnding{e.status, e.reason, k.failure(e.failure)}
}

// failure is the place of a failure in the table; nil for none.
func (k *saver) failure(f *Failure) *int {
	if f == nil {
		return nil
	}
	at, ok := k.failures[f]
	if !ok {
		at = len(k.failed)
		k.failures[f] = at
		k.failed = append(k.failed, savedFailure{Failure: *f, Details: k.packMap(f.Details)})
	}
	return &at
}

func (r *restorer) restore(in *savedState) {
	r.restoreThreads(in.Threads)
	r.restoreFailures(in.Failures)
	r.restoreFans(in.Fans)
	for _, e := range in.Expiries {
		r.expiries = append(r.expiries, &expiry{r.place(e.Branch), r.failure(e.Failure), e.Order, e.Settled})
	}
	s := r.state
	s.Group = in.Group
	s.RunID, s.Quality, s.Limited, s.Failure = in.RunID, in.Quality, in.Limited, r.failure(in.Failure)
	s.setStatus(in.Status, in.Reason)
	s.PausedAt, s.Output = in.PausedAt, r.unpack(in.Output)
	s.Superstep, s.Steps, s.ChildSteps = in.Superstep, in.Steps, in.ChildSteps
	s.limits, s.goal, s.parent = in.Limits, in.Goal, in.Parent
	if s.limits.MaxStateBytes == 0 && in.Status != "" { // from before there was this limit
		s.limits.MaxStateBytes = maxStateBytes(&r.plan.limits, s.parent)
	}
	s.breakBefore, s.breakAfter, s.pauseDue = in.BreakBefore, in.BreakAfter, in.PauseDue
	s.edits = r.unpackMap(in.Edits)
	s.began, s.now, s.deadline, s.pausedFrom, s.undriven, s.degraded = in.Began, in.Now, in.Deadline, in.PausedFrom, in.Undriven, in.Degraded
	s.closing, s.violated, s.open = r.ending(in.Closing), r.ending(in.Violated), in.Open
	s.final, s.endings = r.finale(in.Final), in.Endings
	r.restoreEnv(in)
	r.restoreMemory(in)
	s.tasks, s.next, s.parked = r.tasks(in.Tasks), r.tasks(in.Next), r.tasks(in.Parked)
	s.readyTasks, s.runningTasks, s.waitingTasks = in.ReadyTasks, in.RunningTasks, in.WaitingTasks
	s.nextReady, s.mixed, s.fanouts = in.NextReady, in.Mixed, in.Fanouts
	for _, id := range in.Laned {
		s.laned = append(s.laned, r.fan(id))
	}
	for i := range in.Barriers {
		s.barriers = append(s.barriers, r.barrier(&in.Barriers[i]))
	}
	s.deciding, s.refused, s.outOfSteps, s.noStep, s.rounds, s.order = in.Deciding, in.Refused, in.OutOfSteps, in.NoStep, in.Rounds, in.Order
	s.grants = in.Grants
	s.conversation, s.models, s.usage, s.scripted = in.Conversation, in.Models, in.Usage, in.Scripted
	s.conversation.read = nil
	s.lastThread, s.endThread = r.thread(in.LastThread), r.thread(in.EndThread)
	for i := range in.Routes {
		x := &in.Routes[i]
		s.routes = append(s.routes, route{x.Task, x.Edge, x.To, r.unpack(x.Input), x.Own})
	}
	s.lastEnd, s.lastOutput = r.unpack(in.LastEnd), r.unpack(in.LastOutput)
	for _, log := range in.Logs {
		if s.logs == nil {
			s.logs = map[TaskID][]any{}
		}
		s.logs[log.Task] = r.unpackList(log.Notes)
	}
}

func (r *restorer) within(what string, i, n int) bool {
	if i < 0 || i >= n {
		r.fail(fmt.Errorf("%s %d of %d", what, i, n))
		return false
	}
	return true
}

func (r *restorer) restoreFailures(list []savedFailure) {
	for i := range list {
		f := list[i].Failure
		f.Details = r.unpackMap(list[i].Details)
		r.failures = append(r.failures, &f)
	}
}

func (r *restorer) failure(at *int) *Failure {
	if at == nil || !r.within("failure", *at, len(r.failures)) {
		return nil
	}
	return r.failures[*at]
}

func (r *restorer) ending(e *savedEnding) *ending {
	if e == nil {
		return nil
	}
	return &ending{e.Status, e.Reason, r.failure(e.Failure)}
}
