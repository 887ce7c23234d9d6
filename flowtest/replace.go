// Replacing nodes in flows. A stub replaces a node that the machine executes itself, and the
// expression of a stub is evaluated as a field of its node.

package flowtest

import (
	"slices"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// prepared is a flow that is ready to run.
type prepared struct {
	runner *runner.Runner
	flow   *runner.Flow
}

// stubKind is the kind of nodes that only have a stub. exprsKey is the key of any node that
// holds the expressions of its stub.
const (
	stubKind = "stub"
	exprsKey = "x-stub"
)

// exprBase is the offset of expressions of stubs, beyond the end of any file.
const exprBase = 1 << 40

// newRunner returns a runner for cases and dry runs.
func newRunner(cfg *Config, kept store.Store, rewrite func(string, *spec.Graph) *spec.Graph) (*runner.Runner, error) {
	kinds := slices.Concat(node.Kinds(node.Options{Stand: newStandIns()}), cfg.Kinds, []runner.Kind{{
		Spec:    spec.Kind{Name: stubKind, Keys: humanKeys()},
		Handler: runner.HandlerFunc(runStub),
	}})
	exprs := spec.Key{Name: exprsKey, Type: spec.TypeMap, Role: spec.RoleExpr, Elem: &spec.Key{Type: spec.TypeString, Role: spec.RoleExpr}}
	for i := range kinds {
		kinds[i].Spec.Keys = append(slices.Clip(kinds[i].Spec.Keys), exprs)
		kinds[i].Handler = realOnly{kinds[i].Handler}
	}
	return runner.New(runner.Config{
		Kinds: kinds, Decider: decider{node.NewDecider(node.Options{Stand: newStandIns()})}, Store: kept, Rewrite: rewrite,
		Hooks: runner.Hooks{BeforeNode: answerNode},
	})
}

// chooseFlow prepares the flow that a case runs, and reports invalid stubs.
func (f *File) chooseFlow(c *Case) {
	replaced := f.findReplaced(c)
	var kept store.Store
	keeps := len(c.resumes) > 0 || c.session != nil
	if c.flow = f.flows[replaced.key]; c.flow != nil && !keeps {
		return
	}
	if keeps {
		memory := &store.Memory{}
		if c.session != nil && c.session.Kind == spec.Map {
			keys, _ := c.session.Data().(map[string]any)
			if err := memory.SaveSession(store.Session{ID: c.opts.Session, Keys: keys, Run: "before", Graph: f.Graph.Name.Value}); err != nil {
				f.report(c.session.Span, "invalid-value", "%v", err)
				return
			}
		}
		kept = memory
	}
	flow, invalid, err := f.prepareFlow(kept, replaced.rewrite)
	if err != nil {
		f.report(c.at, "invalid-value", "%v", err)
	}
	f.reportStubs(c, replaced, invalid)
	if c.flow = flow; !keeps {
		f.flows[replaced.key] = flow
	}
}

// reportStubs reports findings about the expressions of stubs at their place in the test file.
func (f *File) reportStubs(c *Case, replaced *replacement, found spec.Diagnostics) {
	for _, d := range found {
		if i := d.Span.From - exprBase; i >= 0 && i < len(replaced.exprs) {
			d.File, d.Span = f.src, replaced.exprs[i].expr.Span
			f.found = append(f.found, d)
		} else {
			f.report(c.at, "invalid-value", "%s", d.Message)
		}
	}
}

// replacement lists the replaced nodes of a flow, by path.
type replacement struct {
	stubs map[string]*stub // of the nodes to replace
	exprs []*entry
	key   string // equal for equal replacements
}

// findReplaced finds the nodes that a case replaces.
func (f *File) findReplaced(c *Case) *replacement {
	r := &replacement{stubs: map[string]*stub{}}
	for _, name := range sortedNames(c.stubs) {
		s := c.stubs[name]
		n, err := f.plain.flow.Find(name)
		if err != nil || len(s.exprs) == 0 && !isMachineKind(n.Kind.Value) {
			continue
		}
		r.stubs[name] = s
		r.exprs = append(r.exprs, s.exprs...)
		r.key += name + "\x00"
		for _, e := range s.exprs {
			r.key += e.key + "\x00" + e.guardedExpr() + "\x00"
		}
	}
	return r
}

// isMachineKind reports whether the machine executes nodes of a kind itself.
func isMachineKind(kind string) bool {
	return slices.Contains([]string{"fail", "human", "pass", "set", "wait"}, kind)
}

// rewrite replaces the nodes of one graph.
func (r *replacement) rewrite(path string, g *spec.Graph) *spec.Graph {
	with := map[string]*spec.Node{}
	for _, n := range g.Nodes {
		name := n.ID.Value
		if path != "" {
			name = path + "/" + name
		}
		if s := r.stubs[name]; s != nil {
			with[n.ID.Value] = r.stubNode(n, s)
		}
	}
	return g.WithNodes(with)
}

// stubNode returns a node with the expressions of its stub, and with a handler.
func (r *replacement) stubNode(n *spec.Node, s *stub) *spec.Node {
	out := *n
	out.Fields = slices.Clone(n.Fields)
	switch kind := n.Kind.Value; {
	case kind == "graph" && s.isReal(): // the runner refuses its expressions
	case kind == "graph" || isMachineKind(kind):
		out.Fields = nil
		out.Kind.Value = stubKind
		copyContract(&out, n)
	}
	if len(s.exprs) == 0 {
		return &out
	}
	exprs := spec.Value{Kind: spec.Map}
	for _, e := range s.exprs {
		at := exprBase + slices.Index(r.exprs, e)
		text := spec.Text{Value: e.guardedExpr(), Span: spec.Span{From: at, To: at + 1}}
		exprs.Fields = append(exprs.Fields, spec.Field{
			Key: spec.Text{Value: e.key}, Value: spec.Value{Kind: spec.String, Text: text},
		})
	}
	out.Fields = append(out.Fields, spec.Field{Key: spec.Text{Value: exprsKey}, Value: exprs})
	return &out
}

// copyContract makes a stub treat its output as the original kind does: a set node writes its
// keys, and an answer must fit the schema.
func copyContract(out, n *spec.Node) {
	switch n.Kind.Value {
	case "set":
		if set := n.Field("set"); set != nil && out.Writes.Keys == nil && out.Writes.Exprs == nil {
			for i := range set.Fields {
				out.Writes.Keys = append(out.Writes.Keys, set.Fields[i].Key)
			}
		}
	case "human":
		if schema := n.Field("schema"); schema != nil && out.Output == nil {
			out.Output, _ = schema.Data().(map[string]any)
			out.OutputSource = schema
		}
		if choices := n.Field("choices"); choices != nil && choices.Kind == spec.List && out.Output == nil {
			out.Output, out.OutputSource = map[string]any{"enum": choices.Data()}, choices
		}
		out.Timeout = 0 // nobody is asked
	}
}
