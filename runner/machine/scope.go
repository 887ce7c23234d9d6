// Scopes: the run of one graph, outermost or nested.

package machine

import (
	"cmp"
	"iter"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// Scope is the run of one graph within the run.
type Scope struct {
	ID int `json:"id"`
	// Owner is the attempt of the graph node, or of the task that made the tool call number Call.
	Owner TaskID `json:"owner,omitzero"`
	Call  int    `json:"call,omitempty"`
	Graph string `json:"graph,omitempty"` // the name in `graph:`
	Outer int    `json:"outer,omitempty"` // the scope that the owner is in
	Path  string `json:"path,omitempty"`  // "outer[2]/inner"
	// Key is the idempotency key of the owner, the run's id for the outermost graph.
	Key   string         `json:"key"`
	Input map[string]any `json:"input,omitempty"`
	// Extra are values of keys that the graph does not declare.
	Extra map[string]any `json:"extra,omitempty"`

	// Tasks are the current tasks: they wait at a join, are ready, or run.
	Tasks []*Task `json:"tasks,omitempty"`
	// Ended are tasks that reached END or a dropped join, Gone those of failed or cancelled branches.
	Ended []*Task `json:"ended,omitempty"`
	Gone  []*Task `json:"gone,omitempty"`
	// Detours are the failure edges that branches took.
	Detours []*Detour `json:"bends,omitempty"`
	Fans    []*Fan    `json:"fans,omitempty"`
	Views   []*View   `json:"views"`
	// Steps are the finished steps in the order in which they ended.
	Steps stepList `json:"steps,omitzero"`
	// Partial holds the partial output of cancelled nodes, Reasons why nodes ended as they did.
	Partial map[int]any    `json:"partial,omitempty"`
	Reasons map[int]string `json:"reasons,omitempty"`
	// LastEnd is the last step in path order that reached END, LastStep the last of all steps.
	LastEnd  Source `json:"last_end,omitzero"`
	LastStep Source `json:"last_step,omitzero"`
	// Given counts the messages from before the scope. Continues means that the scope continues them.
	Given     int  `json:"given,omitempty"`
	Continues bool `json:"continues,omitempty"`
	// Fired counts the edges that fired, by index.
	Fired map[int]int `json:"fired"`

	// Executions counts started steps, also in inner scopes, Refused the visits over max_visits.
	Executions int `json:"executions,omitempty"`
	Refused    int `json:"refused,omitempty"`
	// MaxRank is the highest rank of a step that has ended.
	MaxRank int `json:"max_rank,omitempty"`
	// Count counts the ended steps, including those that end a branch or the scope.
	Count int `json:"count,omitempty"`
	// Spent is the usage of model calls, also in inner scopes.
	Spent Usage `json:"spent,omitzero"`
	// Since is the run's active time at the start of the scope's timeout.
	Since int64 `json:"since,omitempty"`
	// Full means that max_steps prevents a step from starting.
	Full     bool `json:"full,omitempty"`
	Degraded bool `json:"degraded,omitempty"`

	// End is the end of the scope, once that is decided. After that only finally runs.
	End *End `json:"end,omitempty"`
	// Culprit is the number of the task that ended the scope. It runs again on resume.
	Culprit int `json:"culprit,omitempty"`
	// Final is the running finally node, FinalNext the index of the next one.
	Final     *Task        `json:"final,omitempty"`
	FinalNext int          `json:"final_next,omitempty"`
	Finals    []FinallyEnd `json:"finals,omitempty"`
	// FinalVisits counts the visits of the nodes of finally.
	FinalVisits map[int]int `json:"final_visits,omitempty"`
	// FinalView is the view of the nodes of finally.
	FinalView int `json:"final_view,omitempty"`

	state *State
	plan  *Plan
	outer *Scope
	owner *Task
	// suspended means that the scope was interrupted with an outer one.
	suspended bool
	limits    spec.Limits
	maxBytes  int // the smallest max_state_bytes of this scope and outer ones
	// running counts the attempts, also in inner scopes, that count for max_concurrency.
	running int
	// due means that a join may have become ready since the last scan. Scanning only then keeps a
	// fan-out of n branches from n² scans.
	due     bool
	blocked []*Task // one waiting task of each group that the last scan found blocked
	swept   int     // the number of views after the last sweep
}

// End is the end of a scope.
type End struct {
	Status  Status   `json:"status"`
	Reason  string   `json:"reason,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Output  any      `json:"output,omitempty"`
	Limited bool     `json:"limited,omitempty"`
}

// Detour is a failure edge that a branch took: the failed step and its position.
type Detour struct {
	*Position
	Task int `json:"task"`
	Node int `json:"node"`
	Rank int `json:"rank"`
	// Reached are joins with `on_bypass: fail` that the branch reached after all.
	Reached []int `json:"reached,omitempty"`
}

// Position locates a task among the branches of a scope. It is shared and immutable.
type Position struct {
	// Order are the indexes of the branches in their declarations, for path order.
	Order []int `json:"order"`
	// Place lists the branches, outermost first, Joined the fan-outs of Place that have merged.
	// Lanes are all branches that led here and could still meet others.
	Place  []Lane `json:"place,omitempty"`
	Joined []int  `json:"joined,omitempty"`
	Lanes  []Lane `json:"lanes,omitempty"`
	// Over holds the finished fan-outs around the task.
	Over []Over `json:"over,omitempty"`
}

// Lane is a branch of a fan-out.
type Lane struct {
	Fan  int `json:"f"`
	Lane int `json:"l"`
}

// Fan is a fan-out: several edges of one node that fired together.
type Fan struct {
	*Position          // of the source
	ID        int      `json:"id"`
	Source    int      `json:"source"` // node
	Rank      int      `json:"rank"`   // of the source
	View      int      `json:"view"`   // at the split
	Branch    []Branch `json:"branch"`
	// Implicit is the node that joins the branches implicitly, or noNode.
	Implicit int `json:"implicit"`
	// Decided are the joins that have run or failed for the fan-out, if any join has `on_bypass: fail`.
	Decided []int `json:"decided,omitempty"`
	// Began is the run's active time at the split.
	Began int64 `json:"began,omitempty"`
}

// Over is a finished fan-out. A branch that returns to its source also leaves inner fan-outs.
type Over struct {
	At     int `json:"at"`     // the number of enclosing lanes in the task's Place
	Source int `json:"source"` // node
}

// Branch is the state of one branch of a fan-out.
type Branch struct {
	First  int      `json:"first"` // node, or endNode
	Failed *Failure `json:"failed,omitempty"`
	By     int      `json:"by,omitempty"` // the task that failed
}

// noNode is the index of a missing node.
const noNode = -2

// openScope creates the scope of a graph, without its first task.
func (s *State) openScope(p *Plan, owner TaskID, outer *Scope, path, key string) *Scope {
	s.Numbers.Scope++
	sc := &Scope{ID: s.Numbers.Scope, Owner: owner, Path: path, Key: key, Since: s.Active, Fired: map[int]int{}, state: s, plan: p}
	if outer != nil {
		sc.Outer, sc.outer, sc.owner = outer.ID, outer, outer.findTask(owner.Task)
	}
	s.byID[sc.ID] = sc
	sc.setLimits()
	s.Scopes = append(s.Scopes, sc)
	return sc
}

// setLimits sets the graph's limits. The caller's limits override those of the outermost graph.
func (sc *Scope) setLimits() {
	sc.limits = sc.plan.Graph.Limits
	if sc.Outer == 0 {
		l, run := &sc.limits, &sc.state.Run
		l.MaxSteps = cmp.Or(run.MaxSteps, l.MaxSteps)
		l.MaxConcurrency = cmp.Or(run.MaxConcurrency, l.MaxConcurrency)
		l.MaxStateBytes = cmp.Or(run.MaxStateBytes, l.MaxStateBytes)
		l.Timeout = cmp.Or(run.Timeout, l.Timeout)
	}
	sc.maxBytes, _ = sc.sizeLimit()
}

// scopesInCallOrder returns the open scopes by age, but those of one attempt's tool calls by the number
// of the call, because parallel calls open in any order.
func (s *State) scopesInCallOrder() []*Scope {
	out := slices.Clone(s.Scopes)
	if !slices.ContainsFunc(out, func(sc *Scope) bool { return sc.Call > 0 }) {
		return out
	}
	first, keys := map[TaskID]int{}, map[int][]int{}
	for _, sc := range out {
		first[sc.Owner] = cmp.Or(first[sc.Owner], sc.ID)
		keys[sc.ID] = append(slices.Clone(keys[sc.Outer]), first[sc.Owner], sc.Call)
	}
	slices.SortStableFunc(out, func(a, b *Scope) int { return slices.Compare(keys[a.ID], keys[b.ID]) })
	return out
}

// visitEnclosing calls do for the scope and the enclosing ones, innermost first.
func (sc *Scope) visitEnclosing(do func(*Scope)) {
	for ; sc != nil; sc = sc.outer {
		do(sc)
	}
}

// isWithin reports whether the scope is other or lies within it.
func (sc *Scope) isWithin(other *Scope) bool {
	for ; sc != nil; sc = sc.outer {
		if sc == other {
			return true
		}
	}
	return false
}

func (sc *Scope) findFan(id int) *Fan {
	if i, ok := slices.BinarySearchFunc(sc.Fans, id, func(f *Fan, id int) int { return f.ID - id }); ok {
		return sc.Fans[i]
	}
	return nil
}

func (sc *Scope) findView(id int) *View {
	if i, ok := slices.BinarySearchFunc(sc.Views, id, func(v *View, id int) int { return v.ID - id }); ok {
		return sc.Views[i]
	}
	return nil
}

// removeScope removes a scope from the open scopes.
func (s *State) removeScope(sc *Scope) {
	s.Scopes = slices.DeleteFunc(s.Scopes, func(other *Scope) bool { return other == sc })
}

// Scope returns the open scope with a path, or nil. The outermost scope has the path "".
func (s *State) Scope(path string) *Scope {
	return findFirst(s.Scopes, func(sc *Scope) bool { return sc.Path == path })
}

// Plan returns the plan of the scope's graph.
func (sc *Scope) Plan() *Plan { return sc.plan }

// PathStep is a finished step.
type PathStep struct {
	Node  int   `json:"n"`
	Rank  int   `json:"r"`
	Order []int `json:"o,omitempty"`
}

// stepList is a compact list of steps. A step is stored as its node, its rank minus the previous rank,
// the length of its order, and its order.
type stepList struct {
	Flat []int `json:"flat"`
	Rank int   `json:"rank"` // of the last step
}

func (l *stepList) addStep(node, rank int, order []int) {
	l.Flat = append(append(l.Flat, node, rank-l.Rank, len(order)), order...)
	l.Rank = rank
}

// visitSteps yields the steps in the order in which they were added.
func (l *stepList) visitSteps() iter.Seq[PathStep] {
	return func(yield func(PathStep) bool) {
		rank := 0
		for rest := l.Flat; len(rest) > 0; {
			end := 3 + rest[2]
			rank += rest[1]
			if !yield(PathStep{rest[0], rank, rest[3:end:end]}) {
				return
			}
			rest = rest[end:]
		}
	}
}
