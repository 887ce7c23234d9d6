// The rules about subgraphs: subgraph-missing, subgraph-cycle, and a part of invalid-value.

package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/spec"
)

func graphRules() []Rule {
	return []Rule{
		{
			Name: "subgraph-missing", Group: "structure", Severity: spec.Error, needs: needNode,
			Summary: "the file of a subgraph does not exist or is not a valid graph",
			Doc:     "A node of kind graph, or a tool with graph, names a file by its path relative to this one. It must be there and be a graph file without errors.",
			Bad:     single("call", "", "{kind: graph, graph: ./no-such-file.yaml}"),
			change:  []string{"no-such-file", "child"},
			Files:   map[string]string{"child.yaml": oneNode},
			check:   checkSubgraphMissing,
		},
		{
			Name: "subgraph-cycle", Group: "structure", Severity: spec.Error, needs: needNode,
			Summary: "a subgraph runs itself, directly or through others",
			Doc:     "A graph that runs itself as a subgraph never ends: each run starts another before it goes on. Repeat within one graph, by an edge that leads back.",
			Bad:     single("call", "", "{kind: graph, graph: ./back.yaml}"),
			change:  []string{"back.yaml", "child.yaml"},
			Files: map[string]string{
				"back.yaml":  single("again", "", "{kind: graph, graph: ./back.yaml}"),
				"child.yaml": oneNode,
			},
			check: checkSubgraphCycle,
		},
	}
}

func checkSubgraphMissing(f *facts) {
	told := map[*subgraph.Graph]bool{}
	for _, r := range subgraph.References(f.graph) {
		c := f.subgraphs().Load(f.graph, "", r.Value)
		if c == nil || c.Problem == "" || told[c] {
			continue
		}
		d := f.report(r.At(0, len(r.Value)), "%q %s", r.Value, c.Problem)
		if told[c] = c.Place != nil; told[c] { // a problem inside the file is reported once
			d.Related = append(d.Related, *c.Place)
		}
	}
}

func checkSubgraphCycle(f *facts) {
	own := f.graph.Ref()
	for _, r := range subgraph.References(f.graph) {
		w := &nesting{f: f, done: map[string]bool{}, chain: []string{own}}
		if !w.visit(f.graph, "", r.Value) {
			continue
		}
		if w.deep {
			f.report(r.At(0, len(r.Value)), "%s", spec.TooDeepMessage(r.Value))
			continue
		}
		if last := w.chain[len(w.chain)-1]; last != own && strings.HasPrefix(last, "#") {
			continue // a cycle of other graphs of the file: it is reported there
		}
		for i, name := range w.chain {
			if name == "" || name[0] == '#' {
				w.chain[i] = w.ownFile() + name
			}
		}
		f.report(r.At(0, len(r.Value)), "%q never ends: %s", r.Value, strings.Join(w.chain, " → "))
	}
}

// nesting follows subgraphs of subgraphs.
type nesting struct {
	f     *facts
	done  map[string]bool
	chain []string // open graphs: paths of files, or "#name" for a graph within this one
	deep  bool     // the chain is longer than spec.MaxDepth
}

func (w *nesting) ownFile() string {
	return path.Base(strings.ReplaceAll(w.f.graph.File.Name, "\\", "/"))
}

// visit reports whether a reference of a graph leads back to an open graph; the chain then
// shows how.
func (w *nesting) visit(g *spec.Graph, file, name string) bool {
	c := w.f.subgraphs().Load(g, file, name)
	if c == nil {
		return false
	}
	at := c.Path
	if at == w.ownFile() {
		at = ""
	}
	if slices.Contains(w.chain, at) {
		w.chain = append(w.chain, at)
		return true
	}
	if c.Graph == nil || w.done[at] {
		return false
	}
	w.chain = append(w.chain, at)
	if w.deep = len(w.chain) > spec.MaxDepth; w.deep {
		return true
	}
	for _, r := range subgraph.References(c.Graph) {
		if w.visit(c.Graph, c.File, r.Value) {
			return true
		}
	}
	w.chain = w.chain[:len(w.chain)-1]
	w.done[at] = true
	return false
}

// checkFinalPeople reports nodes of finally whose subgraph asks a person. spec.Check reports
// those that ask one themselves.
func checkFinalPeople(f *facts) {
	for _, n := range f.graph.Nodes {
		if n.Final && n.Kind.Value == "graph" {
			if who, file := f.findPerson(f.graph, "", text(n, "graph").Value, map[*spec.Graph]bool{}); who != nil {
				d := f.report(n.ID.Span, "%q can't run a subgraph that asks a person (%q): it runs in finally, when the end of the run is decided", n.ID.Value, who.ID.Value)
				d.Related = append(d.Related, spec.Related{File: file, Span: who.Kind.Span, Message: "it is asked here"})
			}
		}
	}
}

// findPerson returns the first node that asks a person in a subgraph or below it, or nil, and its file.
func (f *facts) findPerson(g *spec.Graph, file, name string, seen map[*spec.Graph]bool) (*spec.Node, *spec.File) {
	c := f.subgraphs().Load(g, file, name)
	if c == nil || c.Graph == nil || seen[c.Graph] {
		return nil, nil
	}
	seen[c.Graph] = true
	for _, n := range c.Graph.Nodes {
		if n.Kind.Value == "human" {
			return n, c.Graph.File
		}
		if who, at := f.findPerson(c.Graph, c.File, text(n, "graph").Value, seen); n.Kind.Value == "graph" && who != nil {
			return who, at
		}
	}
	return nil, nil
}
