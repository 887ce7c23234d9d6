// unbounded-cycle: a cycle is bounded by a limit of visits, a person who answers, time that passes
// under a limit, or a condition over a value that all its nodes move in one direction.

package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

func checkUnboundedCycle(f *facts) {
	for _, c := range f.findFreeCycles() {
		if c.isEndless {
			f.report(f.graph.Nodes[c.path[0]].ID.Span, "nothing is sure to end the cycle %s before max_steps (%d); give it a guard that counts, such as visits.%s < 5",
				f.pathText(c.path), f.graph.Limits.MaxSteps, f.Name(c.path[0]))
		}
	}
}

// freeCycle is a cycle that nothing bounds.
type freeCycle struct {
	path      []int // begins and ends with its first node in the order of the file
	isEndless bool  // a run was found that repeats it
}

// findFreeCycles returns one unbounded cycle of each reachable component, in the order of the file.
func (f *facts) findFreeCycles() []freeCycle {
	free := f.NewDigraph(f.findOpenCycles(-1, true).arcs)
	of, size := free.SCC()
	seen := make([]bool, size)
	var out []freeCycle
	for v := range f.graph.Nodes {
		if !f.flow().Reached[v] || seen[of[v]] {
			continue
		}
		seen[of[v]] = true
		if path := findCycleThrough(free, v); path != nil {
			out = append(out, freeCycle{path, f.canRepeat(path)})
		}
	}
	return out
}

const (
	rounds         = 8 // of a run through a cycle, after which the cycle counts as unbounded
	limitlessSteps = 10_000
)

// canRepeat reports whether it finds a run that goes round a cycle more than rounds times.
func (f *facts) canRepeat(cycle []int) bool {
	if i := slices.IndexFunc(cycle, func(v int) bool { return f.graph.Nodes[v].VisitLimit(f.graph) == 0 }); i > 0 {
		cycle = slices.Concat(cycle[i:len(cycle)-1], cycle[:i+1]) // refused visits don't count
	}
	v := cycle[0]
	return f.limitless().explore(explore.Question{
		Guide:  slices.Concat(f.findPathTo(v), slices.Repeat(cycle[1:], rounds)),
		Visits: map[int]int{v: rounds + 1}, Budget: &f.ruleEvents, Most: maxRuleEvents / 2, Hopeless: f.hopelessAfter(v),
		Found: func(r *explore.Run) bool { return r.Visits(v) > rounds }, Repeat: true,
	}).Found
}

// cycles holds the arcs of cycles that nothing bounds.
type cycles struct {
	f       *facts
	ignored int  // the node whose visits no limit counts, or -1
	trust   bool // assume that counters of programs end
	arcs    []arc
	of      []int            // component of each vertex among the arcs
	out     map[int][]arc    // arcs inside of components, by their beginnings
	why     map[int][]string // by node: what bounds its arcs, in words
	// progress caches combineChanges while of stays the same.
	progress map[loopKey]*progress
}

// findOpenCycles returns the cycles that nothing bounds. It ignores max_visits of one node,
// unless that is -1, and may trust that counters of programs end. It removes bounded arcs
// until no other is found, because an inner cycle may reset what ends it.
func (f *facts) findOpenCycles(ignored int, trust bool) *cycles {
	r := &cycles{f: f, ignored: ignored, trust: trust, arcs: f.arcs(), why: map[int][]string{}}
	for before := -1; before != len(r.arcs); {
		before = len(r.arcs)
		r.of, _ = f.NewDigraph(r.arcs).SCC()
		r.out, r.progress = map[int][]arc{}, map[loopKey]*progress{}
		for _, a := range r.arcs {
			if r.of[a.From] == r.of[a.To] {
				r.out[a.From] = append(r.out[a.From], a)
			}
		}
		var open []arc
		for _, a := range r.arcs {
			why, bounded := r.explainBound(a)
			if why != "" {
				r.why[a.From] = append(r.why[a.From], why)
			}
			if !bounded {
				open = append(open, a)
			}
		}
		r.arcs = open
	}
	return r
}

// explainBound reports whether a run can follow an arc only finitely often, and why in words.
func (r *cycles) explainBound(a arc) (why string, bounded bool) {
	n, f := r.f.graph.Nodes[a.From], r.f
	switch {
	case r.of[a.From] != r.of[a.To]:
		return "", true
	case r.visitLimit(a.From) > 0 && r.isCounted(a):
		if n.MaxVisits > 0 {
			why = fmt.Sprintf("max_visits %d of %s", n.MaxVisits, n.ID.Value)
		}
		return why, true
	case n.Kind.Value == "human" && (n.Timeout == 0 || n.Field("default") == nil || f.defaultLeavesCycle(n)):
		return "the person asked at " + n.ID.Value, true
	case n.Kind.Value == "wait" && f.graph.Limits.Timeout > 0:
		return "limits.timeout, by the time that passes at " + n.ID.Value, true
	case r.groupKind(a) == controlflow.ByGoto && n.Goto.IsSet() && r.readsCounter(f.bound.Nodes[a.From].Goto, a):
		return "goto of " + n.ID.Value + ": " + strings.TrimSpace(n.Goto.Value), true
	}
	for _, o := range f.listOutcomes(a) {
		if r.holdsFinitelyOften(o.program.Tree, o.holds, a, r.readsCounter(o.program, a)) {
			return strings.TrimSpace(o.program.Source), true
		}
	}
	return "", false
}

// visitLimit returns the limit of a node's visits, or 0 for none.
func (r *cycles) visitLimit(v int) int {
	if v == r.ignored {
		return 0
	}
	return r.f.graph.Nodes[v].VisitLimit(r.f.graph)
}

// groupKind returns the kind of the group of an arc.
func (r *cycles) groupKind(a arc) controlflow.Kind { return r.f.flow().GroupOf(a).Kind }

// isCounted reports whether limits count the visit before an arc: it is not refused or skipped.
func (r *cycles) isCounted(a arc) bool {
	return r.visitLimit(a.From) == 0 || r.groupKind(a) != kindAfterLimit(r.f.graph.Nodes[a.From])
}

// kindAfterLimit returns the kind of the groups that fire when the visits of a node are used up.
func kindAfterLimit(n *spec.Node) controlflow.Kind {
	if n.OnMaxVisits == "skip" {
		return controlflow.ByDefault
	}
	return controlflow.OnFailure
}

// outcome is a condition with its outcome.
type outcome struct {
	program *eval.Program
	holds   bool
}

// listOutcomes returns the outcomes of conditions that taking an arc implies.
func (f *facts) listOutcomes(a arc) (out []outcome) {
	groups, n := f.flow().Groups[a.From], f.graph.Nodes[a.From]
	g := &groups[a.Group]
	isSkip := g.Kind == controlflow.ByDefault && kindAfterLimit(n) == g.Kind && n.VisitLimit(f.graph) > 0
	if g.Kind == controlflow.ByGoto || isSkip {
		return nil
	}
	tried := controlflow.ByGuard
	if g.Kind == controlflow.OnFailure {
		tried = g.Kind
	}
	for i := range groups[:a.Group+1] {
		if groups[i].Kind != tried || i < a.Group && groups[i].Subset && g.Subset {
			continue
		}
		var own []outcome
		for _, e := range groups[i].Edges {
			if when := f.bound.Edges[e].When; when != nil && (i < a.Group || f.To[e] == a.To || !g.Subset) {
				own = append(own, outcome{when, i == a.Group})
			}
		}
		if i == a.Group && len(own) > 1 && g.Subset {
			own = nil // either of them may have led there
		}
		out = append(out, own...)
	}
	return out
}

// holdsFinitelyOften reports whether a condition has an outcome at an arc only finitely often. If
// trusted, it reads a counter of programs, and parts that can't be analysed are assumed to change.
func (r *cycles) holdsFinitelyOften(t *eval.Tree, holds bool, a arc, trusted bool) bool {
	switch {
	case t.Op == eval.TreeUnary && t.Name == "not":
		return r.holdsFinitelyOften(t.Args[0], !holds, a, trusted)
	case t.Op == eval.TreeBinary && (t.Name == "and" || t.Name == "or"):
		left, right := r.holdsFinitelyOften(t.Args[0], holds, a, trusted), r.holdsFinitelyOften(t.Args[1], holds, a, trusted)
		if (t.Name == "and") == holds {
			return left || right
		}
		return left && right
	}
	counted := false
	t.Each(func(part *eval.Tree) {
		counted = counted || trusted && part.Op == eval.TreeOther || part.Op == eval.TreePath && r.mayCount(part.Path[0], a)
	})
	if counted || t.Op != eval.TreeBinary || len(t.Args) != 2 {
		return counted
	}
	for i, op := range []string{t.Name, mirrored[t.Name]} {
		if !holds {
			op = opposite[op]
		}
		if opposite[op] == "" || !r.isFixed(t.Args[1-i], a) {
			continue
		}
		p := r.findProgress(t.Args[i], a)
		if p != nil && (op == "==" || op[0] == '<' && p.up || op[0] == '>' && !p.up || op == "!=" && r.trust) && p.passesLimit(op, t.Args[1-i]) && !r.hasCycleWithout(p, a) {
			return true
		}
	}
	return false
}

// mirrored maps comparisons to those with their sides swapped, opposite to their negation.
var (
	mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
	opposite = map[string]string{"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}
)

// hasCycleWithout reports whether an arc lies on a cycle that makes no progress.
func (r *cycles) hasCycleWithout(p *progress, a arc) bool {
	next := func(v int) (out []int) {
		for _, b := range r.out[v] {
			if !p.made(b) {
				out = append(out, b.To)
			}
		}
		return out
	}
	return !p.made(a) && graphalg.Path(next, a.To, a.From) != nil
}

// isFixed reports whether a value stays the same on the cycles of an arc.
func (r *cycles) isFixed(t *eval.Tree, a arc) bool {
	fixed := true
	t.Each(func(p *eval.Tree) {
		switch p.Op {
		case eval.TreeOther:
			fixed = false
		case eval.TreePath:
			mayRun := func(n *spec.Node) bool { return r.mayRunDuring(n, a) }
			fixed = fixed && r.f.graph.Key(p.Path[0]) != nil && !slices.ContainsFunc(r.f.writersOf()[p.Path[0]], mayRun)
		}
	})
	return fixed
}

// mayRunDuring reports whether a node may run on the cycles of an arc, or in parallel.
func (r *cycles) mayRunDuring(n *spec.Node, a arc) bool {
	return r.of[n.Index] == r.of[a.From] || r.f.inParallel(n.Index, a.From)
}

// loopKey is a number in the state, or the length of a list, that nodes of a loop change.
type loopKey struct {
	loop, key int
	length    bool
}

// readsCounter reports whether a program reads a state key that programs may count with.
func (r *cycles) readsCounter(p *eval.Program, a arc) bool {
	return p != nil && slices.ContainsFunc(p.Reads, func(read eval.Read) bool { return r.mayCount(read.Path[0], a) })
}

// mayCount reports whether a program may count with a state key on the cycles of an arc.
func (r *cycles) mayCount(name string, a arc) bool {
	f := r.f
	key, declared := f.keyOf[name]
	if !r.trust || !declared {
		return false
	}
	at := loopKey{loop: f.flow().SCC[a.From], key: key}
	counts, known := f.counters[at]
	if !known {
		counts = slices.ContainsFunc(f.writersOf()[name], func(n *spec.Node) bool {
			return f.sharesCycle(a.From, n.Index) && f.mayCountIn(n, key)
		})
		f.counters[at] = counts
	}
	return counts
}

// defaultLeavesCycle reports whether no edge on a cycle fires after the answer for an absent person.
func (f *facts) defaultLeavesCycle(n *spec.Node) bool {
	answer := n.Field("default").Data()
	env := map[string]any{"output": answer}
	if len(n.Writes.Keys) == 1 {
		env[n.Writes.Keys[0].Value] = answer
	}
	isUnknown := func(r eval.Read) bool { _, known := env[r.Path[0]]; return !known }
	mayHold := func(when *eval.Tree) bool { // after the answer
		claims := []solve.Claim{{Tree: when, Holds: true}}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			is := []*eval.Tree{{Op: eval.TreePath, Path: []string{name}}, {Op: eval.TreeConst, Value: answer}}
			claims = append(claims, solve.Claim{Tree: &eval.Tree{Op: eval.TreeBinary, Name: "==", Args: is}, Holds: true})
		}
		return f.canAllHold(n, claims)
	}
	return !slices.ContainsFunc(f.Out[n.Index], func(i int) bool {
		when := f.bound.Edges[i].When
		switch {
		case !f.sharesCycle(n.Index, f.To[i]) || f.graph.Edges[i].Condition == "on_failure":
			return false
		case when == nil:
			return true
		case slices.ContainsFunc(when.Reads, isUnknown):
			return mayHold(when.Tree)
		}
		stays, err := new(eval.VM).Test(when, env)
		return err != nil || stays
	})
}

// sharesCycle reports whether t is on a cycle through v.
func (f *facts) sharesCycle(v, t int) bool {
	w := f.flow()
	return t < len(f.graph.Nodes) && w.SCC[t] == w.SCC[v]
}

// progress describes a number that moves in one direction on the cycles of an arc.
type progress struct {
	up   bool
	stop float64          // the last value; infinite without one
	made func(a arc) bool // whether it has changed on this arc
}

// passesLimit reports whether the number moves until its comparison with a limit changes.
func (p *progress) passesLimit(op string, limit *eval.Tree) bool {
	if math.IsInf(p.stop, 0) {
		return true
	}
	last, known := readNumber(limit)
	beyond := cmp.Compare(p.stop, last)
	if !p.up {
		beyond = -beyond
	}
	return known && (beyond > 0 || beyond == 0 && op != "<=" && op != ">=" && op != "==")
}

// findProgress returns the progress of one side of a comparison, or nil.
func (r *cycles) findProgress(t *eval.Tree, a arc) *progress {
	length := t.Op == eval.TreeCall && t.Name == "len" && len(t.Args) == 1
	if length {
		t = t.Args[0]
	}
	switch path := t.Path; {
	case length && len(path) == 2 && path[0] == "history", !length && len(path) == 2 && path[0] == "visits":
		return r.findVisitProgress(path[1], length, a)
	case !length && len(path) == 3 && path[0] == "nodes" && path[2] == "visits":
		return r.findVisitProgress(path[1], false, a)
	case !length && len(path) == 1 && path[0] == "step":
		return &progress{true, math.Inf(1), func(a arc) bool { return r.isCounted(a) || r.f.graph.Nodes[a.From].OnMaxVisits == "skip" }}
	case len(path) == 1 && r.f.graph.Key(path[0]) != nil:
		at := loopKey{r.of[a.From], r.f.keyOf[path[0]], length}
		if r.f.pairs().Unknown() {
			at.loop = -1
		} else if r.f.flow().FansOut {
			at.loop = a.From
		}
		p, known := r.progress[at]
		if !known {
			p = r.combineChanges(at.key, length, a)
			r.progress[at] = p
		}
		return p
	}
	return nil
}

// findVisitProgress returns the progress of the visits of a node, or of its successful visits.
func (r *cycles) findVisitProgress(name string, succeeded bool, a arc) *progress {
	n := r.f.graph.Node(name)
	if n == nil || r.of[n.Index] != r.of[a.From] {
		return nil
	}
	p := &progress{up: true, stop: math.Inf(1)}
	if most := r.visitLimit(n.Index); most > 0 {
		p.stop = float64(most)
	}
	p.made = func(a arc) bool { return a.From == n.Index && (!succeeded || r.groupKind(a) != controlflow.OnFailure) }
	return p
}

// combineChanges returns the progress that the writers of a key make together while a run repeats the
// cycles of an arc, or nil.
func (r *cycles) combineChanges(key int, length bool, a arc) *progress {
	by := map[int]bool{} // the nodes that surely change it
	var direction int
	var stops []float64
	for _, n := range r.f.writersOf()[r.f.graph.State[key].Name.Value] {
		if !r.mayRunDuring(n, a) || !r.f.flow().Reached[n.Index] {
			continue
		}
		c, known := r.f.findChange(n.Index, key, length)
		if !known || direction*c.direction < 0 || r.f.graph.State[key].Once {
			return nil
		}
		if c.direction == 0 {
			continue
		} else if !c.maybe {
			by[n.Index] = true
		}
		direction, stops = c.direction, append(stops, c.stop)
	}
	if len(by) == 0 || slices.Min(stops) != slices.Max(stops) {
		return nil
	}
	return &progress{direction > 0, stops[0], func(a arc) bool {
		return by[a.From] && r.isCounted(a) && r.groupKind(a) != controlflow.OnFailure
	}}
}

// change describes how a success of a node changes a number, or the length of a list.
type change struct {
	direction int     // 1 up, -1 down
	stop      float64 // the last value; infinite without one
	maybe     bool    // a success may leave it unchanged
}

// newEndlessChange returns a change up or down that never stops.
func newEndlessChange(direction int) change {
	return change{direction: direction, stop: math.Inf(direction)}
}

// findChange returns how a node changes a state key, if that is known.
func (f *facts) findChange(v, key int, length bool) (c change, known bool) {
	state, n := f.graph.State[key], f.graph.Nodes[v]
	name, reducer := state.Name.Value, state.Reducer.Value
	writes := 0
	for _, w := range f.access()[v].Writes {
		if w.Key == key {
			writes++
		}
	}
	value := dataflow.FindWrite(&f.bound.Nodes[v], name)
	t := value.Tree()
	switch {
	case n.Each.IsSet() || writes > 1:
	case (reducer == "append" || reducer == "prepend") && length:
		parse := text(n, "parse").Value
		isText := value == nil && (n.Kind.Value == "exec" && parse == "text" || n.Kind.Value == "llm" && n.Output == nil && n.Field("tools") == nil)
		c := newEndlessChange(1)
		c.maybe = !isText && !isFilled(t) && (t == nil || t.Op != eval.TreeConst || t.Value == nil)
		return c, true
	case t == nil:
	case reducer == "sum" && !length:
		by, known := readNumber(t)
		return newEndlessChange(cmp.Compare(by, 0)), known
	case dataflow.Replaces(state) && length:
		return parseResize(name, value.Program, t)
	case dataflow.Replaces(state):
		return parseStep(name, t)
	}
	return change{}, false
}

// readNumber returns the value of a number, perhaps with a minus.
func readNumber(t *eval.Tree) (float64, bool) {
	if t.Op == eval.TreeUnary && t.Name == "-" {
		n, ok := readNumber(t.Args[0])
		return -n, ok
	}
	return eval.Number(t.Value)
}

// isFilled reports whether an expression is a list with elements.
func isFilled(t *eval.Tree) bool { return t != nil && t.Op == eval.TreeList && len(t.Args) > 0 }

// parseStep returns how an assignment such as n = n + 1 changes its key.
func parseStep(name string, t *eval.Tree) (c change, known bool) {
	if isKey(name, t) {
		return change{}, true
	}
	if len(t.Args) != 2 || t.Op != eval.TreeBinary && t.Op != eval.TreeCall {
		return change{}, false
	}
	for i, own := range []*eval.Tree{t.Args[1], t.Args[0]} {
		by, isNumber := readNumber(t.Args[i])
		switch {
		case !isNumber:
		case t.Name == "+" && isKey(name, own):
			return newEndlessChange(cmp.Compare(by, 0)), true
		case t.Name == "-" && i == 1 && isKey(name, own):
			return newEndlessChange(cmp.Compare(0, by)), true
		case t.Name == "min" || t.Name == "max":
			if c, known := parseStep(name, own); known && (c.direction > 0) == (t.Name == "min") {
				c.stop = by
				return c, true
			}
		}
	}
	return change{}, false
}

// isKey reports whether an expression only reads a state key.
func isKey(name string, t *eval.Tree) bool {
	return t.Op == eval.TreePath && len(t.Path) == 1 && t.Path[0] == name
}

// shorter matches a list without its first or last elements.
var shorter = lazyregexp.New(`^\s*(?:state\.)?(\w+)\s*\[\s*(?:[1-9]\d*\s*:\s*|:\s*-[1-9]\d*\s*|:\s*len\((?:state\.)?(\w+)\)\s*-\s*[1-9]\d*\s*)\]\s*$`)

// parseResize returns how an assignment changes the length of a list.
func parseResize(name string, p *eval.Program, t *eval.Tree) (c change, known bool) {
	isOwn := func(part *eval.Tree) bool { return isKey(name, part) }
	if p == nil || isOwn(t) {
		return change{}, p != nil
	} else if m := shorter.Get().FindStringSubmatch(p.Source); m != nil && m[1] == name && (m[2] == "" || m[2] == name) {
		return change{direction: -1, stop: 0}, true
	}
	c = newEndlessChange(1)
	c.maybe = !slices.ContainsFunc(t.Args, isFilled)
	return c, (t.Name == "+" || t.Name == "concat") && slices.ContainsFunc(t.Args, isOwn)
}

// mayCountIn reports whether the program of a node may count with a state key: what it writes
// depends on something else that changes on the cycles of the node.
func (f *facts) mayCountIn(n *spec.Node, key int) bool {
	state := f.graph.State[key]
	typ := eval.FromSchema(state.Schema)
	number := typ.String() == "integer" || typ.String() == "number"
	value := dataflow.FindWrite(&f.bound.Nodes[n.Index], state.Name.Value)
	changes := func(r eval.Read) bool {
		name := r.Path[0]
		isWriter := func(w *spec.Node) bool {
			return f.sharesCycle(n.Index, w.Index) && (number || !isModel(w) && w.Kind.Value != "human")
		}
		return name != state.Name.Value && (f.graph.Key(name) == nil || slices.ContainsFunc(f.writersOf()[name], isWriter))
	}
	switch {
	case !number && !typ.IsList(), isModel(n), n.Kind.Value == "human", value != nil && value.IsConst(), f.judgesModel(n):
		return false
	case (number || n.Kind.Value == "set") && value != nil && value.Program != nil && !slices.ContainsFunc(value.Program.Reads, changes):
		return false
	}
	_, known := f.findChange(n.Index, key, !number)
	return !known
}

// judgesModel reports whether a node sends a service what a model on its cycles wrote.
func (f *facts) judgesModel(n *spec.Node) bool {
	isFromModel := func(w *spec.Node) bool { return isModel(w) && f.sharesCycle(n.Index, w.Index) }
	reads := func(u *dataflow.Use) bool {
		return u.Moment == dataflow.Before && slices.ContainsFunc(u.Program.Reads, func(r eval.Read) bool {
			return slices.ContainsFunc(f.writersOf()[r.Path[0]], isFromModel)
		})
	}
	return (n.Kind.Value == "http" || n.Kind.Value == "tool") && slices.ContainsFunc(f.uses().OfNode(n.Index), reads)
}

// Loop is a set of nodes that all lead to one another.
type Loop struct {
	// Nodes in the order of the file.
	Nodes []string `json:"nodes"`
	// BoundedBy lists in words the conditions, limits and people that surely bound it.
	BoundedBy []string `json:"bounded_by"`
	// Undecided lists conditions that bound the rest if they become false, unless BoundedBy is enough.
	Undecided []string `json:"undecided"`
	// Endless is a cycle that only limits.max_steps ends, or nil.
	Endless []string `json:"endless"`
}

// Loops returns the reachable loops of a graph without errors, in the order of their first nodes.
func Loops(g *spec.Graph, opts Options) []Loop {
	bound, found := bind.Bind(g, opts.Kinds, nil)
	f := newFacts(g, bound, opts)
	if found.HasErrors() || !f.WellFormed() {
		return nil
	}
	return f.listLoops()
}

func (f *facts) listLoops() []Loop {
	w := f.flow()
	sure, likely := f.findOpenCycles(-1, false), f.findOpenCycles(-1, true)
	open := map[int]bool{} // components that are not sure to be bounded
	for _, a := range sure.arcs {
		open[w.SCC[a.From]] = true
	}
	loopOf := make([]int, len(w.SCC)) // by component: the index of its loop, and one
	var out []Loop
	for v, n := range f.graph.Nodes {
		if !w.Reached[v] || !w.Cyclic[v] {
			continue
		}
		at := &loopOf[w.SCC[v]]
		if *at == 0 {
			out = append(out, Loop{BoundedBy: []string{}, Undecided: []string{}})
			*at = len(out)
		}
		l := &out[*at-1]
		l.Nodes = append(l.Nodes, n.ID.Value)
		l.BoundedBy = append(l.BoundedBy, sure.why[v]...)
		if open[w.SCC[v]] {
			l.Undecided = append(l.Undecided, likely.why[v]...)
		}
	}
	for _, c := range f.findFreeCycles() {
		l := &out[loopOf[w.SCC[c.path[0]]]-1]
		if !c.isEndless {
			l.Undecided = append(l.Undecided, "what its nodes write and its conditions ask")
		} else if l.Endless == nil {
			l.Endless = collect(c.path, f.Name)
		}
	}
	for i := range out {
		l := &out[i]
		if most := f.graph.Limits.MaxVisits; most > 0 {
			l.BoundedBy = append(l.BoundedBy, fmt.Sprintf("limits.max_visits %d", most))
		}
		if other := dropRepeats(l.Undecided, l.BoundedBy...); len(other) > 0 || len(l.Undecided) == 0 {
			l.BoundedBy, l.Undecided = dropRepeats(l.BoundedBy), other
		} else { // the same condition surely bounds some arcs, and not others
			l.BoundedBy, l.Undecided = dropRepeats(l.BoundedBy, l.Undecided...), dropRepeats(l.Undecided)
		}
	}
	return out
}

// dropRepeats returns the distinct texts of a list without some others.
func dropRepeats(list []string, others ...string) []string {
	out := []string{}
	for _, s := range list {
		if !slices.Contains(out, s) && !slices.Contains(others, s) {
			out = append(out, s)
		}
	}
	return out
}
