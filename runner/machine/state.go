// The state of one run: plain data that the events determine.

package machine

import (
	"maps"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// State is one run. It belongs to one goroutine; Apply is the only one to
// change it. Same plan, same events: same state.
type State struct {
	RunID   string
	Status  Status
	Quality Quality
	Reason  string
	Limited bool
	Failure *Failure
	// PausedAt is the breakpoint of a paused run.
	PausedAt *Breakpoint
	// Output is the run's output once it has completed.
	Output any
	// Group is the group of runs that the run is in; "": none.
	Group string
	// Superstep and Steps count from 1; 0 before the first.
	Superstep int
	Steps     int
	// ChildSteps are the steps of subgraphs; they count towards the limit.
	ChildSteps int
	// Ran lists the nodes (by index) that the last Advanced event completed, in
	// declaration order of the branches.
	Ran []int32
	// Effect is what the last event came to.
	Effect Effect

	plan    *Plan
	limits  spec.Limits // in force for this run
	goal    string
	live    bool // Status is Running
	secrets map[string]any
	// breakBefore and breakAfter are the nodes with breakpoints.
	breakBefore []string
	breakAfter  []string
	pauseDue    bool // when the open superstep has closed
	edits       map[string]any
	parent      *ParentInfo
	began       int64 // Unix nanoseconds
	now         int64 // of the event being applied
	deadline    int64 // of the run; 0: none
	pausedFrom  int64 // when a paused run paused
	undriven    int64 // idle time before resumes, in nanoseconds
	degraded    bool
	// closing says why the run is ending while tasks still run.
	closing *ending
	// final is how the run ends while and after its nodes of finally run; endings
	// counts those before that were taken back.
	final   *finale
	endings int
	// open says that a superstep is open.
	open bool

	// env holds the state by key and the context names; it is what
	// expressions see.
	env    map[string]any
	visits map[string]any // env["visits"], when an expression reads it
	hist   map[string]any // env["history"], likewise
	byNode map[string]any // env["nodes"], likewise
	extra  []string       // undeclared state keys, in order of arrival
	memory memory

	tasks  []task // of the open superstep, in declaration order
	next   []task // of the superstep after it
	parked []task // waiting on a timer
	// readyTasks and runningTasks count those of tasks that keep the superstep open.
	readyTasks   int
	runningTasks int
	waitingTasks int       // those that wait on a timer
	nextReady    int       // no task before it in tasks is ready
	mixed        bool      // next is not in declaration order
	fanouts      int       // so far
	laned        []*fanout // those with a branch timeout
	barriers     []barrier // by node, then fan-out
	reach        map[reachKey]nodeSet
	// deciding counts the router answers that the closing superstep waits for.
	deciding int
	// refused counts the tasks that found no visit left: they are no steps, but
	// there may be only as many, or a loop of failure edges would never end.
	refused int
	// grants are of a subgraph that shares the steps of the runs around it.
	grants grants
	// entering says that tasks are entered: what fails there cancels others when all
	// have been.
	entering bool
	// outOfSteps says that a task of this superstep found no step left.
	outOfSteps bool
	// noStep says that there is no step for the first task of the next superstep, or
	// that the state is too large for it.
	noStep bool
	// rounds counts supersteps and attempts since the run got somewhere.
	rounds int
	// violated is how the run ends because a node may not be entered.
	violated   *ending
	lastEnd    any // output of the node whose edge last reached END
	lastOutput any // output of the node that finished last
	order      int // counts finished tasks
	// logs holds what the attempts under way have noted.
	logs         map[TaskID][]any
	conversation conversation
	lastThread   *thread // of the task that finished last
	endThread    *thread // of the branches that reached END
	// models is what the caller of the run chose.
	models ModelSettings
	// usage is what the calls of models came to.
	usage Usage
	// scripted are the calls that a script has answered, in order.
	scripted []Usage
	// size is what the state takes, sizes what each key does (state_size.go).
	size  int
	sizes []int
	// lists holds, by key, the lists of append reducers with room to grow.
	lists map[int][]any

	// Looked counts the branches and joins that joins were compared with: what deciding
	// who waits costs.
	Looked int
	// Watched makes Apply take notes; Warns, of elements that failed at least.
	Watched, Warns bool
	// Explain adds to what AppendCandidates says the values that conditions read.
	Explain bool
	objects objectPool
	buffers
	vm eval.VM
}

// buffers are reused from one event to the next.
type buffers struct {
	cmds      []Command
	notes     []Note
	routes    []route
	undo      []undone
	taken     []Taken
	tested    []tested
	changes   []KeyValue  // of the state in this superstep
	confided  []any       // to secret keys, in this Apply
	due       map[int]int // target → place in next
	reduceEnv map[string]any
	// told is what joins at which nobody waits have told the next ones since the tokens
	// last changed, and which of these never, for the branch had passed them each time.
	told map[telling][]int
}

// NewState returns a state ready for the RunBegan event.
func (p *Plan) NewState() *State {
	return &State{plan: p, memory: newMemory(p), lists: map[int][]any{}, buffers: buffers{reduceEnv: map[string]any{}}}
}

// Ended reports whether the run has ended for good.
func (s *State) Ended() bool { return !s.live && s.Status != "" && s.Status != Paused }

// Live reports whether the run is running: asked several times a step, so that
// it compares no words.
func (s *State) Live() bool { return s.live }

// setStatus changes how the run stands, and why.
func (s *State) setStatus(status Status, reason string) {
	s.Status, s.Reason, s.live = status, reason, status == Running
}

// Value returns a state key's value.
func (s *State) Value(name string) (any, bool) {
	value, ok := s.env[name]
	if !ok {
		value, ok = s.plan.idle[name]
	}
	return value, ok
}

// Values returns the state as a new map: every key that has a value.
func (s *State) Values() map[string]any {
	out := maps.Clone(s.plan.idle) // a clone costs less than as many insertions
	maps.Copy(out, s.env)
	for _, name := range s.plan.context {
		delete(out, name)
	}
	return out
}

// SetSecrets gives the run its secrets, before RunBegan or after Restore. They
// are no part of the state: nothing stores them.
func (s *State) SetSecrets(secrets map[string]any) {
	s.secrets = secrets
	if s.env != nil && len(secrets) > 0 {
		s.env["secrets"] = secrets
	}
}

// Now is when the last event happened, as Unix nanoseconds.
func (s *State) Now() int64 { return s.now }

// Undriven returns how long the run was paused, ended or without a driver before it was
// resumed. The time of wait nodes does not count.
func (s *State) Undriven() time.Duration { return time.Duration(s.undriven) }

// MaxSteps returns the step limit in force.
func (s *State) MaxSteps() int { return s.limits.MaxSteps }
