// The state of a run: plain data that follows from the events.

package machine

import (
	"time"

	"github.com/graphrun/graphrun/eval"
)

// State is the state of one run, owned by one goroutine. Only Apply changes it. encoding/json writes
// its exported fields, and Restore reads them.
type State struct {
	Run     RunInfo  `json:"run"`
	Status  Status   `json:"status"`
	Quality Quality  `json:"quality"`
	Reason  string   `json:"reason,omitempty"`
	Limited bool     `json:"limited,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	// Output is the run's output once it has completed.
	Output any `json:"output,omitempty"`
	// PausedAt are the breakpoints at which the run is paused.
	PausedAt []Stop `json:"paused_at,omitempty"`
	// Group names the concurrency group, if any.
	Group string `json:"group,omitempty"`
	Goal  string `json:"goal,omitempty"`
	// Began is when the run began, Now the time of the last event, both in Unix nanoseconds.
	Began int64 `json:"began"`
	Now   int64 `json:"now"`
	// Active is the run's working time in nanoseconds, without pauses and without time without a
	// driver.
	Active int64 `json:"active,omitempty"`
	// Idle means that time since the last event does not count as Active.
	Idle bool `json:"idle,omitempty"`
	// Pausing means that no further step starts.
	Pausing bool `json:"pausing,omitempty"`
	// Parked means that the run waits for time without a driver.
	Parked bool `json:"parked,omitempty"`
	// Numbers holds the last numbers given to tasks, fan-outs, views, scopes and writes.
	Numbers Numbers `json:"numbers"`
	// Scopes are the open scopes in order of number, outer before inner.
	Scopes []*Scope `json:"scopes"`
	// Stopping are the cancelled attempts that still run.
	Stopping []Stopping    `json:"stopping,omitempty"`
	Talk     conversation  `json:"talk,omitzero"`
	Models   ModelSettings `json:"models,omitzero"`
	// Done counts the steps that have ended, in all scopes.
	Done int `json:"done,omitempty"`
	// Spent is the usage of all model calls. Scripted are the calls that scripts answered, in order.
	Spent    Usage   `json:"spent,omitzero"`
	Scripted []Usage `json:"scripted,omitempty"`
	// Endings counts how often nodes of finally have begun to run.
	Endings int `json:"endings,omitempty"`
	// Grace is the state of the time limit for finally after a cancellation.
	Grace grace `json:"grace,omitempty"`

	// Watched makes Apply record notes. Explain adds the values that conditions read.
	Watched bool `json:"-"`
	Explain bool `json:"-"`
	// StopAt is the step of the outermost graph after which Apply starts no step, for readers. A
	// negative number stops before the first step.
	StopAt int `json:"-"`
	// Edit holds the values that a fork writes at the end of that step.
	Edit map[string]any `json:"-"`

	plan    *Plan
	secrets map[*Plan]map[string]any
	cmds    []Command
	notes   []Note
	vm      eval.VM
	// batch counts the steps without effects that this Apply has run.
	batch int
	// changes lists value changes that may still be undone. routes is scratch space.
	changes []change
	routes  []target
	// noted counts the notes of this Apply, with or without an observer.
	noted int
	// reach caches which nodes can reach a node.
	reach map[reachKey][]bool
	// ready are the tasks and units that may start, in path order.
	ready []ready
	byID  map[int]*Scope
	// secretValues are the values that this Apply gave to secret keys.
	secretValues []any
}

// Numbers are the counters for new ids.
type Numbers struct {
	Task  int `json:"task"`
	Fan   int `json:"fan,omitempty"`
	View  int `json:"view,omitempty"`
	Scope int `json:"scope"`
	Write int `json:"write,omitempty"`
}

type grace int

const (
	graceRuns grace = iota + 1
	graceOver
)

// Stop is a breakpoint at which the run has paused. Phase is "before" or "after".
type Stop struct {
	Phase string `json:"phase"`
	Node  string `json:"node"` // path
}

// Stopping is a cancelled attempt that still runs.
type Stopping struct {
	Task TaskID `json:"task"`
	Node string `json:"node"` // path
	// Scope is the number of its scope, At the node's index there.
	Scope int `json:"scope"`
	At    int `json:"at"`
}

// Status is the status of a run. The zero value means not started.
type Status string

// The statuses.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Stuck     Status = "stuck"
	Limit     Status = "limit"
	Paused    Status = "paused"
	Cancelled Status = "cancelled"
)

// Quality is the quality of a run that has ended. Before the end it is null in JSON.
type Quality string

// The qualities.
const (
	Clean         Quality = "clean"
	Degraded      Quality = "degraded"
	FailedQuality Quality = "failed"
)

// MarshalJSON returns the quality, or null if it is not known yet.
func (q Quality) MarshalJSON() ([]byte, error) {
	if q == "" {
		return []byte("null"), nil
	}
	return []byte(`"` + string(q) + `"`), nil
}

// NewState returns a state ready for the RunBegan event.
func (p *Plan) NewState() *State { return &State{plan: p, byID: map[int]*Scope{}} }

// Intercept sets a function that changes the inputs of expressions, for analyses.
func (s *State) Intercept(before func(p *eval.Program, env map[string]any) map[string]any) {
	s.vm.Before = before
}

// HasEnded reports whether the run has ended. A paused run has not ended.
func (s *State) HasEnded() bool { return s.Status != "" && s.Status != Running && s.Status != Paused }

// SetSecrets sets the secrets by plan, before RunBegan or after Restore. They are never stored.
func (s *State) SetSecrets(secrets map[*Plan]map[string]any) { s.secrets = secrets }

// root returns the outermost scope, an empty one before the run begins.
func (s *State) root() *Scope {
	if len(s.Scopes) == 0 {
		return &Scope{state: s, plan: s.plan, limits: s.plan.Graph.Limits, maxBytes: DefaultStateBytes}
	}
	return s.Scopes[0]
}

func (s *State) addCommand(c Command) { s.cmds = append(s.cmds, c) }

func formatTime(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }
