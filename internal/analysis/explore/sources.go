// The results of nodes, and the parts of them that expressions read.

package explore

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
)

// source describes the results of a node.
type source struct {
	base  any
	parts []part
}

// part is a part of a result that something reads, or an input.
type part struct {
	path         []string
	name, source string   // of its slots
	keys         []string // state keys that it is written to as it is
	into         []string // state keys that are computed from it
	options      []any
	partial      bool // there are other options
	usual        any  // the value if nothing depends on it
	// counts says that a condition depends on it. now says that the machine itself reads it.
	// optional is set if a run can begin without the input.
	counts, now, optional bool
}

// findSource finds the parts of a node's result that are read, and their options.
func (m *Model) findSource(v int) source {
	n, b := m.graph.Nodes[v], &m.bound.Nodes[v]
	var src source
	m.computes[v] = map[string]bool{}
	if n.Kind.Value == "set" || n.Kind.Value == "pass" {
		for _, f := range b.Set {
			m.computes[v][f.Name] = true
		}
	}
	doc := domain.OutputSchema(n)
	for _, key := range n.Writes.Keys {
		path := []string{}
		if len(n.Writes.Keys) > 1 || domain.Subschema(doc, key.Value) != nil || doc == nil && m.readsMembers(v) {
			path = []string{key.Value}
		}
		p := src.addPart(path)
		p.keys = append(p.keys, key.Value)
		m.computes[v][key.Value] = false
	}
	for j, e := range n.Writes.Exprs {
		m.computes[v][e.Name.Value] = j >= len(b.Writes) || !m.copiesPart(e.Name.Value, b.Writes[j].Value.Program, &src)
	}
	for _, e := range m.own[v] {
		if e.Field != "writes" {
			delete(m.copies, e.Program)
		}
		if e.Field == "when" || e.Field == "goto" || e.Field == "never" {
			for _, read := range e.Program.Reads() {
				if read.Path[0] == "output" {
					src.addPart(read.Path[1:]).counts = true
				}
			}
		}
	}
	if n.HasEnds && !n.Goto.IsSet() {
		p := src.addPart([]string{"goto"})
		p.counts, p.now = true, true
	}
	for i := range src.parts {
		p := &src.parts[i]
		p.source, p.name = n.ID.Value+"."+strings.Join(p.path, "."), n.ID.Value
		p.now = p.now || n.Each.IsSet() || n.Kind.Value == "human"
		for _, key := range p.keys {
			p.name = p.keys[0]
			p.counts = p.counts || m.counts[key]
			p.now = p.now || !dataflow.Replaces(m.graph.Key(key)) || slices.Contains(m.asked, key)
		}
	}
	m.fillParts(v, doc, &src)
	return src
}

// readsMembers reports whether an expression reads a member of a node's result.
func (m *Model) readsMembers(v int) bool {
	return slices.ContainsFunc(m.own[v], func(e *dataflow.Use) bool {
		return slices.ContainsFunc(e.Program.Reads(), func(r eval.Read) bool { return r.Path[0] == "output" && len(r.Path) > 1 })
	})
}

// copiesPart adds the parts that an entry of writes reads. It reports whether the entry writes
// one of them as it is.
func (m *Model) copiesPart(key string, p *eval.Program, src *source) bool {
	if p == nil {
		return false
	}
	if tree := p.Tree(); tree.Op == eval.TreePath && tree.Path[0] == "output" && !slices.ContainsFunc(tree.Path, isElement) {
		part := src.addPart(tree.Path[1:])
		part.keys = append(part.keys, key)
		m.copies[p] = true
		return true
	}
	for _, read := range p.Reads() {
		if read.Path[0] == "output" {
			part := src.addPart(read.Path[1:])
			part.counts, part.into = part.counts || m.counts[key], append(part.into, key)
		}
	}
	return false
}

func isElement(name string) bool { return strings.HasPrefix(name, "[") }

// addPart finds or adds the part at a path, which ends before the first index.
func (s *source) addPart(path []string) *part {
	if i := slices.IndexFunc(path, isElement); i >= 0 {
		path = path[:i]
	}
	i := slices.IndexFunc(s.parts, func(p part) bool { return slices.Equal(p.path, path) })
	if i < 0 {
		i = len(s.parts)
		s.parts = append(s.parts, part{path: path})
	}
	return &s.parts[i]
}
