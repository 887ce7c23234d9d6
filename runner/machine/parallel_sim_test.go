package machine_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/runner/machine"
)

// reply is what a simulated handler does on one attempt, and how long it takes.
// The zero reply succeeds with null at once.
type reply struct {
	takes   time.Duration
	output  any
	failure *machine.Failure
	target  string // of a router
	// asks are the questions, by ID, of a task that waits before it ends.
	asks []machine.Ask
}

// after is a reply that takes that many seconds.
func after(seconds float64, output any) reply {
	return reply{takes: time.Duration(seconds * float64(time.Second)), output: output}
}

// fails is a failure of kind "failed" after that many seconds.
func fails(seconds float64) reply {
	r := after(seconds, nil)
	r.failure = &machine.Failure{Kind: "failed", Message: "no"}
	return r
}

// never is a reply that only a cancellation ends.
func never() reply { return reply{takes: 1 << 60} }

// replies holds the replies of each node, one an attempt; the last one repeats.
type replies map[string][]reply

func once(list ...reply) []reply { return list }

// sim drives a plan in virtual time: what a task does and how long it takes is
// given, and so is, with the timers, the order of all events. It checks what
// holds for every run.
type sim struct {
	t      testing.TB
	plan   *machine.Plan
	state  *machine.State
	reply  func(id machine.TaskID, nth int) reply
	twice  bool // apply every event but Advanced twice
	stale  bool // stopped timers fire all the same
	now    time.Duration
	seq    int
	queue  []due
	asked  map[string]int
	live   map[machine.TaskID]bool // running → a cancellation was asked for
	ran    map[machine.TaskID]bool
	events []machine.Event
	cmds   []machine.Command
	path   []string
	gone   []string // nodes of cancelled tasks, in order
	most   int
	ended  bool
	// answer is what a person says, and when; never if it takes less than nothing.
	answer func(q *machine.Question) reply
	told   func(c machine.Command) // of every task that is run
	// open are the executions that were told to have started and not yet to have ended: whether another attempt may start.
	open map[execution]bool
}

// execution is one visit of a node.
type execution struct{ node, visit int32 }

// watch checks that every execution which has started is told to end once.
func (s *sim) watch() {
	s.t.Helper()
	for _, n := range s.state.Notes() {
		if n.Skipped { // it did not start
			continue
		}
		of := execution{n.Node, n.Visit}
		switch n.Kind {
		case machine.NoteNodeStarted:
			if again, open := s.open[of]; open && !again {
				s.t.Errorf("%s, visit %d, is told to start twice", s.plan.NodeID(n.Node), n.Visit)
			}
			s.open[of] = false
		case machine.NoteNodeRetrying:
			s.open[of] = true
		case machine.NoteNodeCompleted, machine.NoteNodeFailed:
			if _, open := s.open[of]; !open && n.Step > 0 {
				s.t.Errorf("%s, visit %d, is told to end and was not running", s.plan.NodeID(n.Node), n.Visit)
			}
			delete(s.open, of)
		}
	}
	if s.state.Ended() {
		for of := range s.open {
			s.t.Errorf("%s, visit %d, is never told to end", s.plan.NodeID(of.node), of.visit)
		}
	}
}

// due is an event that happens at a moment of virtual time.
type due struct {
	at    time.Duration
	seq   int
	event machine.Event
}

func newSim(t testing.TB, plan *machine.Plan, reply func(machine.TaskID, int) reply) *sim {
	s := &sim{
		t: t, plan: plan, state: plan.NewState(), reply: reply, open: map[execution]bool{},
		asked: map[string]int{}, live: map[machine.TaskID]bool{}, ran: map[machine.TaskID]bool{},
	}
	s.state.Watched = true
	return s
}

const simEpoch = int64(1e18)

// maxEvents is more than any of the runs here needs.
const maxEvents = 20_000

// run runs to the end.
func (s *sim) run(info machine.RunInfo, input map[string]any) {
	s.t.Helper()
	info.ID = "run"
	s.apply(machine.Event{Kind: machine.RunBegan, Run: &info, Input: input})
	for !s.state.Ended() {
		if len(s.queue) == 0 {
			s.t.Fatalf("the run hangs: path %v, status %q", s.path, s.state.Status)
		}
		if len(s.events) > maxEvents {
			s.t.Fatalf("no end after %d events: steps %d, last events %v", maxEvents, s.state.Steps, s.events[len(s.events)-6:])
		}
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.now = max(s.now, next.at)
		s.apply(next.event)
	}
	s.finished()
}

// finished checks what holds at the end of every run.
func (s *sim) finished() {
	s.t.Helper()
	if !s.ended {
		s.t.Errorf("the run ended as %s without a Finish command", s.state.Status)
	}
	if len(s.live) > 0 {
		s.t.Errorf("the run ended while tasks were running: %v", s.live)
	}
	for _, late := range s.queue {
		cmds, err := s.plan.Apply(s.state, late.event)
		if err != nil || len(cmds) > 0 {
			s.t.Errorf("after the end %v gave %v, %v", late.event, cmds, err)
		}
	}
}

func (s *sim) schedule(in time.Duration, e machine.Event) {
	s.seq++
	d := due{s.now + in, s.seq, e}
	i, _ := slices.BinarySearchFunc(s.queue, d, func(a, b due) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return a.seq - b.seq
	})
	s.queue = slices.Insert(s.queue, i, d)
}

func (s *sim) apply(e machine.Event) {
	s.t.Helper()
	e.At = simEpoch + int64(s.now)
	if e.Kind == machine.TaskEnded {
		delete(s.live, e.Task)
	}
	s.events = append(s.events, e)
	cmds, err := s.plan.Apply(s.state, e)
	if err != nil {
		s.t.Fatal(err)
	}
	cmds = slices.Clone(cmds)
	s.watch()
	for _, i := range s.state.Ran {
		s.path = append(s.path, s.plan.Graph.Nodes[i].ID.Value)
	}
	if s.twice && e.Kind != machine.Advanced {
		if again, err := s.plan.Apply(s.state, e); err != nil || len(again) > 0 {
			s.t.Errorf("%s a second time gave %v, %v", e.Kind, again, err)
		}
	}
	if err := machine.CheckTokens(s.state); err != nil {
		s.t.Fatalf("after %s %v: %v", e.Kind, e.Task, err)
	}
	s.cmds = append(s.cmds, cmds...)
	for _, c := range cmds {
		if s.ended {
			s.t.Errorf("command %v after Finish", c)
		}
		s.carryOut(c)
	}
	s.most = max(s.most, len(s.live))
}

func (s *sim) carryOut(c machine.Command) {
	s.t.Helper()
	switch c.Kind {
	case machine.Advance:
		s.schedule(0, machine.Event{Kind: machine.Advanced})
	case machine.RunTask:
		s.start(c)
	case machine.CancelTask:
		s.cancel(c.Task)
	case machine.StartTimer:
		s.schedule(c.For, machine.Event{Kind: machine.TimerFired, Task: c.Task, Timer: c.Timer})
	case machine.StopTimer:
		if !s.stale {
			s.forget(func(e *machine.Event) bool {
				return e.Kind == machine.TimerFired && e.Task == c.Task && e.Timer == c.Timer
			})
		}
	case machine.Decide:
		r := s.reply(c.Task, -1)
		s.schedule(r.takes, machine.Event{Kind: machine.Decided, Task: c.Task, Target: r.target, Failure: r.failure})
	case machine.AskPerson:
		r := reply{output: "yes"}
		if s.answer != nil {
			r = s.answer(c.Question)
		}
		if r.takes >= 0 {
			s.schedule(r.takes, machine.Event{Kind: machine.Answered, Task: c.Task, Question: c.Question.ID, Output: r.output})
		}
	case machine.Finish:
		s.ended = true
	}
}

func (s *sim) start(c machine.Command) {
	s.t.Helper()
	if s.ran[c.Task] {
		s.t.Errorf("task %v is run twice", c.Task)
	}
	s.ran[c.Task], s.live[c.Task] = true, false
	r := s.reply(c.Task, s.asked[c.Task.Node])
	s.asked[c.Task.Node]++
	e := machine.Event{Kind: machine.TaskEnded, Task: c.Task, Output: r.output}
	if len(r.asks) > 0 {
		e.Park, e.Output = &machine.Parking{Asks: r.asks}, nil
		delete(s.ran, c.Task) // it runs again
	}
	if s.told != nil {
		s.told(c)
	}
	if r.failure != nil {
		failure := *r.failure
		e.Failure = &failure
	} else if c.Work.Talk != nil {
		e.Talk = chatter(c.Task)
	}
	s.schedule(r.takes, e)
}

func (s *sim) cancel(id machine.TaskID) {
	s.t.Helper()
	asked, running := s.live[id]
	if !running || asked {
		s.t.Errorf("task %v is cancelled, which does not run, or was cancelled before", id)
		return
	}
	s.live[id] = true
	s.gone = append(s.gone, id.Node)
	s.forget(func(e *machine.Event) bool { return e.Kind == machine.TaskEnded && e.Task == id })
	s.schedule(0, machine.Event{
		Kind: machine.TaskEnded, Task: id, Partial: "so far",
		Failure: &machine.Failure{Kind: "cancelled", Message: "cancelled"},
	})
}

func (s *sim) forget(match func(*machine.Event) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(d due) bool { return match(&d.event) })
}

// replay applies the recorded events to a fresh state and compares; throughJSON
// sends them through the journal's form first.
func (s *sim) replay(throughJSON bool) {
	s.t.Helper()
	again := s.plan.NewState()
	var cmds []machine.Command
	for _, e := range s.events {
		if throughJSON {
			text, err := json.Marshal(e)
			if err != nil {
				s.t.Fatal(err)
			}
			e = machine.Event{}
			if err := json.Unmarshal(text, &e); err != nil {
				s.t.Fatal(err)
			}
		}
		got, err := s.plan.Apply(again, e)
		if err != nil {
			s.t.Fatal(err)
		}
		cmds = append(cmds, got...)
	}
	if !reflect.DeepEqual(s.cmds, cmds) {
		s.t.Errorf("replay gives other commands (-first +replay):\n%s", cmp.Diff(s.cmds, cmds))
	}
	if first, second := endOf(s.state), endOf(again); !reflect.DeepEqual(first, second) {
		s.t.Errorf("replay ends otherwise (-first +replay):\n%s", cmp.Diff(first, second, cmp.AllowUnexported(machine.Failure{})))
	}
}

// end is all of a run that its caller sees.
type end struct {
	Status  machine.Status
	Quality machine.Quality
	Reason  string
	Failure *machine.Failure
	Output  any
	Steps   int
	State   map[string]any
}

func endOf(s *machine.State) end {
	return end{s.Status, s.Quality, s.Reason, s.Failure, s.Output, s.Steps, s.Values()}
}

// simCase is one flow and what becomes of it. Empty expectations are not checked.
type simCase struct {
	name    string
	flow    string // without the head
	replies replies
	info    machine.RunInfo
	path    string // node ids, separated by spaces
	status  machine.Status
	quality machine.Quality
	reason  string
	kind    string // of the run's failure
	at      string // its node
	says    string // part of its message
	state   map[string]any
	output  any
	gone    string // nodes of cancelled tasks
	took    float64
	check   func(t *testing.T, s *sim)
	answers map[string]reply // by target; the others are answered "yes" at once
	told    func(c machine.Command)
}

func (c simCase) run(t *testing.T) {
	s := newSim(t, build(t, head+c.flow), func(id machine.TaskID, nth int) reply {
		list := c.replies[id.Node]
		if nth < 0 {
			list, nth = c.replies["router:"+id.Node], 0
		}
		if len(list) == 0 {
			return reply{}
		}
		r := list[min(nth, len(list)-1)]
		r.output = canonical(t, r.output)
		return r
	})
	s.twice, s.told = true, c.told
	s.answer = func(q *machine.Question) reply {
		if r, ok := c.answers[q.Target()]; ok {
			return r
		}
		return reply{output: "yes"}
	}
	s.run(c.info, nil)
	s.replay(true)
	throughSnapshots(t, s.plan, s.events)
	c.expect(t, s)
}

func (c simCase) expect(t *testing.T, s *sim) {
	t.Helper()
	end := s.state
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if got := strings.Join(s.path, " "); got != c.path {
		t.Errorf("path %q, want %q (status %s, failure %v)", got, c.path, end.Status, end.Failure)
	}
	status := c.status
	if status == "" {
		status = machine.Completed
	}
	if end.Status != status {
		t.Errorf("status %q, want %q (failure %v)", end.Status, status, end.Failure)
	}
	if c.quality != "" {
		same("quality", end.Quality, c.quality)
	}
	if c.reason != "" {
		same("reason", end.Reason, c.reason)
	}
	c.expectFailure(t, end.Failure)
	values := end.Values()
	for name, want := range c.state {
		same("state "+name, values[name], want)
	}
	if c.output != nil {
		same("output", end.Output, c.output)
	}
	if got := strings.Join(s.gone, " "); got != strings.TrimSpace(c.gone) {
		t.Errorf("cancelled %q, want %q", got, c.gone)
	}
	if c.took != 0 {
		same("seconds", s.now.Seconds(), c.took)
	}
	if c.check != nil {
		c.check(t, s)
	}
}

func (c simCase) expectFailure(t *testing.T, f *machine.Failure) {
	t.Helper()
	switch {
	case c.kind == "" && c.says == "" && c.at == "":
	case f == nil:
		t.Errorf("no failure, want kind %q", c.kind)
	case c.kind != "" && f.Kind != c.kind:
		t.Errorf("failure kind %q (%s), want %q", f.Kind, f.Message, c.kind)
	case c.at != "" && f.Node != c.at:
		t.Errorf("failure of node %q (%s), want %q", f.Node, f.Message, c.at)
	case !strings.Contains(f.Message, c.says):
		t.Errorf("failure says %q, want %q in it", f.Message, c.says)
	}
}

func runAll(t *testing.T, cases []simCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}
