// read-before-write: a value is read on a path on which nothing has made it.

package lint

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/spec"
)

func readBeforeWrite() Rule {
	return Rule{
		Name: "read-before-write", Group: "data", Severity: spec.Warning, needs: needAll,
		Summary: "a state key or a node's output is read on a path on which nothing has written it",
		Doc: "A key without default and without required: true has no value until a node writes it, and a node has no output until it has run. The message prints a path on which that has not happened: \"is not written yet\" when a run was found that takes it, \"may not be\" when none was; where every run was tried and none reads it too early, it says nothing. " +
			"Give the key a default, make it a required input, write it on that path, or read it as optional: key ?? other, {{ key? }}, key != None.",
		Bad: `graphrun: v1
name: answer
start: look
output: reply
state:
  known: {type: boolean, required: true}
  facts: {type: string}
  reply: {type: string}
nodes:
  look: {kind: pass}
  find: {kind: set, set: {facts: "'some facts'"}}
  write: {kind: set, set: {reply: "Because {{ facts }}"}}
edges:
  - {from: look, to: write, when: known}
  - {from: look, to: find}
  - {from: find, to: write}
  - {from: write, to: END}
`,
		change: []string{"{{ facts }}", "{{ facts? }}"},
		check:  checkReadBeforeWrite,
	}
}

// made is the definite assignment of a graph: of the state keys that may be
// without a value, and of node outputs that expressions read.
type made struct {
	*assignment.Analysis
	f *facts
	// keys and outputs map state keys and nodes to what the assignment calls them.
	keys, outputs map[int]int
	things        []thing
	firm          map[*eval.Program][]eval.Read
	// final is the same for the end of the run, when every branch is over.
	final *assignment.Analysis
}

// thing is a state key or the output of a node; the other is -1.
type thing struct{ key, node int }

// of is the assignment that holds where a use is evaluated.
func (m *made) of(u *dataflow.Use) *assignment.Analysis {
	if u.Moment == dataflow.AtEnd {
		return m.final
	}
	return m.Analysis
}

// made computes the definite assignment once; nil when a node may lead
// anywhere or nothing is in question.
func (f *facts) made() *made {
	if f.madeKnown || f.forks() == nil {
		return f.theMade
	}
	f.madeKnown = true
	m := &made{f: f, keys: map[int]int{}, outputs: map[int]int{}, firm: map[*eval.Program][]eval.Read{}}
	all := f.uses().All
	for i := range all {
		for _, r := range readsOf(all[i].Program) {
			switch key, ok := f.keyOf[r.Path[0]]; {
			case ok && f.graph.State[key].Default == nil && !f.graph.State[key].Required:
				if _, known := m.keys[key]; !known {
					m.keys[key], m.things = len(m.things), append(m.things, thing{key, -1})
				}
			case isOutput(r) && f.graph.Node(r.Path[1]) != nil:
				v := f.graph.Node(r.Path[1]).Index
				if _, known := m.outputs[v]; !known {
					m.outputs[v], m.things = len(m.things), append(m.things, thing{-1, v})
				}
			}
		}
	}
	if len(m.things) == 0 {
		return nil
	}
	m.Analysis = f.newAssignment(len(m.things))
	f.fillMade(m)
	m.learn()
	m.final = m.Analysis
	if f.graph.Output != nil {
		m.final = m.AtEnd()
		m.final.Solve()
	}
	m.Solve()
	f.theMade = m
	return m
}

// fillMade says what each node makes.
func (f *facts) fillMade(m *made) {
	for v := range f.graph.Nodes {
		if !f.skipsUnmade(v) {
			for _, w := range f.always(v) {
				if thing, ok := m.keys[w.Key]; ok {
					m.Makes(v, thing)
				}
			}
		}
		if thing, ok := m.outputs[v]; ok && (f.graph.Nodes[v].OnMaxVisits != "skip" || !f.flow().Cyclic[v] && !f.flow().FansOut) { // who is skipped has none
			m.Makes(v, thing)
		}
		f.forgets(m, v)
	}
}

// forgets notes the keys that a model node which reads them sets back.
func (f *facts) forgets(m *made, v int) {
	if !isModel(f.graph.Nodes[v]) {
		return
	}
	for _, u := range f.uses().OfNode(v) {
		for _, r := range u.Program.Reads() {
			key, ok := f.keyOf[r.Path[0]]
			if thing, asked := m.keys[key]; ok && asked && f.graph.State[key].Once && u.Moment == dataflow.Before {
				m.Drops(v, thing)
			}
		}
	}
}

// isOutput reports whether a read is of a node's output.
func isOutput(r eval.Read) bool {
	return len(r.Path) > 2 && r.Path[0] == "nodes" && r.Path[2] == "output"
}

// firstOutput reports whether a program is history.x[0] or a part of that: an output that
// a node has made if it has run at all.
func firstOutput(p *eval.Program) bool {
	path := p.Path()
	return len(path) > 2 && path[0] == "history" && path[2] == 0
}

// readsOf are the reads of a program; a node's first output is one of its output.
func readsOf(p *eval.Program) []eval.Read {
	if name, is := "", firstOutput(p); is {
		name, _ = p.Path()[1].(string)
		return []eval.Read{{Path: []string{"nodes", name, "output"}}}
	}
	return p.Reads()
}

// firmly lists what a use needs a value of.
func (m *made) firmly(u *dataflow.Use) []eval.Read {
	if u.Optional || u.Moment == dataflow.AtEnd && u.Program.Path() != nil {
		return nil // an output that is a path may well be null
	}
	reads, known := m.firm[u.Program]
	if !known {
		if reads = dataflow.FirmReads(u.Program); firstOutput(u.Program) {
			reads = readsOf(u.Program)
		}
		m.firm[u.Program] = reads
	}
	return reads
}

// asks reports whether a program reads anything in question.
func (m *made) asks(f *facts, p *eval.Program) bool {
	return slices.ContainsFunc(readsOf(p), func(r eval.Read) bool {
		key, ok := f.keyOf[r.Path[0]]
		if ok {
			_, ok = m.keys[key]
		}
		return ok || isOutput(r)
	})
}

func checkReadBeforeWrite(f *facts) {
	m := f.made()
	if m == nil {
		return
	}
	type place struct{ node, thing int }
	seen := map[place]bool{}
	all := f.uses().All
	for i := range all {
		u := &all[i]
		if !m.asks(f, u.Program) {
			continue
		}
		if f.readsTooMuch(m, u, func(thing int) bool {
			was := seen[place{u.Node, thing}]
			seen[place{u.Node, thing}] = true
			return was
		}) {
			continue
		}
		open := m.of(u).At(u)
		for _, r := range m.firmly(u) {
			thing, what := f.asked(m, u, r)
			if thing < 0 || !open(thing) || seen[place{u.Node, thing}] {
				continue
			}
			seen[place{u.Node, thing}] = true
			f.reportOpen(m, u, thing, r.Path[0], what)
		}
	}
}

// asked is what a read asks for: a key in question or a node's output; -1 for
// neither, and what to call it.
func (f *facts) asked(m *made, u *dataflow.Use, r eval.Read) (thing int, what string) {
	if key, ok := f.keyOf[r.Path[0]]; ok {
		thing, ok := m.keys[key]
		if !ok || f.setBefore(u, key) {
			return -1, ""
		}
		return thing, r.Path[0]
	}
	if isOutput(r) && f.graph.Node(r.Path[1]) != nil {
		n := f.graph.Node(r.Path[1])
		if n.Index == u.Node && u.Moment != dataflow.Before {
			return -1, "" // its own output, once it has run
		}
		if k := f.forks(); u.Node >= 0 {
			if _, both := k.Together(n.Index, u.Node); both {
				return -1, "" // a race, which has a rule of its own
			}
		}
		return m.outputs[n.Index], "the output of " + r.Path[1]
	}
	return -1, ""
}

// setBefore reports whether an earlier assignment of the same set node has
// written the key.
func (f *facts) setBefore(u *dataflow.Use, key int) bool {
	if u.Field != "set" || u.Node < 0 {
		return false
	}
	writes := f.access()[u.Node].Writes
	return slices.ContainsFunc(writes[:min(u.Order, len(writes))], func(w dataflow.Write) bool { return w.Key == key })
}

// mayBeOpen reports whether a key may be without a value where it is used.
func (f *facts) mayBeOpen(u *dataflow.Use, key int) bool {
	m := f.made()
	if m == nil {
		return false
	}
	thing, ok := m.keys[key]
	return ok && m.of(u).At(u)(thing)
}

func (f *facts) reportOpen(m *made, u *dataflow.Use, thing int, name, what string) {
	at := u.Node
	if at < 0 {
		at = f.End
	}
	path, agrees := f.openPath(m.of(u), thing, at)
	if path == nil {
		return
	}
	run, possible := f.readsOpen(m, u, thing, path)
	if !possible || !agrees && run == nil {
		return
	}
	written := f.writtenAt(m, thing)
	if written == nil {
		f.report(u.SpanOf(name), "%s is read, but no node writes it; give it a default, or required: true", quoteKey(what))
		return
	}
	verb := "written"
	if _, isKey := f.keyOf[what]; !isKey {
		verb = "made"
	}
	may, lost := "may not be", f.lostOn(path)
	if run != nil {
		may = "is not"
		if !passes(run, path) {
			path, lost = run, ""
		}
	}
	d := f.report(u.SpanOf(name), "%s %s %s yet, on the path %s%s", quoteKey(what), may, verb, f.pathText(path), lost)
	d.Related = append(d.Related, f.related(*written, "it is %s here", verb))
}

// lostOn says where branches of a path have to fail: one that leads from the node which
// starts them to a node to which no edge leads from there.
func (f *facts) lostOn(path []int) string {
	for i := 1; i < len(path); i++ {
		if f.forks().Starts(path[i-1]) && !slices.Contains(f.flow().Digraph.Next(path[i-1]), path[i]) {
			return fmt.Sprintf(", when all branches of %q fail", f.Name(path[i-1]))
		}
	}
	return ""
}

func quoteKey(what string) string {
	if len(what) > 4 && what[:4] == "the " {
		return what
	}
	return "\"" + what + "\""
}

// writtenAt is a place where a thing is made; nil when there is none.
func (f *facts) writtenAt(m *made, thing int) *spec.Span {
	of := m.things[thing]
	if of.key < 0 {
		return &f.graph.Nodes[of.node].ID.Span
	}
	for _, a := range f.access() {
		for _, w := range a.Writes {
			if w.Key == of.key {
				return &w.Name.Span
			}
		}
	}
	return nil
}
