// read-before-write: a value is read on a path on which nothing wrote it.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

func readRules() []Rule {
	return []Rule{
		{
			Name: "read-before-write", Group: "data", Severity: spec.Warning, needs: needAll,
			Summary: "a state key or a node's output is read on a path on which nothing has written it",
			Doc: "A key without default and without required: true has no value until a node writes it, and a node has no output until it has run. The message prints a path on which that has not happened: \"is not written yet\" when a run was found that takes it, \"may not be\" when none was; where every run was tried and none reads it too early, it says nothing. " +
				"A template that reads the default of a key which nodes write only later is reported, too. " +
				"Give the key a default, make it a required input, write it on that path, or read it as optional: key ?? other, {{ key? }}, key != None.",
			Bad: startAt("look") + `output: reply
state:
  known: {type: boolean, required: true}
  facts: {type: string}
  reply: {type: string}
nodes:
  look: {kind: pass}
  find: {kind: set, set: {facts: "'some facts'"}}
  write: {kind: set, set: {reply: "Because {{ facts }}"}}
` + edges("from: look, to: write, when: known", "from: look, to: find", "from: find, to: write", "from: write, to: END"),
			change: []string{"{{ facts }}", "{{ facts? }}"},
			check:  checkReadBeforeWrite,
		},
	}
}

// thing is a state key or the output of a node; the other is -1.
type thing struct{ key, node int }

// made is the definite assignment of the things that expressions read: state keys that may
// be without a value, and outputs.
type made struct {
	*assignment.Analysis
	f      *facts
	things []thing
	number map[thing]int
	atEnd  *assignment.Analysis // when every branch is over
}

// thingOf returns what a read is about, if that may be without a value.
func (f *facts) thingOf(r eval.Read) (thing, bool) {
	if key, ok := f.keyOf[r.Path[0]]; ok {
		return thing{key, -1}, f.graph.State[key].Default == nil && !f.graph.State[key].Required
	}
	if n := f.outputOf(r); n != nil {
		return thing{-1, n.Index}, true
	}
	return thing{}, false
}

// outputOf returns the node whose output a read is about, or nil.
func (f *facts) outputOf(r eval.Read) *spec.Node {
	if len(r.Path) > 2 && r.Path[0] == "nodes" && r.Path[2] == "output" {
		return f.graph.Node(r.Path[1])
	}
	return nil
}

// findMade computes the assignment, or nil if a node may lead anywhere or nothing is read.
func (f *facts) findMade() *made {
	if f.flow().Anywhere {
		return nil
	}
	m := &made{f: f, number: map[thing]int{}}
	for _, u := range f.uses().All {
		for _, r := range u.Program.Reads() {
			if t, ok := f.thingOf(r); ok {
				if _, known := m.number[t]; !known {
					m.number[t], m.things = len(m.things), append(m.things, t)
				}
			}
		}
	}
	if len(m.things) == 0 {
		return nil
	}
	m.Analysis = f.assigned().Of(len(m.things))
	for v, n := range f.graph.Nodes {
		if !f.skipsUnmade(v) {
			for _, w := range f.always(v) {
				if i, asked := m.number[thing{w.Key, -1}]; asked {
					m.Makes(v, i)
				}
			}
		}
		i, asked := m.number[thing{-1, v}]
		if asked && (n.OnMaxVisits != "skip" || !f.flow().Cyclic[v] && !f.flow().FansOut) { // a skipped visit has no output
			m.Makes(v, i)
		}
	}
	m.learn()
	m.atEnd = m.Analysis
	if f.graph.Output != nil {
		m.atEnd = m.AtEnd()
		m.atEnd.Solve()
	}
	m.Solve()
	return m
}

// of returns the assignment that holds where a use is evaluated.
func (m *made) of(u *dataflow.Use) *assignment.Analysis {
	if u.Moment == dataflow.AtEnd {
		return m.atEnd
	}
	return m.Analysis
}

// learn notes what conditions show to have a value: where `comment != None` held, it has.
func (m *made) learn() {
	for v, groups := range m.f.flow().Groups {
		for i := range groups {
			for _, t := range groups[i].Targets {
				for _, o := range m.f.outcomes(v, i, t) {
					for _, number := range m.spokenOf(o.program) {
						null := m.nullWithout(number)
						if !m.f.solver.Possible([]solve.Claim{{Tree: o.program.Tree(), Holds: o.holds}}, func(path []string, _ eval.Type) solve.Domain {
							for i := range path {
								isOptional := i == len(path)-1 || strings.Contains(o.program.Source(), "?.") // then a member of null is null
								if isOptional && null[strings.Join(path[:i+1], ".")] {
									return solve.Domain{Values: []any{nil}}
								}
							}
							return solve.Domain{Null: true}
						}) {
							m.Shows(v, t, i, number)
						}
					}
				}
			}
		}
	}
}

// spokenOf lists the things that a condition may show: those that it reads, and what the
// nodes write whose outputs it reads.
func (m *made) spokenOf(p *eval.Program) []int {
	var out []int
	for _, read := range p.Reads() {
		t, _ := m.f.thingOf(read)
		if i, asked := m.number[t]; asked {
			out = append(out, i)
		}
		if n := m.f.outputOf(read); n != nil {
			for _, w := range m.f.always(n.Index) {
				if i, asked := m.number[thing{w.Key, -1}]; asked {
					out = append(out, i)
				}
			}
		}
	}
	return out
}

// nullWithout returns the paths that are null while a thing is not made.
func (m *made) nullWithout(number int) map[string]bool {
	out, of := map[string]bool{}, m.things[number]
	if of.key >= 0 {
		out[m.f.graph.State[of.key].Name.Value] = true
	}
	for v, n := range m.f.graph.Nodes {
		if v == of.node || m.MadeBy(v, number) {
			out["nodes."+n.ID.Value+".output"] = true
		}
	}
	return out
}

func checkReadBeforeWrite(f *facts) {
	f.checkDefaultsOnly()
	m := f.made()
	if m == nil {
		return
	}
	seen := map[[2]int]bool{} // node and thing
	all := f.uses().All
	for i := range all {
		u := &all[i]
		if u.Optional || u.Moment == dataflow.AtEnd && u.Program.Path() != nil {
			continue // an output that is a path may well be null
		}
		var open func(int) bool
		for _, r := range dataflow.FirmReads(u.Program) {
			number := m.asked(u, r)
			at := [2]int{u.Node, number}
			if number < 0 || seen[at] {
				continue
			}
			if u.Node >= 0 && f.graph.Nodes[u.Node].Final {
				seen[at] = m.reportFinal(u, r, number)
				continue
			}
			if open == nil {
				open = m.of(u).At(u)
			}
			if seen[at] = open(number); seen[at] {
				m.reportOpen(u, r, number)
			}
		}
	}
}

// checkDefaultsOnly reports templates that read a key before any node can have written it.
func (f *facts) checkDefaultsOnly() {
	const most = 64
	after := map[string][]bool{} // by key: the nodes behind its writers
	for _, u := range f.uses().All {
		if u.Node < 0 || u.Optional || !u.InText && u.Field != "each" || f.graph.Nodes[u.Node].Final || !f.flow().Reached[u.Node] || f.flow().Anywhere {
			continue
		}
		for _, r := range u.Program.Reads() {
			name := r.Path[0]
			key, writers := f.graph.Key(name), f.writersOf()[name]
			if key == nil || key.Required || key.Default == nil || len(writers) == 0 || len(writers) > most || key.Scope.Value == "session" {
				continue
			}
			behind, known := after[name]
			if !known && len(after) < most {
				behind = f.flow().Digraph.Reach(collect(writers, func(n *spec.Node) int { return n.Index })...)
				after[name] = behind
			}
			isBeside := func(n *spec.Node) bool { return f.inParallel(n.Index, u.Node) }
			if behind != nil && !behind[u.Node] && !slices.ContainsFunc(writers, isBeside) {
				after[name] = nil // once
				f.report(u.SpanOf(name), "%q always has its default here: nodes write it only later", name)
			}
		}
	}
}

// asked returns the number of the thing that a use reads, or -1.
func (m *made) asked(u *dataflow.Use, r eval.Read) int {
	f := m.f
	t, ok := f.thingOf(r)
	switch {
	case !ok:
		return -1
	case t.key < 0 && t.node == u.Node && u.Moment != dataflow.Before:
		return -1 // its own output, once it has run
	case t.key < 0 && u.Node >= 0:
		if _, race := f.forkOf(t.node, u.Node); race {
			return -1 // rule parallel-conflict
		}
	case u.Field == "set" && u.Node >= 0: // an earlier assignment of the node may have written it
		writes := f.access()[u.Node].Writes
		if slices.ContainsFunc(writes[:min(u.Order, len(writes))], func(w dataflow.Write) bool { return w.Key == t.key }) {
			return -1
		}
	}
	return m.number[t]
}

// mayBeOpen reports whether a key may be without a value where it is used.
func (f *facts) mayBeOpen(u *dataflow.Use, key int) bool {
	m := f.made()
	if m == nil {
		return false
	}
	number, ok := m.number[thing{key, -1}]
	return ok && m.of(u).At(u)(number)
}

// name returns what messages call a thing.
func (m *made) name(number int) string {
	if t := m.things[number]; t.key < 0 {
		return "the output of " + m.f.Name(t.node)
	}
	return strconv.Quote(m.f.graph.State[m.things[number].key].Name.Value)
}

// reportFinal reports a read in a node of finally unless nodes of finally surely wrote it.
func (m *made) reportFinal(u *dataflow.Use, r eval.Read, number int) bool {
	f, key := m.f, m.things[number].key
	for _, name := range f.graph.Finally {
		n := f.graph.Node(name.Value)
		if n == nil || key < 0 {
			continue
		}
		own := n.Index == u.Node
		if f.alwaysWrites(n, key) && (own && u.Moment != dataflow.Before || !own && n.Kind.Value == "set") {
			return false
		}
		if own {
			break
		}
	}
	f.report(u.SpanOf(r.Path[0]), "%s may not be there yet: finally runs however the run ends, also before anything has made it; give it a default, or read it as optional", m.name(number))
	return true
}

func (m *made) reportOpen(u *dataflow.Use, r eval.Read, number int) {
	f, at := m.f, u.Node
	if at < 0 {
		at = f.End
	}
	path := m.of(u).Path(number, at)
	if path == nil {
		return
	}
	agrees := f.agrees(path)
	run, possible := m.findOpenRead(u, number, path)
	if !possible || !agrees && run == nil {
		return
	}
	written, verb := m.writtenAt(number), "written"
	if written == nil {
		f.report(u.SpanOf(r.Path[0]), "%s is read, but no node writes it; give it a default, or required: true", m.name(number))
		return
	}
	if m.things[number].key < 0 {
		verb = "made"
	}
	may := "may not be"
	if run != nil {
		may = "is not"
		if !isWithin(path, run) {
			path = run
		}
	}
	d := f.report(u.SpanOf(r.Path[0]), "%s %s %s yet, on the path %s", m.name(number), may, verb, f.pathText(path))
	d.Related = append(d.Related, f.related(*written, "it is %s here", verb))
}

// writtenAt returns where a thing is made, or nil.
func (m *made) writtenAt(number int) *spec.Span {
	of := m.things[number]
	if of.key < 0 {
		return &m.f.graph.Nodes[of.node].ID.Span
	}
	for _, a := range m.f.access() {
		for _, w := range a.Writes {
			if w.Key == of.key {
				return &w.Name.Span
			}
		}
	}
	return nil
}

// agrees reports whether the conditions on a path can all hold, as far as they read only
// keys that no node writes.
func (f *facts) agrees(path []int) bool {
	var claims []solve.Claim
	for i, v := range path[:len(path)-1] {
		fires := -1
		for k := range f.flow().Groups[v] {
			if g := &f.flow().Groups[v][k]; slices.Contains(g.Targets, path[i+1]) && !f.isDead(g) {
				if fires >= 0 {
					return true // one of several groups may lead there
				}
				fires = k
			}
		}
		if fires >= 0 {
			claims = append(claims, f.claims(v, fires, path[i+1], func(name string) bool { return f.graph.Key(name) != nil && len(f.writersOf()[name]) == 0 })...)
		}
	}
	return f.arePossible(nil, claims)
}

// findOpenRead returns a run that evaluates a use while a thing is not made, guided by a
// path. It is not possible if every run was tried and none does.
func (m *made) findOpenRead(u *dataflow.Use, number int, path []int) (run []int, possible bool) {
	var q explore.Question
	var read []string
	if of := m.things[number]; of.key >= 0 {
		q.Omit = m.f.graph.State[of.key].Name.Value
		read = []string{q.Omit}
	} else {
		q.Visits = map[int]int{of.node: 1}
		read = []string{"nodes", m.f.Name(of.node), "output"}
	}
	var reader *explore.Run // the run whose last event read the thing too early
	q.Evaluates = func(r *explore.Run, p *eval.Program, env map[string]any) {
		if p == u.Program && member(env, read) == nil {
			reader = r
		}
	}
	q.Found = func(r *explore.Run) bool {
		read := r == reader && (u.Node < 0 || concernsNode(r, m.f.Name(u.Node))) // nodes may share a program
		reader = nil
		return read
	}
	a := m.f.findRun(path, q)
	if u.Node < 0 && a.Found {
		a.Witness = append(a.Witness, m.f.End)
	}
	return a.Witness, a.Found || a.Gap != ""
}

// concernsNode reports whether the last event of a run was about a node.
func concernsNode(r *explore.Run, node string) bool {
	return r.State.Failure != nil && r.State.Failure.Node == node ||
		slices.ContainsFunc(r.State.Notes(), func(n machine.Note) bool { return n.Node == node })
}

// member returns the value at a path, or nil.
func member(value any, path []string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}
