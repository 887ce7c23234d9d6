// Joins of a rehearsed run that have enough branches while a superstep is open
// (GraphSpec §5), as runner/machine has them.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

// race follows the orders in which the tasks of a superstep may end: those that are
// certain to lead to an any or N join may be enough for it, which cancels the others.
type race struct {
	r     *rehearsal
	tasks []standing
	// sure are the any and N joins that a task is certain to lead to, by task.
	sure  [][]int
	joins []int // all of them, each once
	seen  map[string]bool
	over  func(marks []racing)
}

// racing says how far a task of an open superstep is.
type racing byte

const (
	runs racing = iota + 1
	ended
	cancelled
)

// maxOrders bounds how many states of one race are followed.
const maxOrders = 64

// race calls then for each set of tasks that may end in a superstep.
func (r *rehearsal) race(s *scene, tasks []standing, then func(*scene, []standing)) {
	x := &race{r: r, tasks: tasks, sure: make([][]int, len(tasks)), seen: map[string]bool{}}
	marks := make([]racing, len(tasks))
	for i := range tasks {
		x.sure[i] = r.certain(&tasks[i])
		x.joins = append(x.joins, x.sure[i]...)
		if marks[i] = runs; r.endsEntered(&tasks[i]) {
			marks[i] = ended
		}
	}
	if len(x.joins) == 0 {
		then(s.clone(), tasks)
		return
	}
	slices.Sort(x.joins)
	x.joins = slices.Compact(x.joins)
	x.over = func(marks []racing) {
		there := s.clone()
		var list []standing
		for i := range tasks {
			if marks[i] == ended {
				list = append(list, tasks[i])
				continue
			}
			there.steps-- // what is cancelled is no step
			for _, join := range x.joins {
				if places := x.enough(s, marks, join); r.onTheWay(join, places, tasks[i]) {
					there.outran(tasks[i].at, places)
				}
			}
		}
		then(there, list)
	}
	x.follow(s, marks)
}

// follow lets each of the tasks end next that run.
func (x *race) follow(s *scene, marks []racing) {
	x.settle(s, marks)
	key := fmt.Sprint(marks)
	if x.seen[key] || len(x.seen) > maxOrders {
		return
	}
	x.seen[key] = true
	running, room := 0, x.r.f.graph.Limits.MaxConcurrency
	for i, m := range marks {
		if m != runs {
			continue
		}
		if running++; running > room && room > 0 {
			break
		}
		if x.r.stopsOthers(&x.tasks[i]) && x.outlasts(marks) {
			continue
		}
		next := slices.Clone(marks)
		next[i] = ended
		x.follow(s, next)
	}
	if running == 0 {
		x.over(marks)
	}
}

// settle cancels what runs on the way to a join for which enough tasks have ended.
func (x *race) settle(s *scene, marks []racing) {
	for _, join := range x.joins {
		places := x.enough(s, marks, join)
		for i, t := range x.tasks {
			if marks[i] == runs && x.r.onTheWay(join, places, t) {
				marks[i] = cancelled
			}
		}
	}
}

// enough are the places of those that satisfy a join while the superstep is open: they
// wait there, or have ended and are certain to come; nil when they are too few.
func (x *race) enough(s *scene, marks []racing, join int) []spot {
	var places []spot
	for i, sure := range x.sure {
		for _, to := range sure {
			if to == join && marks[i] == ended {
				places = append(places, x.tasks[i].at)
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	for _, t := range s.waiting {
		if t.node == join {
			places = append(places, t.at)
		}
	}
	if len(places) < max(x.r.f.graph.Nodes[join].Join.Count, 1) {
		return nil
	}
	return places
}

// outlasts reports whether a task runs whose end does not stop others.
func (x *race) outlasts(marks []racing) bool {
	for i, m := range marks {
		if m == runs && !x.r.stopsOthers(&x.tasks[i]) {
			return true
		}
	}
	return false
}

// stopsOthers reports whether nothing catches that a task fails: such a failure comes
// last, for it may cancel what runs.
func (r *rehearsal) stopsOthers(t *standing) bool { return t.failed && !r.catches(t.node) }

// endsEntered reports whether a task has ended once all have been entered.
func (r *rehearsal) endsEntered(t *standing) bool {
	kind := r.f.graph.Nodes[t.node].Kind.Value
	return t.refused || r.immediate(t.node) || t.back && (kind == "human" || kind == "wait")
}

// certain are the any and N joins to which a task leads whatever the state is that
// routing will see, each once for each edge.
func (r *rehearsal) certain(t *standing) []int {
	edges := r.f.certainEdges(t.node, r.failedVisit(t), t.refused)
	var out []int
	for _, i := range edges {
		if v := r.f.To[i]; v != r.f.End && r.f.graph.Nodes[v].Join != nil && r.f.graph.Nodes[v].Join.Wait != "all" {
			out = append(out, v)
		}
	}
	return out
}

// certainEdges are the edges that fire after a visit whatever the state is; a visit
// that was refused and has not failed was skipped.
func (f *facts) certainEdges(v int, failed, refused bool) []int {
	var plain, always, failPlain []int
	guarded, failGuarded := false, false
	for _, i := range f.edgesOut()[v] {
		switch e := f.graph.Edges[i]; e.Condition {
		case "on_success":
			plain = append(plain, i)
		case "always":
			plain, always = append(plain, i), append(always, i)
		case "conditional", "llm_decide":
			guarded = true
		default:
			if failGuarded = failGuarded || e.When.IsSet(); !e.When.IsSet() {
				failPlain = append(failPlain, i)
			}
		}
	}
	n := f.graph.Nodes[v]
	switch {
	case failed && failGuarded:
		return nil
	case failed && len(failPlain) > 0:
		return failPlain
	case failed:
		return always
	case refused || !guarded && !chooses(n):
		return plain
	}
	return nil
}

// chooses reports whether a node names its next nodes itself.
func chooses(n *spec.Node) bool { return n.HasEnds || n.Goto.IsSet() }

// arrives notes whether a branch breaks the policy that comes to END.
func (r *rehearsal) arrives(s *scene, from *standing, end int) {
	switch {
	case r.broken || !r.breaksEnd(s, from):
	case s.cut: // the run may end before who was asked has answered
		r.gap("the steps end while branches are at work")
	default:
		r.broken, r.shown = true, &trail{end, s.trail}
	}
}
