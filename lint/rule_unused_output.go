// unused-output: parts of what a subgraph yields that its caller never reads.

package lint

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

func unusedOutput() Rule {
	return Rule{
		Name: "unused-output", Group: "data", Severity: spec.Warning, needs: needAll, Off: true,
		Summary: "a part of a subgraph's output that the caller never reads",
		Doc: "The subgraph declares its output as a map, or none at all and writes state keys that it does not read itself; the caller reads some other part or nothing. " +
			"A subgraph with several callers is right to yield more than each of them needs, so the rule is off until it is asked for. " +
			"It is silent where the whole result goes on: as input of a program or of a pass node, to a model or a router, into one state key, or as the run's own output.",
		Bad: `graphrun: v1
name: parent
start: rate
output: grade
state:
  grade: {type: integer}
nodes:
  rate: {kind: graph, graph: ./rate.yaml, writes: {grade: output.output.grade}}
edges:
  - {from: rate, to: END}
`,
		change: []string{"edges:\n", "  tell: {kind: human, prompt: \"Because {{ nodes.rate.output.output.reason }}\"}\nedges:\n", "to: END", "to: tell}\n  - {from: tell, to: END"},
		Files: map[string]string{"rate.yaml": `graphrun: v1
name: rate
start: work
state:
  grade: {type: integer, default: 0}
  reason: {type: string, default: ""}
output: {grade: grade, reason: reason}
nodes:
  work: {kind: set, set: {grade: 3, reason: "'neat'"}}
edges:
  - {from: work, to: END}
`},
		check: checkUnusedOutput,
	}
}

func checkUnusedOutput(f *facts) {
	for _, n := range f.graph.Nodes {
		g := f.childOf(n)
		if g == nil || n.Each.IsSet() {
			continue
		}
		t := taking{f: f, node: n}
		t.collect()
		if t.all {
			continue
		}
		parts, read := t.state, f.ownOutputs(g)
		if g.Output != nil {
			parts, read = t.output, nil
			for i := range g.Output.Fields {
				read = append(read, g.Output.Fields[i].Key)
			}
		} else if len(t.output) > 0 {
			continue // the result of the last node is what the caller is after
		}
		at := text(n, "graph")
		for _, name := range read {
			if slices.Contains(parts, "*") || slices.Contains(parts, name.Value) {
				continue
			}
			d := f.report(at.At(0, len(at.Value)), "nothing reads %q of what the subgraph yields", name.Value)
			d.Related = append(d.Related, spec.Related{File: g.File, Span: name.Span, Message: "it is declared here"})
		}
	}
}

// ownOutputs lists the state keys of a graph that it writes and does not read.
func (f *facts) ownOutputs(g *spec.Graph) []spec.Text {
	bound, found := bind.Check(g, f.opts.Kinds, nil)
	c := newFacts(g, bound, f.opts)
	if found.HasErrors() || !c.WellFormed() {
		return nil
	}
	read := c.keysUsed()
	if read.all {
		return nil
	}
	var out []spec.Text
	for key, writers := range c.writersByKey() {
		if key := g.State[key]; len(writers) > 0 && !read.names[key.Name.Value] && key.Scope.Value != "session" {
			out = append(out, key.Name)
		}
	}
	return out
}

// taking is what a graph takes from the result of one subgraph: parts of its
// output and keys of its state, "*" for all of them.
type taking struct {
	f             *facts
	node          *spec.Node
	all           bool
	output, state []string
}

// collect looks through everything that may read the result.
func (t *taking) collect() {
	f, id := t.f, t.node.ID.Value
	t.byWrites()
	t.onward()
	if t.all {
		return
	}
	x := f.uses()
	for i := range x.All {
		t.look(x.All[i].Program, "nodes", id, "output")
		t.look(x.All[i].Program, "branches", id, "output")
		t.look(x.All[i].Program, "inputs", id)
		t.look(x.All[i].Program, "history", id)
	}
	for _, p := range f.bound.Never {
		t.look(p, "nodes", id, "output")
		t.look(p, "history", id)
	}
	for _, u := range x.OfNode(t.node.Index) {
		if u.Moment != dataflow.Before {
			t.look(u.Program, "output")
		}
	}
	for _, i := range f.edgesOut()[t.node.Index] {
		for _, u := range x.OfEdge(i) {
			t.look(u.Program, "output")
		}
	}
	for _, cache := range f.caches() {
		t.all = t.all || mentions(cache, id)
	}
}

// byWrites adds what the node's list of writes takes.
func (t *taking) byWrites() {
	keys := t.node.Writes.Keys
	if len(keys) == 1 && keys[0].Value != "status" && keys[0].Value != "quality" {
		t.all = true // a key that the result does not have holds all of it
	}
}

// onward adds what the nodes that come next take as their input.
func (t *taking) onward() {
	f := t.f
	groups := f.flow().Groups[t.node.Index]
	for i := range groups {
		if groups[i].Kind == controlflow.ByDecision {
			t.all = true
		}
		for _, to := range groups[i].Targets {
			handsOn := len(groups[i].Edges) == 0
			for _, e := range groups[i].Edges {
				handsOn = handsOn || f.graph.Edges[e].Transform == nil
			}
			if groups[i].Kind == controlflow.OnFailure || !handsOn {
				continue
			}
			t.asInput(to)
		}
	}
	// A model is told what the nodes before it have yielded.
	for v, reached := range f.flow().Digraph.Reach(t.node.Index) {
		t.all = t.all || reached && v < len(f.graph.Nodes) && isModel(f.graph.Nodes[v])
	}
}

// asInput adds what a node takes of its input.
func (t *taking) asInput(v int) {
	f := t.f
	if v >= len(f.graph.Nodes) {
		t.all = t.all || f.graph.Output == nil
		return
	}
	n := f.graph.Nodes[v]
	if n.Kind.Value == "pass" || dataflow.GivenState(n) {
		t.all = true
		return
	}
	for _, u := range f.uses().OfNode(v) {
		t.look(u.Program, "input", t.node.ID.Value)
		t.look(u.Program, "input")
	}
}

// look adds what a program reads of the result, which it finds at prefix.
func (t *taking) look(p *eval.Program, prefix ...string) {
	if p == nil {
		return
	}
	for _, r := range p.Reads() {
		if rest, ok := below(r.Path, prefix); ok {
			t.take(rest)
		}
	}
}

// below is what a path names below a prefix; empty when it names all of it.
func below(path, prefix []string) (rest []string, ok bool) {
	for i, want := range prefix {
		switch {
		case i >= len(path):
			return nil, true
		case path[i] != want && path[i] != "*":
			return nil, false
		}
	}
	return path[len(prefix):], true
}

// take adds one path below the result.
func (t *taking) take(path []string) {
	path = slices.DeleteFunc(slices.Clone(path), func(part string) bool { return strings.HasPrefix(part, "[") })
	name := "*"
	if len(path) > 1 {
		name = path[1]
	}
	switch {
	case len(path) == 0 || path[0] == "*":
		t.all = true
	case path[0] == "output":
		t.output = append(t.output, name)
	case path[0] == "state":
		t.state = append(t.state, name)
	}
}
