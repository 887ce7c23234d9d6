// Stubs: the results of nodes and tools that do not run. A stub replaces a node that the machine
// executes itself, and the expression of a stub is evaluated as a field of its node.

package flowtest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// stub holds the results of a node: one for all visits, or a list by visit.
type stub struct {
	name   string // the path of the node
	line   int
	visits []*entry
	list   bool
	// exprs lists the entries with an expression.
	exprs []*entry
}

// entry is the result of one execution.
type entry struct {
	line     int
	output   *spec.Value // may be nil
	failure  *runner.Failure
	expr     spec.Text
	key      string // the name of the expression under exprsKey
	guard    string // a condition: the entry is for this execution
	attempts []*entry
	items    []*entry
	real     bool
	delay    time.Duration
	events   []map[string]any
}

// readStubs reads stubs by name. check reports unknown names.
func (f *File) readStubs(v *spec.Value, check func(spec.Text)) map[string]*stub {
	out := map[string]*stub{}
	for _, field := range v.Entries() {
		check(field.Key)
		s := &stub{name: field.Key.Value, line: f.findLine(field.Key.Span), list: field.Value.Kind == spec.List}
		given := field.Value.OneOrAll()
		for j := range given {
			var guards []string
			if s.list && !strings.Contains(s.name, "/") {
				guards = []string{"visit == " + strconv.Itoa(j+1)}
			}
			s.visits = append(s.visits, f.readEntry(s, &given[j], guards))
		}
		out[s.name] = s
	}
	return out
}

func (f *File) readEntry(s *stub, v *spec.Value, guards []string) *entry {
	e := &entry{line: f.findLine(v.Span), output: v.Get("output"), delay: parseDuration(v.Get("delay"))}
	if failure := v.Get("error"); failure != nil {
		kind, kinds := failure.Get("kind").Scalar(), spec.FailureKinds()
		e.failure = &runner.Failure{Kind: kind.Value, Message: cmp.Or(failure.Get("message").Scalar().Value, "the stub says so")}
		if near := suggest.Closest(kind.Value, kinds); near != "" && !slices.Contains(kinds, kind.Value) { // programs may use kinds of their own
			f.report(kind.Span, "invalid-value", "unknown kind of failure %q; did you mean %q?", kind.Value, near)
		}
		e.failure.Details, _ = failure.Get("details").Data().(map[string]any)
	}
	if expr := v.Get("expr"); expr != nil {
		e.expr, e.key, e.guard = expr.Text, strconv.Itoa(len(s.exprs)), strings.Join(guards, " and ")
		s.exprs = append(s.exprs, e)
	}
	for _, item := range v.Get("attempts").OneOrAll() {
		e.attempts = append(e.attempts, f.readEntry(s, &item, guards))
	}
	for i, item := range v.Get("items").OneOrAll() {
		e.items = append(e.items, f.readEntry(s, &item, append(slices.Clip(guards), "index == "+strconv.Itoa(i))))
	}
	if yes := v.Get("real"); yes != nil {
		if e.real, _ = yes.Data().(bool); !e.real {
			f.report(yes.Span, "invalid-value", `"real" must be true: leave it out, or say what the node comes to`)
		}
	}
	for _, item := range v.Get("events").OneOrAll() {
		event, _ := item.Data().(map[string]any)
		e.events = append(e.events, event)
	}
	return e
}

// guardedExpr returns the expression, which is null in other executions.
func (e *entry) guardedExpr() string {
	if e.guard == "" {
		return e.expr.Value
	}
	return "(" + e.guard + ") ? (" + e.expr.Value + ") : nil"
}

// attemptKey identifies an attempt for the stubs of its node.
type attemptKey struct {
	visit, attempt int // from 1
	index          int // of an element, from 0; -1 without each
}

// pickEntry returns the entry for an execution, or the reason why there is none.
func (s *stub) pickEntry(at attemptKey, what string) (e *entry, problem string) {
	e = s.visits[0]
	if n := len(s.visits); s.list && at.visit > n {
		entries := strconv.Itoa(n) + " entries"
		if n == 1 {
			entries = "1 entry"
		}
		return nil, fmt.Sprintf("no stub for %s %d of %q: its list has %s", what, at.visit, s.name, entries)
	} else if s.list {
		e = s.visits[at.visit-1]
	}
	for {
		switch {
		case e.items != nil && at.index < 0:
			return nil, fmt.Sprintf("the stub of %q has items, but the node has no each", s.name)
		case e.items != nil && at.index >= len(e.items):
			return nil, fmt.Sprintf("no stub for element %d of %q: its items are %d", at.index, s.name, len(e.items))
		case e.items != nil:
			e = e.items[at.index]
		case e.attempts != nil && at.attempt > len(e.attempts):
			return nil, fmt.Sprintf("no stub for attempt %d of %q: its attempts are %d", at.attempt, s.name, len(e.attempts))
		case e.attempts != nil:
			e = e.attempts[at.attempt-1]
		default:
			return e, ""
		}
	}
}

// isReal reports whether one of the entries runs the node.
func (s *stub) isReal() bool {
	var isReal func(e *entry) bool
	isReal = func(e *entry) bool {
		return e.real || slices.ContainsFunc(e.attempts, isReal) || slices.ContainsFunc(e.items, isReal)
	}
	return slices.ContainsFunc(s.visits, isReal)
}

// preparedFlow is a flow that is ready to run.
type preparedFlow struct {
	runner *runner.Runner
	flow   *runner.Flow
}

// stubKind is the kind of stubbed nodes, exprsKey the key for the expressions of their stubs.
const (
	stubKind = "stub"
	exprsKey = "x-stub"
)

// exprBase is the offset of expressions of stubs, beyond the end of any file.
const exprBase = 1 << 40

// newRunner returns a runner for cases and dry runs.
func newRunner(cfg *Config, kept store.Store, rewrite func(string, *spec.Graph) *spec.Graph) (*runner.Runner, error) {
	builtin := spec.BuiltinKinds
	human := slices.IndexFunc(builtin, func(k spec.Kind) bool { return k.Name == "human" })
	kinds := slices.Concat(node.Kinds(node.Options{StandIns: newStandIns()}), cfg.Kinds, []runner.Kind{{
		Spec:    spec.Kind{Name: stubKind, Keys: builtin[human].Keys}, // stubPeople replaces human nodes
		Handler: runner.HandlerFunc(runStub),
	}})
	exprs := spec.Key{Name: exprsKey, Type: spec.TypeMap, Role: spec.RoleExpr, Elem: &spec.Key{Type: spec.TypeString, Role: spec.RoleExpr}}
	for i := range kinds {
		kinds[i].Spec.Keys = append(slices.Clip(kinds[i].Spec.Keys), exprs)
		kinds[i].Handler = realTimeHandler{kinds[i].Handler}
	}
	return runner.New(runner.Config{
		Kinds: kinds, Decider: decider{node.NewDecider(node.Options{StandIns: newStandIns()})}, Store: kept, Rewrite: rewrite,
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

// reportStubs reports findings about the expressions of stubs at their positions in the test file.
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

func (f *File) findReplaced(c *Case) *replacement {
	r := &replacement{stubs: map[string]*stub{}}
	for _, name := range sortedNames(c.stubs) {
		s := c.stubs[name]
		n, err := f.plain.flow.FindNode(name)
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

// copyContract gives a stub the keys that a set node writes, or the schema of an answer.
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
