// Resolving: a graph and the graphs that it runs, compiled together.

package runner

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/spec"
)

// resolver compiles a graph and every graph that it runs, each file once.
type resolver struct {
	runner *Runner
	flows  map[string]*Flow // by cleaned path
	open   []string         // the files being compiled, outermost first
	found  spec.Diagnostics
	// nodes are those that run the graphs that are being compiled; tool says that one of
	// these is a tool, whichever node calls it.
	nodes []string
	tool  bool
	// kept are texts that stand instead of files, and files what was read, both by
	// absolute path.
	kept, files map[string][]byte
}

// resolve compiles g and its subgraphs. The flow is complete only when nothing was
// found.
func (l *resolver) resolve(g *spec.Graph) *Flow {
	path := filepath.Clean(g.File.Name) + g.Ref()
	key := l.key(path)
	for _, text := range g.File.Texts() {
		l.files[absolute(text.Name)] = text.Src
	}
	l.open = append(l.open, path)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	if rewrite := l.runner.cfg.Rewrite; rewrite != nil && !l.tool {
		g = rewrite(strings.Join(l.nodes, "/"), g)
	}
	flow, found := l.runner.compile(g)
	l.found = append(l.found, found...)
	l.flows[key] = flow
	for _, n := range g.Nodes {
		if n.Kind.Value != graphKind {
			continue
		}
		if file := n.Field("graph"); file != nil {
			l.nodes = append(l.nodes, n.ID.Value)
			flow.children[n.ID.Value] = l.child(g, file)
			l.nodes = l.nodes[:len(l.nodes)-1]
		}
	}
	l.resolveTools(g, flow)
	return flow
}

// key tells flows apart: where graphs are rewritten, those of one file by the node
// that runs them.
func (l *resolver) key(path string) string {
	if l.runner.cfg.Rewrite == nil || l.tool {
		return path
	}
	return strings.Join(l.nodes, "/") + "\x00" + path
}

// child compiles the file that a node names; nil when it can't be had, which is
// reported.
func (l *resolver) child(g *spec.Graph, file *spec.Value) *Flow {
	path, inner := beside(g.File.Name, file.Text.Value), g.Inner(file.Text.Value)
	if inner != nil {
		path = filepath.Clean(g.File.Name) + inner.Ref()
	}
	if i := slices.Index(l.open, path); i >= 0 {
		cycle := append(slices.Clone(l.open[i:]), path)
		l.report(g, "subgraph-cycle", file.Span, "subgraphs run each other: "+strings.Join(cycle, " → "))
		return nil
	}
	if flow := l.flows[l.key(path)]; flow != nil {
		return flow
	}
	if inner != nil {
		return l.resolve(inner)
	}
	src, err := l.read(path)
	if err != nil {
		l.report(g, "subgraph-missing", file.Span, "subgraph "+strconv.Quote(file.Text.Value)+": "+err.Error())
		return nil
	}
	child, found := spec.Parse(path, src, spec.Options{Kinds: l.runner.kinds, Load: func(text string) ([]byte, error) {
		return l.read(beside(path, text))
	}})
	found = append(found, spec.Check(child)...)
	if found.HasErrors() {
		l.found = append(l.found, found...)
		return nil
	}
	return l.resolve(child)
}

// beside is the path of a file that another one names.
func beside(file, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// read reads a file, from where it is kept if it is.
func (l *resolver) read(path string) (src []byte, err error) {
	name := absolute(path)
	src, ok := l.kept[name]
	switch load := l.runner.cfg.Load; {
	case ok:
	case load != nil:
		src, err = load(path)
	default:
		src, err = bounded.ReadFile(path, bounded.Text)
	}
	if err == nil {
		l.files[name] = src
	}
	return src, err
}

func (l *resolver) report(g *spec.Graph, rule string, span spec.Span, message string) {
	l.found = append(l.found, spec.Diagnostic{
		File: g.File, Rule: rule, Severity: spec.Error, Span: span, Message: message,
	})
}
