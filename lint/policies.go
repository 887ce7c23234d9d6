// The rules about policies: what breaks one, what proves one, and what stays undecided.

package lint

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/graphalg"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// policy is one entry of policies with its nodes as vertices.
type policy struct {
	index   int       // in Graph.Policies
	at      spec.Text // the position of findings about it
	kind    string    // require, forbid, reach, max_visits, never
	subject int       // the node after the first word; -1 for max_visits and never
	node    int       // the one after the second word
	limit   int       // of max_visits
	never   *eval.Program
	trial   *trial
}

// policyWords lists the first word of each kind of policy, and its second word.
var policyWords = [][2]string{{"require", "before"}, {"forbid", "after"}, {"reach", "from"}, {"max_visits", "node"}, {"never", "at"}}

// policies lists the policies whose nodes exist, and calls unknown for other names.
func (f *facts) policies(unknown func(name spec.Text, canEnd bool)) []*policy {
	var out []*policy
	for i := range f.graph.Policies {
		for _, words := range policyWords {
			first, second := f.graph.Policies[i].Get(words[0]), f.graph.Policies[i].Get(words[1])
			if first == nil || second == nil || !first.IsScalar() || second.Kind != spec.String {
				continue
			}
			p := &policy{index: i, at: first.Text, kind: words[0], subject: -1, never: f.bound.Never[i]}
			p.limit, _ = first.Data().(int)
			valid := p.kind != "max_visits" || p.limit > 0
			vertex := func(name spec.Text, canEnd bool) int {
				v := f.Vertex(name.Value)
				if v < 0 || v == f.End && !canEnd {
					valid = false
					unknown(name, canEnd)
				}
				return v
			}
			p.node = vertex(second.Text, words[1] == "before")
			if p.kind != "max_visits" && p.kind != "never" {
				p.subject = vertex(first.Text, p.kind != "require")
			}
			if valid {
				out = append(out, p)
			}
		}
	}
	return out
}

func checkPolicyInvalid(f *facts) {
	const most = 12
	names := f.listNodeNames()
	f.policies(func(name spec.Text, canEnd bool) {
		what := "is not a node of this graph"
		if name.Value == spec.END && !canEnd {
			what = "can't stand here"
		}
		d := f.report(name.At(0, len(name.Value)), "%q %s; nodes are %s", name.Value, what, strings.Join(names[:min(most, len(names))], ", "))
		d.Suggestion = suggest.Closest(name.Value, names)
	})
}

// listNodeNames returns the names of the nodes, sorted.
func (f *facts) listNodeNames() []string {
	names := collect(f.graph.Nodes, func(n *spec.Node) string { return n.ID.Value })
	slices.Sort(names)
	return names
}

// verdict says why an unbroken policy is proven, or why it is undecided.
type verdict struct {
	policy       *policy
	proof, doubt string
}

// More than maxPolicies policies are checked only while their number times the size of the graph
// is at most maxPolicyWork.
const (
	maxPolicies   = 100
	maxPolicyWork = 200_000
)

func checkPolicies(f *facts) {
	var open []*policy
	size := len(f.graph.Nodes) + len(f.graph.Edges)
	for i, p := range f.policies(func(spec.Text, bool) {}) {
		v := verdict{policy: p}
		switch {
		case f.flow().Anywhere:
			v.doubt = "where some nodes lead is known at run time only"
		case i > maxPolicies && i*size > maxPolicyWork:
			v.doubt = "the graph is too large to ask of every policy"
		default:
			if v.proof = f.prove(p); v.proof == "" {
				open = append(open, p)
				continue
			}
		}
		f.verdicts = append(f.verdicts, v)
	}
	slices.SortStableFunc(open, func(a, b *policy) int { return cmp.Compare(a.limit, b.limit) }) // a high limit takes the longest search
	var unbroken []*policy
	for i, p := range open {
		f.waiting = len(open) - i
		span := p.at.Span
		if p.kind == "never" {
			span = p.at.At(0, len(p.at.Value))
		}
		if breach := f.refute(p); breach != "" {
			f.report(span, "%s", breach)
		} else {
			unbroken = append(unbroken, p)
		}
	}
	for i, p := range unbroken { // after all refutations, since proofs use up events
		f.waiting = len(unbroken) - i
		v := verdict{policy: p, doubt: f.tryAllRuns(p)}
		if v.doubt == "" {
			v.proof = "each run was tried that inputs, results and their order allow"
		}
		f.verdicts = append(f.verdicts, v)
	}
}

// prove returns why no run can break a policy, or "". It tries no runs.
func (f *facts) prove(p *policy) string {
	firstName := func(r eval.Read) string { return r.Path[0] }
	switch {
	case f.isKeptByShape(p):
		return "the shape of the graph keeps it"
	case p.kind == "never" && f.neverHolds(p.never.Tree, collect(p.never.Reads, firstName), p.node, true):
		return "the conditions on every path keep it"
	case p.kind == "max_visits" && f.isBoundedByVisits(p):
		return "conditions on visits keep it"
	}
	return ""
}

// neverHolds reports whether an edge on every path to a node excludes a condition that reads some
// state keys, and no node after that edge writes them. If alive, it ignores dead edges.
func (f *facts) neverHolds(condition *eval.Tree, reads []string, at int, alive bool) bool {
	isDisturbed := func(v int) bool { // a node that runs then may write what the condition reads
		return v >= len(f.graph.Nodes) || slices.ContainsFunc(reads, func(name string) bool {
			key, writes := f.graph.Key(name), func(w dataflow.Write) bool { return w.Name.Value == name }
			return key == nil || key.Once || slices.ContainsFunc(f.access()[v].Writes, writes) || !f.isStable(key, v)
		})
	}
	seen, todo := map[int]bool{at: true}, []int{at}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if v == f.Start() || isDisturbed(v) || f.beginsWithoutEdge(v) {
			return false
		}
		for _, a := range f.arcsInto()[v] {
			if seen[a.From] || alive && f.isDead(f.flow().GroupOf(a)) {
				continue
			}
			isRelated := false
			claims := f.listClaims(a, func(name string) bool {
				isRelated = isRelated || slices.Contains(reads, name)
				return f.graph.Key(name) != nil
			})
			if !isRelated || f.canAllHold(nil, append(claims, solve.Claim{Holds: true, Tree: condition})) {
				seen[a.From] = true
				todo = append(todo, a.From)
			}
		}
	}
	return true
}

// beginsWithoutEdge reports whether a node is a join that may begin after failures, without an edge.
func (f *facts) beginsWithoutEdge(v int) bool {
	isJoin := func(v int) bool { return f.flow().Joins[v] || v < len(f.graph.Nodes) && f.graph.Nodes[v].Join != nil }
	if !isJoin(v) {
		return false
	}
	if n := f.graph.Nodes[v]; failsIfBypassed(n) && f.mayContinueAfterFailure(n) {
		return true
	}
	covers := f.flow().Dominators().Dominates
	for fork, g := range f.flow().AllGroups() {
		haveMet := func(n *spec.Node) bool { // before v
			return n.Index != v && isJoin(n.Index) && covers(n.Index, v) && covers(fork, n.Index) && fork != n.Index
		}
		if (len(g.Targets) > 1 || g.Subset) && controlflow.ParallelOf(f.graph, fork).OnFailure == "wait_all" && f.leadsTo(fork, v) && !slices.ContainsFunc(f.graph.Nodes, haveMet) {
			return true
		}
	}
	return false
}

// claimVisits returns a comparison of the visits of a node with a number.
func (f *facts) claimVisits(v int, op string, n int) solve.Claim {
	return solve.Claim{Holds: true, Tree: &eval.Tree{Op: eval.TreeBinary, Name: op, Args: []*eval.Tree{
		{Op: eval.TreePath, Path: []string{"visits", f.Name(v)}}, {Op: eval.TreeConst, Value: n},
	}}}
}

// arcsAllowing returns the arcs whose conditions can hold together with a claim.
func (f *facts) arcsAllowing(claim solve.Claim) *graphalg.Digraph {
	return f.filterArcs(func(a arc) bool {
		claims := f.listClaims(a, f.isCounted)
		return len(claims) == 0 || f.canAllHold(f.graph.Nodes[a.From], append(claims, claim))
	})
}

// isCounted reports whether a name is "visits" or a state key.
func (f *facts) isCounted(name string) bool { return name == "visits" || f.graph.Key(name) != nil }

// repeatCycle returns how a run goes from a visit of a node to a later one, without the first node.
func (f *facts) repeatCycle(v, from, to int) (path []int) {
	for n := from; n < to; n++ {
		cycle := findCycleThrough(f.arcsAllowing(f.claimVisits(v, "==", n)), v)
		if cycle == nil {
			return path
		}
		path = append(path, cycle[1:]...)
	}
	return path
}

// repeatCycles inserts cycles in a path until its conditions on visits can hold, together with a
// condition at its end or nil.
func (f *facts) repeatCycles(path []int, condition *eval.Program) []int {
	const mostVisits, mostNodes = 12, 200
	claimed := len(path) // index of the first arc after which the condition stays as it is
	if condition != nil && !slices.ContainsFunc(condition.Reads, func(r eval.Read) bool { return f.graph.Key(r.Path[0]) == nil }) {
		writes := func(w dataflow.Write) bool { return condition.Uses(w.Name.Value) }
		for claimed = len(path) - 2; claimed > 0 && !slices.ContainsFunc(f.access()[path[claimed]].Writes, writes); {
			claimed--
		}
	}
	for i := 0; i+1 < len(path) && len(path) < mostNodes; i++ {
		fits := func(v, visits int) bool {
			return slices.ContainsFunc(f.arcsInto()[path[i+1]], func(a arc) bool {
				claims := append(f.listClaims(a, f.isCounted), f.claimVisits(v, "==", visits))
				if i >= claimed {
					claims = append(claims, solve.Claim{Holds: true, Tree: condition.Tree})
				}
				return a.From == path[i] && f.canAllHold(f.graph.Nodes[a.From], claims)
			})
		}
		for j := i; j >= 0; j-- {
			v := path[j]
			before := 1 + countVisits(path[:j], v)
			visits := before
			for visits < mostVisits && f.flow().Cyclic[v] && !fits(v, visits) {
				visits++
			}
			if visits > before && visits < mostVisits && !slices.Contains(path[j+1:i+1], v) {
				more := f.repeatCycle(v, before, visits)
				path, i, claimed = slices.Insert(path, j+1, more...), i+len(more), claimed+len(more)
				break
			}
		}
	}
	return path
}

// countVisits returns how often a vertex is on a path.
func countVisits(path []int, v int) (n int) {
	for _, u := range path {
		if u == v {
			n++
		}
	}
	return n
}

// isBoundedByVisits reports whether every cycle through the node of a max_visits policy has an
// edge whose condition is false after that many visits.
func (f *facts) isBoundedByVisits(p *policy) bool {
	if findCycleThrough(f.arcsAllowing(f.claimVisits(p.node, ">=", p.limit)), p.node) != nil {
		return false
	}
	for u := range f.graph.Nodes { // a branch doesn't see the visits of others
		isBeside := func(v *spec.Node) bool { return f.inParallel(u, v.Index) }
		if f.flow().FansOut && f.sharesCycle(p.node, u) && slices.ContainsFunc(f.graph.Nodes, isBeside) {
			return false
		}
	}
	return true
}

// isKeptByShape reports whether the shape of the graph alone keeps a policy.
func (f *facts) isKeptByShape(p *policy) bool {
	if p.node < len(f.graph.Nodes) && !f.flow().Reached[p.node] {
		return true
	}
	switch p.kind {
	case "require":
		if p.subject == p.node || f.mayJoinWithout(p.subject, p.node) {
			return false
		}
		a := f.assigned().WithVariables(1)
		a.First = true
		if !f.maySkipUnassigned(p.subject) {
			a.AddAssignment(p.subject, 0)
		}
		a.Solve()
		return !a.MayBeUnassigned(p.node, 0)
	case "forbid": // a step is after its past, not after what other branches do
		return !f.leadsTo(p.node, p.subject) && p.node != p.subject
	case "max_visits":
		limited := func(most int) bool { return most > 0 && most <= p.limit }
		return limited(f.graph.Nodes[p.node].VisitLimit(f.graph)) || limited(f.graph.Limits.MaxSteps) ||
			!f.flow().Cyclic[p.node]
	case "reach":
		if p.subject != f.End {
			return p.node == p.subject || f.leadsTo(p.node, p.subject)
		}
		ends := f.findVerticesBefore(f.End)
		for v, reached := range f.alive().Reach(p.node) {
			if reached && v < len(f.graph.Nodes) && !ends[v] {
				return false
			}
		}
		return true
	}
	value, ok := p.never.Const()
	return ok && value == false
}

// mayJoinWithout reports whether a join before a node may run or fail although v has failed.
func (f *facts) mayJoinWithout(v, to int) bool {
	for fork, g := range f.flow().AllGroups() {
		if len(g.Targets) > 1 && controlflow.ParallelOf(f.graph, fork).OnFailure == "wait_all" && f.leadsTo(fork, v) {
			return true
		}
	}
	fails := func(n *spec.Node) bool {
		return failsIfBypassed(n) && f.mayContinueAfterFailure(n) && f.leadsTo(v, n.Index) && f.leadsTo(n.Index, to)
	}
	return slices.ContainsFunc(f.graph.Nodes, fails)
}

// tryAllRuns returns why it can't try every run, or "" if every run kept the policy.
func (f *facts) tryAllRuns(p *policy) string {
	for _, late := range []bool{false, true} {
		switch a := f.findBreach(p, explore.Question{Late: late, Proof: true}); {
		case a.Found && late:
			return "it depends on the order in which branches end"
		case a.Found:
			return "it depends on inputs or results"
		case a.Gap != "":
			return a.Gap
		case !f.flow().FansOut:
			return ""
		}
	}
	return ""
}

// refute returns how a run breaks a policy, or "" if none was found.
func (f *facts) refute(p *policy) string {
	how := f.describeBreach(p)
	switch {
	case p.kind == "reach" && p.subject != f.End:
		return how
	case f.policyEvents <= 0:
		return ""
	case p.kind == "max_visits":
		if cycle := findCycleThrough(f.NewDigraph(f.findOpenCycles(p.node, true).arcs), p.node); cycle != nil {
			if !f.findBreach(p, explore.Question{}).Found {
				return ""
			}
			return how + ": nothing bounds the cycle " + f.pathText(cycle)
		}
		how += ","
	}
	for q := range f.listAttempts(p) {
		a := f.findBreach(p, q)
		if !a.Found {
			continue
		}
		if p.kind == "reach" || q.Guide != nil && f.flow().FansOut && isSubsequence(q.Guide, a.Witness) {
			a.Witness = q.Guide
		}
		return how + " on the path " + f.pathText(a.Witness)
	}
	return ""
}

// describeBreach says what happens in a run that breaks a policy.
func (f *facts) describeBreach(p *policy) string {
	name := f.Name(p.node)
	switch {
	case p.kind == "never":
		return fmt.Sprintf("%q is true at %q", p.at.Value, name)
	case p.kind == "max_visits":
		return fmt.Sprintf("%q can run more than %s", name, eval.Count(p.limit, "time"))
	case p.kind == "require":
		return fmt.Sprintf("%q is reached without a success of %q", name, f.Name(p.subject))
	case p.kind == "forbid":
		return fmt.Sprintf("%q can run after %q", f.Name(p.subject), name)
	case p.subject == f.End:
		return fmt.Sprintf("END can't be reached any more after %q", name)
	}
	return fmt.Sprintf("%q can't be reached from %q", f.Name(p.subject), name)
}

// listAttempts yields questions for runs that break a policy. The first trusts the conditions that
// depend on the node in question. The others only allow them to read values that the graph itself wrote.
func (f *facts) listAttempts(p *policy) iter.Seq[explore.Question] {
	switch p.kind {
	case "require":
		guide := graphalg.Path(func(v int) []int {
			if v == p.subject {
				return nil
			}
			return f.alive().Next(v)
		}, f.Start(), p.node)
		if guide == nil {
			guide = f.findPathThrough(f.Start(), p.subject, p.node)
		}
		return f.attemptPastConditions(p, p.subject, f.repeatCycles(guide, nil))
	case "forbid":
		return f.attemptPastConditions(p, p.node, f.repeatCycles(f.findPathThrough(f.Start(), p.node, p.subject), nil))
	case "max_visits":
		return slices.Values([]explore.Question{{Fixed: f.listKeysCountedAround(p.node)}})
	case "never":
		return slices.Values(f.listNeverAttempts(p))
	}
	return func(yield func(explore.Question) bool) { // vertices from which END can't be reached
		ends := f.findVerticesBefore(f.End)
		for v, reached := range f.alive().Reach(f.listSuccessors(p.node)...) {
			if !reached || v >= len(f.graph.Nodes) || ends[v] {
				continue
			}
			if path := f.findPathThrough(f.Start(), p.node, v); path != nil && !yield(explore.Question{Guide: path}) {
				return
			}
		}
	}
}

// attemptPastConditions yields questions for runs that pass the conditions that depend on a node.
func (f *facts) attemptPastConditions(p *policy, node int, guide []int) iter.Seq[explore.Question] {
	keys := map[string]bool{} // the keys that the node writes, and keys that are only written after it
	for _, w := range f.writes() {
		if f.flow().Dominators().Dominates(node, w.node) {
			keys[w.Name.Value] = true
		}
	}
	allow := func(r *explore.Run, v int, taken []explore.Taken) bool {
		n := r.Visits(p.node)
		return p.kind == "forbid" && (n == 0 || n == 1 && v == p.node) || f.isTrustedExit(r, v, taken, node, keys)
	}
	return slices.Values([]explore.Question{{Guide: guide, Allow: allow}, {Guide: guide, Fixed: keys}})
}

// dependsOn reports whether a node may decide a condition.
func (f *facts) dependsOn(p *eval.Program, node int, keys map[string]bool) bool {
	return p != nil && slices.ContainsFunc(p.Reads, func(r eval.Read) bool {
		switch r.Path[0] {
		case "visits", "nodes", "history", "branches", "inputs":
			return len(r.Path) < 2 || r.Path[1] == f.Name(node)
		case "step", "last", "visit":
			return true
		}
		return keys[r.Path[0]]
	})
}

// isTrustedExit reports whether a run may leave v by some edges: their conditions do not depend on
// the node, or the graph itself wrote all keys that they read.
func (f *facts) isTrustedExit(r *explore.Run, v int, taken []explore.Taken, node int, keys map[string]bool) bool {
	for _, t := range taken {
		if t.Edge < 0 {
			return !f.dependsOn(f.bound.Nodes[v].Goto, node, keys)
		}
		if f.graph.Edges[t.Edge].Condition == "on_failure" {
			return !f.dependsOn(f.bound.Edges[t.Edge].When, node, keys)
		}
	}
	return !slices.ContainsFunc(f.Out[v], func(e int) bool {
		when := f.bound.Edges[e].When
		return f.graph.Edges[e].Condition != "on_failure" && f.dependsOn(when, node, keys) &&
			slices.ContainsFunc(when.Reads, func(read eval.Read) bool { return len(read.Path) > 1 || !r.Written[read.Path[0]] })
	})
}

// listKeysCountedAround returns the state keys that the cycles of a node may count with: numbers, lists,
// and all keys that set nodes write. It returns only those of set nodes if they alone end the cycles.
func (f *facts) listKeysCountedAround(v int) map[string]bool {
	keys := map[string]bool{}
	for _, w := range f.writes() {
		key := f.graph.State[w.Key]
		kind := f.domainOfKey(key).Kind
		counts := f.graph.Nodes[w.node].Kind.Value == "set" || kind != solve.String && kind != solve.Bool && key.Schema["type"] != "object"
		if f.sharesCycle(w.node, v) && counts {
			keys[key.Name.Value] = true
		}
	}
	if findCycleThrough(f.NewDigraph(f.findOpenCycles(v, false).arcs), v) == nil {
		maps.DeleteFunc(keys, func(key string, _ bool) bool { return !f.isWrittenOnlyBy(key, "set") })
	}
	return keys
}

// isWrittenOnlyBy reports whether only nodes of some kinds write a key.
func (f *facts) isWrittenOnlyBy(key string, kinds ...string) bool {
	return !slices.ContainsFunc(f.writersOf()[key], func(n *spec.Node) bool { return !slices.Contains(kinds, n.Kind.Value) })
}

// listNeverAttempts lists questions for runs that make the condition of a never policy true. Inputs and
// results may do so only if conditions on the path should prevent it.
func (f *facts) listNeverAttempts(p *policy) (out []explore.Question) {
	keys := map[string]bool{} // the graph decides them, since only people and set nodes write them
	for _, r := range p.never.Reads {
		if len(f.writersOf()[r.Path[0]]) > 0 && f.isWrittenOnlyBy(r.Path[0], "human", "set") {
			keys[r.Path[0]] = true
		}
	}
	guide, allowing := f.findPathTo(p.node), f.arcsAllowing(solve.Claim{Holds: true, Tree: p.never.Tree})
	for i := 1; i < len(guide); i++ {
		if path := graphalg.Path(allowing.Next, f.Start(), p.node); path != nil && !slices.Contains(allowing.Next(guide[i-1]), guide[i]) {
			guide = path
		}
	}
	guide = f.repeatCycles(guide, p.never)
	if len(keys) > 0 {
		out = append(out, explore.Question{Guide: guide, Fixed: keys})
	}
	at, computed := site{f: f, node: f.graph.Nodes[p.node]}, maps.Clone(keys) // no input gives these
	verdicts := f.solver.Solve(solve.Problem{Conditions: []*eval.Tree{p.never.Tree}, Domain: at.domain}).Verdicts
	if verdicts[0].Always || f.isGuarded(p, keys) {
		maps.DeleteFunc(computed, func(name string, _ bool) bool { return f.graph.Key(name).Required || !f.isWrittenOnlyBy(name, "set") })
		out = append(out, explore.Question{Guide: guide, Fixed: computed})
	}
	return out
}

// isGuarded reports whether earlier conditions read each key that a never policy reads and the graph
// does not decide. Such conditions should keep the policy.
func (f *facts) isGuarded(p *policy, decided map[string]bool) bool {
	before := f.findVerticesBefore(p.node)
	return !slices.ContainsFunc(p.never.Reads, func(r eval.Read) bool {
		key := r.Path[0]
		return f.graph.Key(key) == nil || !decided[key] && !slices.ContainsFunc(f.graph.Edges, func(e *spec.Edge) bool {
			when := f.bound.Edges[e.Index].When
			return when != nil && f.From[e.Index] >= 0 && before[f.From[e.Index]] && slices.ContainsFunc(when.Reads, func(r eval.Read) bool { return r.Path[0] == key })
		})
	})
}

// reportVerdicts reports the policies that are proven, or those that are undecided. A policy of
// a shared file whose node the graph lacks is undecided if a node has a similar name.
func (f *facts) reportVerdicts(proven bool) {
	for _, v := range f.verdicts {
		switch {
		case proven && v.proof != "":
			f.report(v.policy.at.Span, "every run keeps this policy: %s", v.proof)
		case !proven && v.doubt != "":
			f.report(v.policy.at.Span, "cannot decide this policy before a run: %s", v.doubt)
		}
	}
	for i := range f.graph.Inapplicable {
		policy := &f.graph.Inapplicable[i]
		name := policy.Text
		for _, words := range policyWords {
			for _, word := range words { // where the policy holds comes first
				v := policy.Get(word)
				if v != nil && v.Kind == spec.String && word != "never" && v.Text.Value != spec.END && f.graph.Node(v.Text.Value) == nil {
					name = v.Text
				}
			}
		}
		near := suggest.Closest(name.Value, f.listNodeNames())
		switch {
		case proven && near == "":
			f.report(name.Span, "this policy of a shared file asks nothing of this graph, which has no node %q", name.Value)
		case !proven && near != "":
			f.report(name.Span, "%q is not a node of this graph, so that this policy of a shared file asks nothing of it", name.Value).Suggestion = near
		}
	}
}

// uncheckedMessage begins the finding about a policy in a file with errors.
const uncheckedMessage = "this policy is not checked, because "

// reportUnchecked reports each policy: an error keeps it from being checked.
func (f *facts) reportUnchecked(because *spec.Diagnostic) {
	f.rule = &Rule{Name: "policy-undecided", Severity: spec.Info}
	for i := range f.graph.Policies {
		d := f.report(f.graph.Policies[i].Span, uncheckedMessage+"of an error at %s: %s [%s]", subgraph.LineOf(*because), because.Message, because.Rule)
		d.Related = append(d.Related, spec.Related{File: because.File, Span: because.Span, Message: "the error is here"})
	}
}

// WithoutEchoes drops findings about unchecked policies if the findings contain the error that caused them.
func WithoutEchoes(found spec.Diagnostics) spec.Diagnostics {
	shown := map[position]bool{}
	for i := range found {
		if found[i].Rule != "policy-undecided" {
			shown[position{found[i].File, found[i].Span}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool {
		return strings.HasPrefix(d.Message, uncheckedMessage) && len(d.Related) > 0 && shown[position{d.Related[0].File, d.Related[0].Span}]
	})
}
