// The task, in memory and in snapshots.

package machine

import (
	"cmp"
	"math"
	"slices"
)

// taskStatus is how a task stands. The zero value is unset. Snapshots hold the
// numbers: new ones come last, or snapshotVersion changes.
type taskStatus uint8

const (
	ready     taskStatus = iota + 1
	running              // in the driver
	delayed              // parked until a retry timer fires
	waiting              // parked until a wait timer fires
	asking               // parked until a person answers
	succeeded            // waiting for its superstep to close
	failed
	dropped // cancelled: it left nothing
)

// task is one execution of a node.
type task struct {
	node    int
	at      place
	memory  *nodeState // of the node, once the task has been entered
	visit   int
	attempt int
	step    int
	status  taskStatus
	skipped bool
	cached  bool
	// waitsFor says that the router was asked.
	waitsFor bool
	// joined says that the task comes out of a join, merged that it stands for
	// several branches that met.
	joined bool
	merged bool
	// due says that the timer of a parked task has fired, or its question is
	// answered; until is when its timer fires (Unix nanoseconds).
	due bool
	// released says that a breakpoint has let the task through.
	released bool
	// held says that no step was left for the task in the superstep that is open.
	held bool
	// lost says that the task was cut off by what may end the run, and goes on if it does.
	lost bool
	// uncaught says that no edge took the failure.
	uncaught bool
	// cause is why a running task was cancelled: its failure once it ends.
	cause *Failure
	// led is the failure after which an edge led here; nil behind a success.
	led     *Failure
	input   any
	source  int           // the node that input comes from
	inputs  []sourceInput // when several do, or an expression asks
	began   int64
	order   int // among the tasks of the run that finished, from 1
	output  any
	failure *Failure
	writes  []write
	// choice is what a router said, once it has.
	choice *choice
	// each is the progress of a node that runs once per element.
	each *eachState
	// branches is what a join's node sees of the branches.
	branches map[string]any
	until    int64
	ends     int64 // when the time of its attempt is over; 0: never
	// asked is what the task has asked people.
	asked *questions
	// expired tells of a branch around the task that ran out of time.
	expired *expiry
	// tried counts retries by the block of a retry list; nil: there is no list.
	tried map[triedBy]int
	// calls counts the calls of models; nil: there were none.
	calls *callCounts
	// thread is the task's place in the conversation; nil in a graph without one.
	thread *thread
	// firstRoute and lastRoute are the task's part of State.routes.
	firstRoute, lastRoute int
}

// sourceInput is the input that came over one edge.
type sourceInput struct {
	node  int
	value any
}

// choice is a router's answer.
type choice struct {
	edge      int // -1: the decision failed
	failure   *Failure
	reasoning string
}

func (s *State) taskID(t *task) TaskID {
	return TaskID{Node: s.plan.nodes[t.node].id, Visit: t.visit, Attempt: t.attempt}
}

// sortTasks brings the tasks into the declaration order of their branches. Of those
// of one branch the ones that come back from waiting are first, in the order in which
// they do.
func (s *State) sortTasks() {
	back := func(t *task) int { return cmp.Or(t.order, math.MaxInt) }
	if len(s.tasks) > 1 {
		slices.SortStableFunc(s.tasks, func(a, b task) int {
			return cmp.Or(a.at.compare(b.at), cmp.Compare(back(&a), back(&b)))
		})
	}
	s.mixed = false
}

// savedTask is task. Failures, expiries and fan-outs, which several may share,
// go by their place in a table or by their number.
type savedTask struct {
	Node    int        `json:"node"`
	At      savedPlace `json:"at,omitzero"`
	Entered bool       `json:"entered,omitempty"`
	Visit   int        `json:"visit,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	Step    int        `json:"step,omitempty"`
	Status  taskStatus `json:"status,omitempty"`

	Skipped  bool `json:"skipped,omitempty"`
	Cached   bool `json:"cached,omitempty"`
	WaitsFor bool `json:"waits_for,omitempty"`
	Joined   bool `json:"joined,omitempty"`
	Merged   bool `json:"merged,omitempty"`
	Due      bool `json:"due,omitempty"`
	Released bool `json:"released,omitempty"`
	Held     bool `json:"held,omitempty"`
	Lost     bool `json:"lost,omitempty"`
	Uncaught bool `json:"uncaught,omitempty"`
	// Tried are element, block and count.
	Tried [][3]int `json:"tried,omitempty"`

	Cause      *int            `json:"cause,omitempty"`
	Led        *int            `json:"led,omitempty"`
	Input      any             `json:"input,omitempty"`
	Source     int             `json:"source,omitempty"`
	Inputs     []savedInput    `json:"inputs,omitempty"`
	Began      int64           `json:"began,omitempty"`
	Order      int             `json:"order,omitempty"`
	Output     any             `json:"output,omitempty"`
	Failure    *int            `json:"failure,omitempty"`
	Writes     []savedWrite    `json:"writes,omitempty"`
	Choice     *savedChoice    `json:"choice,omitempty"`
	Each       *savedEach      `json:"each,omitempty"`
	Branches   map[string]any  `json:"branches,omitzero"`
	Until      int64           `json:"until,omitempty"`
	Ends       int64           `json:"ends,omitempty"`
	Asked      *savedQuestions `json:"asked,omitempty"`
	Expired    *int            `json:"expired,omitempty"`
	FirstRoute int             `json:"first_route,omitempty"`
	LastRoute  int             `json:"last_route,omitempty"`
	Calls      *callCounts     `json:"calls,omitempty"`
	// Thread is a place in the table of threads, from 1.
	Thread int `json:"thread,omitempty"`
}

type savedInput struct {
	Node  int `json:"node"`
	Value any `json:"value,omitempty"`
}

type savedWrite struct {
	Key    int  `json:"key"`
	Update any  `json:"update,omitempty"`
	Lost   bool `json:"lost,omitempty"`
}

type savedChoice struct {
	Edge      int    `json:"edge"`
	Failure   *int   `json:"failure,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

func (k *saver) tasks(list []task) []savedTask {
	var out []savedTask
	for i := range list {
		out = append(out, k.task(&list[i]))
	}
	return out
}

func (k *saver) task(t *task) savedTask {
	out := savedTask{
		Node: t.node, At: k.place(t.at), Entered: t.memory != nil, Visit: t.visit, Attempt: t.attempt, Step: t.step, Status: t.status,
		Skipped: t.skipped, Cached: t.cached, WaitsFor: t.waitsFor, Joined: t.joined, Merged: t.merged, Due: t.due,
		Released: t.released, Held: t.held, Lost: t.lost, Uncaught: t.uncaught, Cause: k.failure(t.cause), Led: k.failure(t.led), Input: k.pack(t.input), Source: t.source,
		Began: t.began, Order: t.order, Output: k.pack(t.output), Failure: k.failure(t.failure),
		Branches: k.packMap(t.branches), Until: t.until, Ends: t.ends, Expired: k.expiry(t.expired),
		FirstRoute: t.firstRoute, LastRoute: t.lastRoute, Each: k.each(t.each), Asked: k.questions(t.asked),
		Thread: k.thread(t.thread), Calls: t.calls,
	}
	for _, by := range t.sortedTried() {
		out.Tried = append(out.Tried, [3]int{by.element, by.block, t.tried[by]})
	}
	for _, in := range t.inputs {
		out.Inputs = append(out.Inputs, savedInput{in.node, k.pack(in.value)})
	}
	for _, w := range t.writes {
		out.Writes = append(out.Writes, savedWrite{w.key, k.pack(w.update), w.lost})
	}
	if c := t.choice; c != nil {
		out.Choice = &savedChoice{c.edge, k.failure(c.failure), c.reasoning}
	}
	return out
}

func (r *restorer) tasks(list []savedTask) []task {
	var out []task
	for i := range list {
		if r.within("node", list[i].Node, len(r.plan.nodes)) {
			out = append(out, r.task(&list[i]))
		}
	}
	return out
}

func (r *restorer) task(in *savedTask) task {
	t := task{
		node: in.Node, at: r.place(in.At), visit: in.Visit, attempt: in.Attempt, step: in.Step, status: in.Status,
		skipped: in.Skipped, cached: in.Cached, waitsFor: in.WaitsFor, joined: in.Joined, merged: in.Merged, due: in.Due,
		released: in.Released, held: in.Held, lost: in.Lost, uncaught: in.Uncaught, cause: r.failure(in.Cause), led: r.failure(in.Led), input: r.unpack(in.Input), source: in.Source,
		began: in.Began, order: in.Order, output: r.unpack(in.Output), failure: r.failure(in.Failure),
		branches: r.unpackMap(in.Branches), until: in.Until, ends: in.Ends, firstRoute: in.FirstRoute, lastRoute: in.LastRoute,
		each: r.each(in.Each), asked: r.questions(in.Asked), thread: r.thread(in.Thread),
		calls: in.Calls,
	}
	if in.Entered {
		t.memory = r.state.memory.of(in.Node)
	}
	for _, tried := range in.Tried {
		if t.tried == nil {
			t.tried = map[triedBy]int{}
		}
		t.tried[triedBy{tried[0], tried[1]}] = tried[2]
	}
	for _, x := range in.Inputs {
		t.inputs = append(t.inputs, sourceInput{x.Node, r.unpack(x.Value)})
	}
	for _, w := range in.Writes {
		update := r.unpack(w.Update)
		t.writes = append(t.writes, write{w.Key, update, sizeOf(update), w.Lost})
	}
	if c := in.Choice; c != nil {
		t.choice = &choice{c.Edge, r.failure(c.Failure), c.Reasoning}
	}
	if in.Expired != nil && r.within("expiry", *in.Expired, len(r.expiries)) {
		t.expired = r.expiries[*in.Expired]
	}
	return t
}
