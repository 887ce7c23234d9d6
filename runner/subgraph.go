// Subgraphs: nodes of kind graph (GraphSpec §4).

package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

const graphKind = "graph"

// linker compiles a graph and every graph that it runs, each file once.
type linker struct {
	runner *Runner
	flows  map[string]*Flow // by cleaned path
	open   []string         // the files being linked, outermost first
	found  spec.Diagnostics
}

// link compiles g and its subgraphs. The flow is complete only when nothing was
// found.
func (l *linker) link(g *spec.Graph) *Flow {
	path := filepath.Clean(g.File.Name)
	l.open = append(l.open, path)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	flow, found := l.runner.compile(g)
	l.found = append(l.found, found...)
	l.flows[path] = flow
	for _, n := range g.Nodes {
		if n.Kind.Value != graphKind {
			continue
		}
		if file := n.Field("graph"); file != nil {
			flow.children[n.ID.Value] = l.child(g, file)
		}
	}
	return flow
}

// child links the file that a node names; nil when it can't be had, which is
// reported.
func (l *linker) child(g *spec.Graph, file *spec.Value) *Flow {
	path := filepath.Join(filepath.Dir(g.File.Name), file.Text.Value)
	if i := slices.Index(l.open, path); i >= 0 {
		cycle := append(slices.Clone(l.open[i:]), path)
		l.report(g, "subgraph-cycle", file.Span, "subgraphs run each other: "+strings.Join(cycle, " → "))
		return nil
	}
	if flow := l.flows[path]; flow != nil {
		return flow
	}
	load := l.runner.cfg.Load
	if load == nil {
		load = os.ReadFile
	}
	src, err := load(path)
	if err != nil {
		l.report(g, "subgraph-missing", file.Span, "subgraph "+strconv.Quote(file.Text.Value)+": "+err.Error())
		return nil
	}
	child, found := spec.Parse(path, src, spec.Options{Kinds: l.runner.kinds})
	found = append(found, spec.Check(child)...)
	if found.HasErrors() {
		l.found = append(l.found, found...)
		return nil
	}
	return l.link(child)
}

func (l *linker) report(g *spec.Graph, rule string, span spec.Span, message string) {
	l.found = append(l.found, spec.Diagnostic{
		File: g.File, Rule: rule, Severity: spec.Error, Span: span, Message: message,
	})
}

// nesting is where a subgraph's run stands in the run around it. The nil
// nesting is that of a run of its own.
type nesting struct {
	parent *driver
	task   machine.TaskID // that runs it
	node   string         // path of the node that runs it
	key    string
	left   int
	prefix string   // the target of the node that runs it
	hidden []string // what the run around it masks
}

// path is the path of a node of the run: outer/inner.
func (n *nesting) path(node string) string {
	if n == nil {
		return node
	}
	return n.node + "/" + node
}

// prefixOf begins the targets of questions in a subgraph that a node runs, for
// an element of its `each` unless index is -1.
func (n *nesting) prefixOf(node string, index int) string {
	if n != nil {
		node = n.prefix + "/" + node
	}
	if index >= 0 {
		node += "[" + strconv.Itoa(index) + "]"
	}
	return node
}

// whole is the path of a node in an event, which may be from a deeper subgraph
// and whole already.
func (n *nesting) whole(name string) string {
	if name == "" || name == spec.END || strings.Contains(name, "/") {
		return name
	}
	return n.path(name)
}

func (n *nesting) info() *machine.ParentInfo {
	if n == nil {
		return nil
	}
	return &machine.ParentInfo{Key: n.key, StepsLeft: n.left}
}

// subgraph runs the graph of a graph node; end takes what the parent has to know.
func (d *driver) subgraph(id machine.TaskID, work *machine.Work, end *machine.ChildEnd) Handler {
	hidden, settings := slices.Clone(d.mask.values), d.state.Models()
	return HandlerFunc(func(ctx context.Context, task *Task) (any, error) {
		node := task.Node
		if d.nested != nil {
			node = strings.TrimPrefix(node, d.nested.node+"/")
		}
		flow := d.flow.children[node]
		with, _ := task.Config["with"].(map[string]any)
		input, err := checkInput(flow.graph, with, nil)
		if err != nil {
			return nil, &Failure{Kind: "invalid_input", Message: "with: " + err.Error()}
		}
		secrets, err := readSecrets(flow.graph)
		if err != nil {
			return nil, &Failure{Kind: "invalid_input", Message: err.Error()}
		}
		nested := &nesting{
			parent: d, task: id, node: task.Node, prefix: d.nested.prefixOf(node, task.Index), key: task.Key,
			left: work.StepsLeft, hidden: hidden,
		}
		opts := Options{
			RunID: d.opts.RunID, Goal: d.opts.Goal, MaxConcurrency: d.opts.MaxConcurrency,
			Dir: filepath.Dir(flow.graph.File.Name), Models: settings.Models, ModelParams: settings.Params,
		}
		if d.watched {
			opts.Sink = childSink{d, nested}
		}
		child := newDriver(flow, opts, secrets, nested)
		result, err := child.run(ctx, input)
		if err != nil {
			return nil, err
		}
		child.mask.learn(child.state.Values())
		if len(child.mask.values) > 0 {
			d.send(message{learn: child.mask.values})
		}
		return child.outcome(result, end)
	})
}

// outcome is what a subgraph's run means for the node that ran it.
func (d *driver) outcome(result *Result, end *machine.ChildEnd) (any, error) {
	s := d.state
	end.Steps, end.Degraded = s.Steps+s.ChildSteps, s.Quality == machine.Degraded
	end.OutOfSteps = s.CutShort()
	switch s.Status {
	case machine.Completed:
		return map[string]any{
			"output": s.Output, "state": s.Values(), "status": string(s.Status), "quality": string(s.Quality),
		}, nil
	case machine.Cancelled:
		return nil, &Failure{Kind: "cancelled", Message: "the subgraph was cancelled"}
	}
	message := "subgraph " + d.flow.graph.Name.Value + ": " + string(s.Status)
	details := map[string]any{"status": string(s.Status), "reason": s.Reason}
	if f := result.Error; f != nil {
		message = "subgraph " + d.flow.graph.Name.Value + ": " + f.Error()
		details["error"] = failureDetails(f)
	}
	return nil, &Failure{Kind: "child_failed", Message: message, Details: details}
}

// failureDetails is a failure as plain data.
func failureDetails(f *Failure) map[string]any {
	out := map[string]any{"kind": f.Kind, "message": f.Message}
	if f.Node != "" {
		out["node"], out["attempt"] = f.Node, f.Attempt
	}
	if f.Details != nil {
		out["details"] = f.Details
	}
	return out
}

// childSink passes a subgraph's events on to the run around it, where they are
// numbered anew. It runs in the subgraph's goroutine.
type childSink struct {
	parent *driver
	nested *nesting
}

// Event copies the event, since it is valid only now, and sends it.
func (s childSink) Event(e *Event) error {
	switch e.Type {
	case RunStarted, RunFinished, RunPaused, RunResumed:
		return nil
	}
	own := *e
	own.Output = machine.Plain(e.Output)
	own.Next, own.Nodes = slices.Clone(e.Next), slices.Clone(e.Nodes)
	own.Candidates, own.Delta = slices.Clone(e.Candidates), slices.Clone(e.Delta)
	own.Node = s.nested.whole(own.Node)
	for i, name := range own.Nodes {
		own.Nodes[i] = s.nested.whole(name)
	}
	for i, name := range own.Next {
		own.Next[i] = s.nested.whole(name)
	}
	s.parent.send(message{child: &own})
	return nil
}

// relay tells an event of a subgraph.
func (d *driver) relay(e *Event) {
	if d.watched {
		d.event = *e
		d.emit()
	}
}
