// Resolving the subgraphs of a graph.

package flowtree

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/spec"
)

// resolver compiles a graph and all graphs that it runs, each file once.
type resolver struct {
	cfg   *Config
	flows map[string]*Tree // by cleaned path
	open  []string         // the files being compiled, outermost first
	found spec.Diagnostics
	// nodes are the nodes that run the graphs being compiled. tool means that one of these graphs is a
	// tool.
	nodes []string
	tool  bool
	files map[string][]byte // texts that were read, by absolute path
	built []*Tree           // inner graphs first
}

// resolveGraph compiles g and its subgraphs. The tree is incomplete if there are findings.
func (l *resolver) resolveGraph(g *spec.Graph) *Tree {
	path := filepath.Clean(g.File.Name) + g.Ref()
	key := l.treeKey(path)
	for _, text := range g.File.Texts {
		l.files[AbsolutePath(text.Name)] = text.Src
	}
	l.open = append(l.open, path)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	if rewrite := l.cfg.Rewrite; rewrite != nil && !l.tool {
		g = rewrite(strings.Join(l.nodes, "/"), g)
	}
	flow := &Tree{Graph: g, inner: map[string]*Tree{}}
	l.flows[key] = flow
	for _, n := range g.Nodes {
		if n.Kind.Value != graphKind {
			continue
		}
		if file := n.Field("graph"); file != nil {
			l.nodes = append(l.nodes, n.ID.Value)
			child := l.resolveChild(g, file)
			if flow.addInner(n.ID.Value+":"+file.Text.Value, child) && child.levels >= spec.MaxDepth {
				l.addError(g, "subgraph-cycle", file.Span, spec.TooDeepMessage(file.Text.Value))
			} else if child != nil {
				flow.levels = max(flow.levels, child.levels+1)
			}
			l.nodes = l.nodes[:len(l.nodes)-1]
		}
	}
	l.resolveTools(g, flow)
	l.found = append(l.found, flow.buildPlan(l.cfg.Kinds)...)
	l.built = append(l.built, flow)
	return flow
}

// treeKey identifies a graph by its path and, if graphs are rewritten, by the nodes that run it.
func (l *resolver) treeKey(path string) string {
	if l.cfg.Rewrite == nil || l.tool {
		return path
	}
	return strings.Join(l.nodes, "/") + "\x00" + path
}

// resolveChild compiles the file that a node names. It reports an error and returns nil if that fails.
func (l *resolver) resolveChild(g *spec.Graph, file *spec.Value) *Tree {
	path, inner := spec.ResolvePath(g.File.Name, file.Text.Value), g.InnerGraph(file.Text.Value)
	if inner != nil {
		path = filepath.Clean(g.File.Name) + inner.Ref()
	}
	if i := slices.Index(l.open, path); i >= 0 {
		cycle := append(slices.Clone(l.open[i:]), path)
		l.addError(g, "subgraph-cycle", file.Span, "subgraphs run each other: "+strings.Join(cycle, " → "))
		return nil
	}
	if flow := l.flows[l.treeKey(path)]; flow != nil {
		return flow
	}
	if len(l.open) >= spec.MaxDepth {
		l.addError(g, "subgraph-cycle", file.Span, spec.TooDeepMessage(file.Text.Value))
		return nil
	}
	if inner != nil {
		return l.resolveGraph(inner)
	}
	src, err := l.readFile(path)
	if err != nil {
		l.addError(g, "subgraph-missing", file.Span, "subgraph "+strconv.Quote(file.Text.Value)+": "+err.Error())
		return nil
	}
	child, found := spec.Parse(path, src, spec.Options{Kinds: l.cfg.Kinds, Load: func(text string) ([]byte, error) {
		return l.readFile(spec.ResolvePath(path, text))
	}})
	found = append(found, spec.Check(child)...)
	if found.HasErrors() {
		l.found = append(l.found, found...)
		return nil
	}
	return l.resolveGraph(child)
}

func (l *resolver) readFile(path string) (src []byte, err error) {
	name := AbsolutePath(path)
	src, ok := l.cfg.Kept[name]
	switch load := l.cfg.Load; {
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

func (l *resolver) addError(g *spec.Graph, rule string, span spec.Span, message string) {
	l.found = append(l.found, spec.Diagnostic{
		File: g.File, Rule: rule, Severity: spec.Error, Span: span, Message: message,
	})
}
