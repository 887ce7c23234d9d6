// Tasks: the ends of branches, and executions of nodes.

package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// Task is the end of a branch, at a node. It waits for other branches, is ready, or runs.
type Task struct {
	ID   int `json:"id"`
	Node int `json:"node"` // index, or endNode
	// View is the number of the task's view.
	View int `json:"view"`
	Rank int `json:"rank"`
	*Position
	// From is the step that led here, or zero for the first task.
	From Source `json:"from,omitzero"`
	// Input came along the edge. Inputs and Branches are the results that met at a join.
	Input    any            `json:"input,omitempty"`
	Inputs   map[string]any `json:"inputs,omitempty"`
	Branches map[string]any `json:"branches,omitempty"`
	// Cause is the failure whose edge led here.
	Cause *Failure `json:"cause,omitempty"`
	// Lost is why a branch in Gone failed. Carries is a fan-out whose errors this join gets.
	Lost    *Failure `json:"lost,omitempty"`
	Carries int      `json:"carries,omitempty"`

	// Waits means that the task waits at a join. Otherwise it is ready, or has begun.
	Waits bool `json:"waits,omitempty"`
	Begun bool `json:"begun,omitempty"`
	Done  bool `json:"done,omitempty"`
	Final bool `json:"final,omitempty"` // of finally
	// Skipped and Refused mean that max_visits kept the node from running.
	Skipped bool `json:"skipped,omitempty"`
	Refused bool `json:"refused,omitempty"`
	Late    bool `json:"late,omitempty"`   // step_timeout has passed
	Cached  bool `json:"cached,omitempty"` // Output is from the cache
	// Stopped means that the step was reported as ended when its scope was interrupted.
	Stopped  bool `json:"stopped,omitempty"`
	Deciding bool `json:"deciding,omitempty"` // it waits for a router's answer
	Passed   bool `json:"passed,omitempty"`   // the breakpoint before it has stopped the run
	gone     bool // it is no longer in Scope.Tasks
	// Preset is why a join fails instead of running; Settled are its conflicts.
	Preset  *Failure   `json:"preset,omitempty"`
	Settled []Conflict `json:"settled,omitempty"`
	// Visit counts the visits in the task's past, including this one, Step the executions.
	Visit int `json:"visit,omitempty"`
	Step  int `json:"step,omitempty"`
	// Number is the step's number in the scope, in the order in which steps end, or 0 while it runs.
	Number int   `json:"number,omitempty"`
	At     int64 `json:"at,omitempty"` // when it began, Unix nanoseconds
	// Before is the input with `before` added.
	Before map[string]any `json:"before,omitempty"`
	// Each is the list of elements. Units are the current elements, or the only unit.
	Each  *Each   `json:"each,omitempty"`
	Units []*Unit `json:"units,omitempty"`
	// Output, Failure and Writes are the result of the execution.
	Output  any      `json:"output,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Writes  []Write  `json:"writes,omitempty"`
	// Choice is a router's answer.
	Choice *Chosen `json:"choice,omitempty"`
	// Notes are the notes of the decision.
	Notes []any      `json:"notes,omitempty"`
	Calls callCounts `json:"calls,omitzero"`
	// Thread is the conversation after the execution.
	Thread *thread `json:"thread,omitempty"`

	scope      *Scope
	cachedView *View // the view with the number View
	blocks     bool  // a group of sc.blocked waits for it
}

// Source is the step that led to a task.
type Source struct {
	Node   int   `json:"node"`
	Rank   int   `json:"rank"`
	Order  []int `json:"order,omitempty"`
	Output any   `json:"output,omitempty"`
	Failed bool  `json:"failed,omitempty"`
	Task   int   `json:"task"`
}

// Chosen is the decision of a router.
type Chosen struct {
	Edge      int      `json:"edge"` // -1: none
	Failure   *Failure `json:"failure,omitempty"`
	Reasoning string   `json:"reasoning,omitempty"`
}

// node returns the task's node. The task must not be at END.
func (t *Task) node() *node { return &t.scope.plan.nodes[t.Node] }

// addTask gives a task a number and adds it to its scope.
func (sc *Scope) addTask(t *Task) *Task {
	sc.state.Numbers.Task++
	t.ID, t.scope = sc.state.Numbers.Task, sc
	sc.Tasks = append(sc.Tasks, t)
	return t
}

func (sc *Scope) dropTasks(tasks ...*Task) {
	for _, t := range tasks {
		t.gone = true
		sc.due = sc.due || t.blocks || t.Waits
	}
	sc.Tasks = slices.DeleteFunc(sc.Tasks, func(t *Task) bool { return t.gone })
}

// allTasks returns the tasks of a scope that may run again, or be merged.
func (sc *Scope) allTasks() []*Task { return slices.Concat(sc.Tasks, sc.Ended, sc.Gone) }

// findTask returns a task of an open scope by its number, or nil.
func (s *State) findTask(id int) *Task {
	for i := len(s.Scopes) - 1; i >= 0; i-- {
		if t := s.Scopes[i].findTask(id); t != nil {
			return t
		}
	}
	return nil
}

func (sc *Scope) findTask(id int) *Task {
	if sc.Final != nil && sc.Final.ID == id {
		return sc.Final
	}
	for _, t := range sc.Tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// findKeptTask returns a task of the scope or of an interrupted inner scope, or nil.
func (sc *Scope) findKeptTask(id int) *Task {
	if t := sc.findTask(id); t != nil {
		return t
	}
	for _, t := range sc.Tasks {
		for _, u := range t.Units {
			for _, c := range u.Called {
				if c.Kept == nil {
					continue
				}
				if found := c.Kept.findKeptTask(id); found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// comparePositions compares in path order: by rank, then by declaration of the branches.
func comparePositions(rankA int, orderA []int, rankB int, orderB []int) int {
	if c := cmp.Compare(rankA, rankB); c != 0 {
		return c
	}
	return slices.Compare(orderA, orderB)
}

// compareTo compares tasks in path order across scopes, by the outermost steps that differ.
func (t *Task) compareTo(other *Task) int {
	if t.scope == other.scope {
		return comparePositions(t.Rank, t.Order, other.Rank, other.Order)
	}
	a, b := t.listAncestors(), other.listAncestors()
	for i := range min(len(a), len(b)) {
		if a[i].task != b[i].task {
			return comparePositions(a[i].task.Rank, a[i].task.Order, b[i].task.Rank, b[i].task.Order)
		}
		if a[i].element != b[i].element && a[i].element > 0 && b[i].element > 0 {
			return a[i].element - b[i].element
		}
	}
	return len(a) - len(b)
}

type ancestor struct {
	task    *Task
	element int
}

// listAncestors lists the tasks around a task, outermost first, and the task itself.
func (t *Task) listAncestors() []ancestor {
	out := []ancestor{{t, 0}}
	for sc := t.scope; sc.Outer != 0; {
		out = append(out, ancestor{sc.owner, sc.Owner.Element})
		sc = sc.owner.scope
	}
	slices.Reverse(out)
	return out
}

// place returns the position of a task, for code outside of the machine.
func (t *Task) place() Place {
	return Place{
		Scope: t.scope.Path, Node: t.scope.plan.targetName(t.Node), Visit: t.Visit, Branch: t.branchName(),
		Rank: t.Rank, Order: t.Order,
	}
}

// branchName returns the first node of the innermost branch that was not joined.
func (t *Task) branchName() string {
	for i := len(t.Place) - 1; i >= 0; i-- {
		if lane := t.Place[i]; !slices.Contains(t.Joined, lane.Fan) {
			return t.scope.plan.targetName(t.scope.findFan(lane.Fan).Branch[lane.Lane].First)
		}
	}
	return ""
}

// isOnBranch reports whether a task is on or within a branch that has not joined.
func (t *Task) isOnBranch(fan, lane int) bool {
	return !slices.Contains(t.Joined, fan) && slices.Contains(t.Place, Lane{fan, lane})
}

// innermostSharedFan returns the innermost fan-out in which two places are on different branches, or 0.
func innermostSharedFan(a, b []Lane) int {
	for i := range min(len(a), len(b)) {
		if a[i].Fan != b[i].Fan {
			return 0
		}
		if a[i].Lane != b[i].Lane {
			return a[i].Fan
		}
	}
	return 0
}

// findLane returns the branch of a fan-out that a place is on, or -1.
func findLane(place []Lane, fan int) int {
	for _, lane := range place {
		if lane.Fan == fan {
			return lane.Lane
		}
	}
	return -1
}

// idempotencyKey identifies an execution or an element. It is the same for all attempts and replays.
func (t *Task) idempotencyKey(element int) string {
	text := t.scope.Key + "\x00" + t.node().id + "\x00" + strconv.Itoa(t.Visit) + "\x00" + strconv.Itoa(element)
	if len(t.Order) > 0 {
		text += "\x00" + strconv.Itoa(t.Rank)
		for _, lane := range t.Order {
			text += "." + strconv.Itoa(lane)
		}
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (p *Plan) targetName(to int) string {
	if to < 0 {
		return "END"
	}
	return p.nodes[to].id
}
