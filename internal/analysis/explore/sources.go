// What nodes yield, and who reads which part of it.

package explore

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
)

// source finds which parts of a node's result are read, and what they may be.
func (m *Model) source(v int) source {
	n := m.graph.Nodes[v]
	var src source
	if n.Kind.Value == "set" || n.Kind.Value == "pass" {
		for _, f := range m.bound.Nodes[v].Set {
			m.writes[v] = append(m.writes[v], written{f.Name, byGraph})
		}
	}
	doc := domain.OutputSchema(n)
	for _, key := range n.Writes.Keys {
		path := []string{}
		if len(n.Writes.Keys) > 1 || domain.Subschema(doc, key.Value) != nil || doc == nil && m.readsParts(v) {
			path = []string{key.Value}
		}
		i := src.part(path)
		src.parts[i].keys = append(src.parts[i].keys, key.Value)
		m.writes[v] = append(m.writes[v], written{key.Value, i})
	}
	for j, e := range n.Writes.Exprs {
		m.writes[v] = append(m.writes[v], m.writing(v, j, e.Name.Value, &src))
	}
	after := map[string]bool{}
	for _, e := range m.own[v] {
		if e.Field != "when" && e.Field != "goto" && e.Field != "never" {
			continue
		}
		for _, read := range e.Program.Reads() {
			after[read.Path[0]] = true
			if read.Path[0] == "output" {
				p := &src.parts[src.part(plainPath(read.Path[1:]))]
				p.counts, p.now = true, true
			}
		}
	}
	if n.HasEnds && !n.Goto.IsSet() {
		p := &src.parts[src.part([]string{"goto"})]
		p.counts, p.now = true, true
	}
	for i := range src.parts {
		p := &src.parts[i]
		p.source = n.ID.Value + "." + strings.Join(p.path, ".")
		for _, key := range p.keys {
			p.counts = p.counts || m.counts[key]
			p.now = p.now || after[key] || !dataflow.Replaces(m.graph.Key(key)) || n.Each.IsSet()
		}
	}
	src.whole()
	m.fill(v, doc, &src)
	return src
}

// readsParts reports whether something reads a part of what a node yields: it is an
// object then.
func (m *Model) readsParts(v int) bool {
	return slices.ContainsFunc(m.own[v], func(e *dataflow.Use) bool {
		return slices.ContainsFunc(e.Program.Reads(), func(r eval.Read) bool { return r.Path[0] == "output" && len(r.Path) > 1 })
	})
}

// writing is one entry of writes that has an expression.
func (m *Model) writing(v, j int, key string, src *source) written {
	if j >= len(m.bound.Nodes[v].Writes) {
		return written{key, computed}
	}
	p := m.bound.Nodes[v].Writes[j].Value.Program()
	if p == nil {
		return written{key, byGraph}
	}
	if _, ok := p.Const(); ok {
		return written{key, byGraph}
	}
	if tree := p.Tree(); tree.Op == eval.TreePath && tree.Path[0] == "output" && len(plainPath(tree.Path[1:])) == len(tree.Path)-1 {
		i := src.part(tree.Path[1:])
		src.parts[i].keys = append(src.parts[i].keys, key)
		return written{key, i}
	}
	for _, read := range p.Reads() {
		if read.Path[0] == "output" {
			part := &src.parts[src.part(plainPath(read.Path[1:]))]
			part.now, part.counts, part.into = true, part.counts || m.counts[key], append(part.into, key)
		}
	}
	return written{key, computed}
}

// plainPath is a path up to its first index.
func plainPath(path []string) []string {
	if i := slices.IndexFunc(path, func(part string) bool { return strings.HasPrefix(part, "[") }); i >= 0 {
		return path[:i]
	}
	return path
}

// part finds or adds the part at a path.
func (s *source) part(path []string) int {
	for i := range s.parts {
		if slices.Equal(s.parts[i].path, path) {
			return i
		}
	}
	s.parts = append(s.parts, part{path: path})
	return len(s.parts) - 1
}

// whole makes parts that have others in them stand for those: they are tried together.
func (s *source) whole() {
	for i := range s.parts {
		p := &s.parts[i]
		for j := range s.parts {
			q := &s.parts[j]
			if i == j || len(q.path) <= len(p.path) || !slices.Equal(q.path[:len(p.path)], p.path) || !p.counts {
				continue
			}
			p.now, p.counts = true, p.counts || q.counts
			q.counts = false
		}
	}
}
