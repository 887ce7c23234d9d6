// constant-condition and type-mismatch by the schemas of what expressions read and yield.

package lint

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// reader is a part of an expression, with the facts that hold where it is evaluated.
type reader struct {
	f       *facts
	use     *dataflow.Use
	element map[string]any // schema of #
	inside  *eval.Tree     // the predicate around it, or nil
	claims  []solve.Claim  // outcomes of the conditions around it
}

// visitParts visits a tree and all parts of it, outermost first.
func (r reader) visitParts(t *eval.Tree, visit func(reader, *eval.Tree)) {
	visit(r, t)
	inner := r
	for i, a := range t.Args {
		if t.Op == eval.TreeChoice && i > 0 {
			inner.claims = append(slices.Clip(r.claims), solve.Claim{Tree: t.Args[0], Holds: i == 1})
		}
		inner.visitParts(a, visit)
	}
	if t.Op != eval.TreeOther {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.Members)) {
		r.visitParts(t.Members[name], visit)
	}
	if t.Body != nil {
		r.visitParts(t.Over, visit)
		r.enterBody(t).visitParts(t.Body, visit)
	}
}

// enterBody returns the reader of the body of a predicate.
func (r reader) enterBody(t *eval.Tree) reader {
	r.element, r.inside, r.claims = domain.Subschema(r.schemaOf(t.Over), "[0]"), t, nil
	return r
}

// schemaOf returns the schema of what a tree yields, or nil.
func (r reader) schemaOf(t *eval.Tree) map[string]any {
	switch {
	case t.Op == eval.TreePath:
		return r.schemaAt(t.Path)
	case t.Over != nil && strings.HasPrefix(t.Name, "filter("):
		return r.schemaOf(t.Over)
	case t.Op == eval.TreeCall && (t.Name == "first" || t.Name == "last"):
		return domain.Subschema(r.schemaOf(t.Args[0]), "[0]")
	case t.Op == eval.TreeCall && t.Name == "type":
		return newEnumSchema("boolean", "integer", "list", "null", "number", "object", "string")
	}
	return nil
}

func newEnumSchema(words ...string) map[string]any {
	return map[string]any{"enum": collect(words, func(w string) any { return w })}
}

// schemaAt returns the schema of a path of the environment, or nil.
func (r reader) schemaAt(path []string) map[string]any {
	f, rest := r.f, path[1:]
	if key := f.graph.Key(path[0]); key != nil && len(rest) == 0 {
		return f.narrowSchema(key)
	} else if key != nil {
		return domain.Part(key.Schema, rest)
	} else if key := r.findChildKey(path); key != nil {
		return key.Schema
	} else if from := f.outputOf(eval.Read{Path: path}); from != nil {
		return outputSchema(from, path[3:])
	}
	switch path[0] {
	case "#":
		return domain.Part(r.element, rest)
	case "output":
		if n := r.node(); n != nil && r.use.Moment != dataflow.Before && (r.use.Edge < 0 || f.graph.Edges[r.use.Edge].Condition != "on_failure") {
			return outputSchema(n, rest)
		}
	case "item":
		if n := r.node(); n != nil && f.bound.Nodes[n.Index].Each != nil {
			return domain.Part(domain.Subschema(r.schemaOf(f.bound.Nodes[n.Index].Each.Tree), "[0]"), rest)
		}
	case "visits":
		if len(path) == 2 && f.graph.Node(path[1]) != nil {
			return newVisitsSchema(f.graph, f.graph.Node(path[1]))
		}
	}
	switch solve.PathName(path) {
	case "error.kind":
		return newEnumSchema(spec.FailureKinds()...)
	case "run.status":
		return newEnumSchema("completed", "failed", "stuck", "limit", "paused", "cancelled")
	}
	if path[0] == "outcome" || len(path) == 3 && path[0] == "nodes" && path[2] == "outcome" {
		return newEnumSchema("success", "failure")
	}
	return nil
}

// node returns the node that the expression belongs to, or nil.
func (r reader) node() *spec.Node {
	if r.use.Node < 0 {
		return nil
	}
	return r.f.graph.Nodes[r.use.Node]
}

// newVisitsSchema returns the schema of the number of visits of a node.
func newVisitsSchema(g *spec.Graph, n *spec.Node) map[string]any {
	doc := map[string]any{"type": "integer", "minimum": 0}
	if limit := n.VisitLimit(g); limit > 0 {
		doc["maximum"] = limit
	}
	return doc
}

// findChildKey returns the key of a subgraph that output.state.name or output.output reads, or nil.
func (r reader) findChildKey(path []string) *spec.StateKey {
	if r.use.Node < 0 || len(path) < 2 || path[0] != "output" || r.use.Moment == dataflow.Before {
		return nil
	}
	c := r.f.child(r.node())
	if c == nil {
		return nil
	}
	g := c.Graph
	if path[1] == "state" && len(path) == 3 {
		return g.Key(path[2])
	}
	out := g.Output
	for _, name := range path[2:] {
		out = out.Get(name)
	}
	if path[1] != "output" || out == nil || !out.IsScalar() {
		return nil
	}
	return g.Key(strings.TrimSpace(out.Text.Value))
}

// outputSchema returns the schema of a part of a node's output, or nil.
func outputSchema(n *spec.Node, path []string) map[string]any {
	if n.Each.IsSet() {
		return domain.Part(map[string]any{"type": "array", "items": domain.OutputPart(n, nil)}, path)
	}
	return domain.OutputPart(n, path)
}

// narrowSchema returns the schema of a key, or an enum of its values if nodes write only constants.
func (f *facts) narrowSchema(key *spec.StateKey) map[string]any {
	if key.Schema["type"] != "string" || key.Required || key.Default != nil || !dataflow.Replaces(key) || key.Once {
		return key.Schema
	}
	var values []any
	for _, n := range f.writersOf()[key.Name.Value] {
		d, known := f.domainOfWrite(n, key.Name.Value)
		if !known || len(d.Values) == 0 || n.Each.IsSet() {
			return key.Schema
		}
		values = append(values, d.Values...)
	}
	if _, known := domain.Literals(key.Schema); known || len(values) < 2 {
		return key.Schema
	}
	return map[string]any{"enum": values}
}

// checkComparisons reports comparisons that never hold, and conditions of ?: with a fixed outcome, except
// on the edges in skip.
func (f *facts) checkComparisons(skip map[int]bool) {
	uses := f.uses().All
	for i, p := range f.bound.Never {
		if at := f.graph.Policies[i].Get("never"); p != nil && at != nil {
			uses = append(slices.Clip(uses), &dataflow.Use{Node: -1, Edge: -1, Field: "never", Text: &at.Text, To: len(at.Text.Value), Program: p})
		}
	}
	for _, u := range uses {
		if u.Field == "when" && skip[u.Edge] {
			continue
		}
		reported := false
		reader{f: f, use: u}.visitParts(u.Program.Tree, func(r reader, t *eval.Tree) {
			if !reported {
				reported = r.checkComparison(t) || t.Op == eval.TreeChoice && r.checkChoice(t.Args[0])
			}
		})
	}
}

// checkComparison reports a comparison with a constant that can never hold.
func (r reader) checkComparison(t *eval.Tree) bool {
	if t.Op != eval.TreeBinary || len(t.Args) != 2 || r.inside != nil && (t.Name == "!=" || t.Name == "in" || strings.HasPrefix(r.inside.Name, "all(")) {
		return false // it may be meant for elements without a value, or for no element
	}
	for i, op := range []string{t.Name, mirrored[t.Name]} {
		side, others := t.Args[i], t.Args[1-i:2-i]
		if t.Name == "in" && i == 0 {
			op, others = "==", t.Args[1].Args
		}
		if at := len(side.Path); at > 2 && side.Path[at-2] == "details" && side.Path[at-1] == "status" && (op == "==" || op == "!=") {
			for _, c := range others {
				word, _ := c.Value.(string)
				if _, err := strconv.Atoi(word); err == nil {
					r.f.report(r.use.Span(), "%s is never %q: the status of an answer is a number", solve.PathName(side.Path), word)
					return true
				}
			}
		}
		doc := r.schemaOf(side)
		if opposite[op] == "" || doc == nil || !slices.ContainsFunc(others, func(c *eval.Tree) bool { return c.Op == eval.TreeConst && c.Value != nil }) {
			continue
		}
		name := r.use.Program.Source
		if side.Op == eval.TreePath {
			name = solve.PathName(side.Path)
		} else if side.Op == eval.TreeCall {
			name = side.Name + "(…)"
		}
		d := domain.OfSchema(doc, name, nil, eval.Any())
		isBounded := d.Values != nil || d.HasMin || d.HasMax
		for _, c := range others {
			if c.Op != eval.TreeConst || c.Value == nil || !isBounded {
				continue
			}
			value := domain.Literal(c.Value)
			switch {
			case op != "==" && op != "!=" && !canHold(d, op, c):
				r.f.report(r.use.Span(), "%s %s %s is never true: %s", name, op, value, d.Why)
			case (op == "==" || op == "!=") && !canHold(d, "==", c):
				near := ""
				if word, isText := c.Value.(string); isText {
					if near = suggest.Closest(word, stringsIn(d.Values)); near != "" {
						near = "; did you mean " + strconv.Quote(near) + "?"
					}
				}
				r.f.report(r.use.Span(), "%s is never %s: %s%s", name, value, strings.Replace(d.Why, name+" is", "it is", 1), near)
			case side.Op != eval.TreePath || side.Path[0] == "output" || side.Path[0] == "nodes": // a condition may say what its node yields
				continue
			case op[0] == '<' && d.HasMax && isBeyond(c, d.Max, 1) || op[0] == '>' && d.HasMin && isBeyond(c, d.Min, -1):
				r.f.report(r.use.Span(), "%s %s %s is always true: %s", name, op, value, d.Why)
			default:
				continue
			}
			return true
		}
	}
	return false
}

func stringsIn(values []any) (out []string) {
	for _, v := range values {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// isBeyond reports whether a constant is above a bound, or below it if side is -1.
func isBeyond(constant *eval.Tree, bound float64, side int) bool {
	n, isNumber := eval.Number(constant.Value)
	return isNumber && cmp.Compare(n, bound) == side
}

// canHold reports whether a comparison of a value of a domain with a constant can hold.
func canHold(d solve.Domain, op string, constant *eval.Tree) bool {
	value := &eval.Tree{Op: eval.TreePath, Path: []string{"value"}}
	claim := solve.Claim{Tree: &eval.Tree{Op: eval.TreeBinary, Name: op, Args: []*eval.Tree{value, constant}}, Holds: true}
	return new(solve.Solver).CanHold([]solve.Claim{claim}, func([]string, eval.Type) solve.Domain { return d })
}

// checkChoice reports a condition of ?: that has one outcome only.
func (r reader) checkChoice(condition *eval.Tree) bool {
	if condition.Op == eval.TreeConst {
		return false
	}
	known := func(path []string, typ eval.Type) solve.Domain {
		return domain.OfSchema(r.schemaAt(path), solve.PathName(path), nil, typ)
	}
	for _, outcome := range []bool{true, false} {
		if !r.f.solver.CanHold(append(slices.Clip(r.claims), solve.Claim{Tree: condition, Holds: outcome}), known) {
			r.f.report(r.use.Span(), "a condition of ?: is always %t, so one of its values is never used", !outcome)
			return true
		}
	}
	return false
}

// checkYield reports a part of an expression whose value a schema refuses.
func (r reader) checkYield(t *eval.Tree, doc map[string]any, what string) bool {
	if len(doc) == 0 {
		return false
	}
	items, _ := doc["items"].(map[string]any)
	switch {
	case t.Op == eval.TreeConst:
		return t.Value != nil && r.f.checkValues([]any{t.Value}, doc, r.span(), what, spec.Warning)
	case t.Op == eval.TreeChoice:
		return r.checkYield(t.Args[1], doc, what) || r.checkYield(t.Args[2], doc, what)
	case t.Op == eval.TreeBinary && t.Name == "??":
		return r.checkYield(t.Args[0], doc, what) || r.checkYield(t.Args[1], doc, what)
	case t.Op == eval.TreeList:
		return slices.ContainsFunc(t.Args, func(part *eval.Tree) bool { return r.checkYield(part, items, "an element of "+what) })
	case t.Body != nil && strings.HasPrefix(t.Name, "map("):
		return r.enterBody(t).checkYield(t.Body, items, "an element of "+what)
	case t.Members != nil:
		return r.checkMembers(t, doc, what)
	}
	from, name, isForm := r.schemaOf(t), "", false
	if t.Op == eval.TreePath {
		if name = solve.PathName(t.Path); name == "output" {
			name = "the output of " + strconv.Quote(r.node().ID.Value)
		}
		key := r.f.graph.Key(t.Path[0])
		if key == nil {
			key = r.findChildKey(t.Path)
		} else if len(t.Path) > 1 || !key.Required && r.f.isWrittenOnlyBy(t.Path[0], "set") || r.f.testedNames()[t.Path[0]] {
			return false // conditions may have narrowed it, or inputs alone set it
		}
		values, known := domain.Literals(from)
		switch {
		case known && t.Path[0] == "output" && key == nil:
			return false // the compiler of expressions checks them
		case known && key != nil && key.Default != nil: // a writer may always replace it
			from = map[string]any{"enum": slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == key.Default.Data() })}
		}
		isForm = t.Path[0] == "output" && r.node().Kind.Value == "human"
	} else {
		name = r.use.Program.Source
	}
	if from == nil {
		return false
	}
	value, why := findMisfit(from, doc, isForm)
	if why != "" {
		r.f.warn(r.span(), "%s: %s may be %s, but %s", what, name, domain.Literal(value), why)
	}
	return why != ""
}

// span returns the position of the whole scalar of an expression, with its quotes.
func (r reader) span() spec.Span {
	if r.use.InText {
		return r.use.Span()
	}
	return r.use.Text.Span
}

// checkMembers checks the members of an object that an expression makes.
func (r reader) checkMembers(t *eval.Tree, doc map[string]any, what string) bool {
	required, _ := doc["required"].([]any)
	for _, name := range required {
		if text, _ := name.(string); t.Members[text] == nil {
			r.f.warn(r.span(), "%s: the object lacks the required member %q", what, text)
			return true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Members)) {
		part := domain.Subschema(doc, name)
		if part == nil && doc["properties"] != nil && doc["additionalProperties"] == false {
			r.f.warn(r.span(), "%s: the schema has no member %q", what, name)
			return true
		}
		if r.checkYield(t.Members[name], part, strconv.Quote(name)+" of "+what) {
			return true
		}
	}
	return false
}

// findTestedNames returns the names that conditions read.
func (f *facts) findTestedNames() map[string]bool {
	out := map[string]bool{}
	for u, r := range f.uses().Reads() {
		if u.Field == "when" || u.Program.Tree.Op == eval.TreeChoice {
			out[r.Path[0]] = true
		}
	}
	return out
}

// findMisfit returns a value that one schema admits by its enum, minimum or maximum and another
// refuses, with the reason, or "". A form also admits numbers that it does not bound.
func findMisfit(from, to map[string]any, isForm bool) (value any, why string) {
	compiled, err := schema.Compile(to)
	if err != nil {
		return nil, ""
	}
	d := domain.OfSchema(from, "", nil, eval.Any())
	values := slices.Clone(d.Values)
	if d.Values == nil && (d.Kind == solve.Int || d.Kind == solve.Number) {
		limits := domain.OfSchema(to, "", nil, eval.Any())
		if d.HasMin {
			values = append(values, d.Min)
		} else if isForm && limits.HasMin {
			values = append(values, limits.Min-1)
		}
		if d.HasMax {
			values = append(values, d.Max)
		} else if isForm && limits.HasMax {
			values = append(values, limits.Max+1)
		}
	}
	for _, v := range values {
		if _, err := compiled.Accept(v); v != nil && err != nil {
			return v, err.Error()
		}
	}
	parts, _ := from["properties"].(map[string]any)
	for _, name := range append(slices.Sorted(maps.Keys(parts)), "[0]") {
		own, other := domain.Subschema(from, name), domain.Subschema(to, name)
		if own == nil || other == nil {
			continue
		}
		if v, why := findMisfit(own, other, isForm); why != "" && name == "[0]" {
			return v, why
		} else if why != "" {
			return v, name + ": " + why
		}
	}
	return nil, ""
}

// checkWrites reports what a node writes and a state key refuses.
func (f *facts) checkWrites(n *spec.Node) {
	for _, u := range f.uses().OfNode(n.Index) {
		u.Program.Tree.Each(func(t *eval.Tree) {
			if t.Op != eval.TreeCall || t.Name != "join" {
				return
			}
			if element := t.Args[0].Type.Elem(); !eval.String().Accepts(element) {
				f.warn(u.Span(), "join needs a list of strings, this is a list of %ss; use map(list, string(#))", element)
			}
		})
		for _, w := range f.access()[n.Index].Writes {
			if w.Value == u.Program {
				reader{f: f, use: u}.checkWrite(f.graph.State[w.Key], u.Program.Tree)
			}
		}
	}
	for i := range n.Writes.Keys {
		name := &n.Writes.Keys[i]
		path := []string{"output"}
		if domain.Subschema(domain.OutputPart(n, nil), name.Value) != nil {
			path = append(path, name.Value)
		} else if len(n.Writes.Keys) > 1 {
			continue
		}
		if key := f.graph.Key(name.Value); key != nil && dataflow.Replaces(key) {
			use := dataflow.Use{Node: n.Index, Edge: -1, Text: name, Moment: dataflow.After}
			reader{f: f, use: &use}.checkWrite(key, &eval.Tree{Op: eval.TreePath, Path: path})
		}
	}
	f.checkSumRange(n)
}

// checkWrite reports an expression whose value its state key refuses.
func (r reader) checkWrite(key *spec.StateKey, t *eval.Tree) {
	doc, what := key.Schema, "state key "+strconv.Quote(key.Name.Value)
	reducer, isAdded := key.Reducer.Value, r.addsToItself(t, key.Name.Value)
	switch reducer {
	case "append", "prepend", "union":
		if items := domain.Subschema(doc, "[0]"); t.Op != eval.TreeList && t.Body == nil && !t.Type.IsList() {
			doc = items
		}
		if reducer != "union" && isAdded {
			r.f.warn(r.use.Span(), "%s has the reducer %s, which adds to the old list; write only what is new", what, reducer)
		}
	case "sum":
		if isAdded {
			r.f.warn(r.use.Span(), "%s has the reducer sum, which adds to the old value; write only what is added", what)
		}
		return
	case "", "replace":
	default:
		return
	}
	isOutput := t.Op == eval.TreePath && t.Path[0] == "output" && !r.node().Each.IsSet()
	if !isOutput || !r.reportOptional(t.Path[1:], doc, what) {
		r.checkYield(t, doc, what)
	}
}

// reportOptional reports an output that may lack a member that a schema needs, and whether it did.
func (r reader) reportOptional(path []string, doc map[string]any, what string) bool {
	n := r.node()
	whole := domain.OutputPart(n, nil)
	for i := 0; i < len(path) && domain.Part(whole, path) != nil; i++ {
		outer := domain.Part(whole, path[:i])
		if (n.Kind.Value == "human" || outer["required"] != nil) && !domain.Requires(outer, path[i]) && !domain.AllowsNull(doc) {
			r.f.warn(r.span(), "the output of %q may be without %q, and %s needs a value; require it", n.ID.Value, path[i], what)
			return true
		}
	}
	return false
}

// checkSumRange reports a sum of a set node that leaves the range of its key in a run with defaults.
func (f *facts) checkSumRange(n *spec.Node) {
	if n.Kind.Value != "set" || n.Each.IsSet() || f.has < needAll || f.flow().Anywhere {
		return
	}
	for _, w := range f.access()[n.Index].Writes {
		if w.Value == nil || !f.leavesRange(f.graph.State[w.Key], w.Value.Tree) {
			continue
		}
		why := ""
		fixed := map[string]bool{}
		for _, key := range f.graph.State {
			fixed[key.Name.Value] = !key.Required && f.isWrittenOnlyBy(key.Name.Value, "set")
		}
		guide := f.findPathTo(n.Index)
		for round := findCycleThrough(f.alive(), n.Index); round != nil && len(guide) < maxGuide; {
			guide = append(guide, round[1:]...)
		}
		a := f.findRun(guide, explore.Question{Fixed: fixed, Hopeless: f.hopelessAfter(n.Index), Found: func(r *explore.Run) bool {
			at := slices.IndexFunc(r.State.Notes(), func(note machine.Note) bool { return note.Kind == machine.NoteNodeFailed && note.Node == n.ID.Value })
			if at >= 0 {
				why = r.State.Notes()[at].Failure.Message
			}
			return at >= 0
		}})
		if a.Found {
			f.warn(w.Name.Span, "%q fails on the path %s: %s", n.ID.Value, f.pathText(a.Witness), why)
			return
		}
	}
}

// maxGuide is the most nodes in a path that repeats a cycle.
const maxGuide = 40

// leavesRange reports whether a sum or a difference may be outside of the range of its key.
func (f *facts) leavesRange(key *spec.StateKey, t *eval.Tree) bool {
	if t.Op != eval.TreeBinary || !dataflow.Replaces(key) {
		return false
	}
	known := func(path []string, typ eval.Type) solve.Domain {
		return domain.OfSchema(reader{f: f, use: &dataflow.Use{Node: -1}}.schemaAt(path), "", nil, typ)
	}
	have, ok := solve.Interval(t, known)
	want := f.domainOfKey(key)
	return ok && (want.HasMin && have.HasMin && have.Min < want.Min || want.HasMax && have.HasMax && have.Max > want.Max)
}

// addsToItself reports whether an expression adds something to the value of a key.
func (r reader) addsToItself(t *eval.Tree, name string) bool {
	isOwn := func(part *eval.Tree) bool { return isKey(name, part) }
	switch {
	case t.Op == eval.TreeChoice:
		return r.addsToItself(t.Args[1], name) || r.addsToItself(t.Args[2], name)
	case t.Name == "-" && len(t.Args) == 2:
		return isOwn(t.Args[0])
	}
	return (t.Name == "+" && len(t.Args) == 2 || t.Name == "concat") && slices.ContainsFunc(t.Args, isOwn)
}

// site is a point where conditions are evaluated: after a success or a failure of a node, or after
// any failure if node is nil.
type site struct {
	f      *facts
	node   *spec.Node
	failed bool
}

// domain returns the values that a path may have, as far as they are known.
func (s *site) domain(path []string, typ eval.Type) solve.Domain {
	if key := s.f.graph.Key(path[0]); key != nil {
		return s.keyDomain(key, path[1:], typ)
	}
	switch path[0] {
	case "visits":
		if len(path) == 2 {
			return s.visitsDomain(path[1])
		}
	case "step":
		return s.stepDomain()
	case "node":
		return solve.Domain{Values: []any{s.node.ID.Value}}
	case "outcome":
		if s.failed {
			return solve.Domain{Values: []any{"failure"}, Why: `outcome is "failure" here`}
		}
		return solve.Domain{Values: []any{"success"}, Why: `outcome is "success" here: only edges with condition: on_failure are tried after a failure`}
	case "output":
		if !s.failed {
			return s.outputDomain(path[1:], typ)
		}
	case "error":
		return s.errorDomain(path, typ)
	}
	return domain.OfType(typ)
}

// errorDomain returns the domain of error, which is null after a success.
func (s *site) errorDomain(path []string, typ eval.Type) solve.Domain {
	if !s.failed {
		return solve.Domain{Values: []any{nil}, Why: "error is null after a success, and only edges with condition: on_failure are tried after a failure"}
	}
	if len(path) != 2 || path[1] != "kind" {
		d := domain.OfType(typ)
		d.Null = d.Null && (s.node == nil || len(path) > 1)
		return d
	}
	d := solve.Domain{Why: "error.kind is one of the kinds of failures"}
	if s.node != nil {
		d.Why = "error.kind is one of those in which " + s.node.Kind.Value + " nodes fail"
	}
	for _, kind := range spec.FailureKinds() {
		if s.node == nil || s.node.MayFailAs(kind) {
			d.Values = append(d.Values, kind)
		}
	}
	return d
}

// keyDomain returns the domain of a state key, or of a part of it.
func (s *site) keyDomain(key *spec.StateKey, rest []string, typ eval.Type) solve.Domain {
	if len(rest) > 0 {
		return domain.OfSchema(key.Schema, key.Name.Value, rest, typ)
	}
	written := !s.failed && !s.node.Each.IsSet() && s.f.alwaysWrites(s.node, s.f.keyOf[key.Name.Value])
	if written && dataflow.Replaces(key) && s.node.OnMaxVisits != "skip" && s.f.isStable(key, s.node.Index) {
		if d, ok := s.f.domainOfWrite(s.node, key.Name.Value); ok && len(d.Values) > 0 {
			d.Why = key.Name.Value + " is " + domain.DescribeChoice(d.Values) + " after " + strconv.Quote(s.node.ID.Value)
			return d
		}
	}
	d := s.f.domainOfKey(key)
	if written || key.Required || key.Default != nil && key.Default.Kind != spec.Null {
		d.Null = domain.AllowsNull(key.Schema)
	}
	return d
}

// domainOfKey returns the domain of a state key by its schema.
func (f *facts) domainOfKey(key *spec.StateKey) solve.Domain {
	return domain.OfSchema(key.Schema, key.Name.Value, nil, eval.FromSchema(key.Schema))
}

// isStable reports whether no node that may run in parallel with v writes a key.
func (f *facts) isStable(key *spec.StateKey, v int) bool {
	if w := f.flow(); !w.FansOut && !w.Anywhere {
		return true
	}
	return !key.Once && // else models in parallel may reset it
		!slices.ContainsFunc(f.writersOf()[key.Name.Value], func(n *spec.Node) bool { return n.Index != v && f.inParallel(v, n.Index) })
}

// visitsDomain returns the possible numbers of runs of a node when the site is reached.
func (s *site) visitsDomain(id string) solve.Domain {
	n := s.f.graph.Node(id)
	if n == nil {
		return domain.OfType(eval.Any())
	}
	d := domain.OfSchema(newVisitsSchema(s.f.graph, n), "", nil, eval.Int())
	d.Null = false
	if runsOnce := !s.f.flow().Anywhere && !s.f.flow().Cyclic[n.Index] && !s.f.inParallel(n.Index, n.Index); runsOnce {
		d.Max, d.HasMax = 1, true
	}
	if n == s.node || !s.f.flow().Anywhere && s.f.flow().Dominators().Dominates(n.Index, s.node.Index) {
		d.Min = 1
	}
	d.Why = domain.DescribeRange(solve.PathName([]string{"visits", id}), d) + " here"
	return d
}

// stepDomain bounds the number of the step that was just taken.
func (s *site) stepDomain() solve.Domain {
	d := solve.Domain{Kind: solve.Int, HasMin: true}
	if limit := s.f.graph.Limits.MaxSteps; limit > 0 {
		d.Max, d.HasMax = float64(limit), true
	}
	if !s.failed { // a visit that a limit refuses is not a step
		d.Min = float64(s.f.stepsBefore()[s.node.Index] + 1)
	}
	d.Why = domain.DescribeRange("step", d) + " here"
	return d
}

// outputDomain returns the domain of the node's output, or of a part of it.
func (s *site) outputDomain(rest []string, typ eval.Type) solve.Domain {
	if s.node.Each.IsSet() {
		return domain.OfType(typ)
	}
	doc := domain.OutputPart(s.node, rest)
	if doc == nil {
		return domain.OfType(typ)
	}
	d := domain.OfSchema(doc, strings.Join(append([]string{"output"}, rest...), "."), nil, typ)
	d.Null = domain.AllowsNull(doc)
	if whole := domain.OutputSchema(s.node); whole != nil {
		d.Null = d.Null || len(rest) > 1 || len(rest) == 1 && !domain.Requires(whole, rest[0]) || domain.AllowsNull(whole)
	}
	return d
}

// domainOfWrite returns the domain of what one node writes to a key.
func (f *facts) domainOfWrite(n *spec.Node, key string) (solve.Domain, bool) {
	path := []string{key}
	if value := dataflow.FindWrite(&f.bound.Nodes[n.Index], key); value != nil {
		t := value.Tree()
		if t == nil || t.Op != eval.TreePath || t.Path[0] != "output" {
			return domain.OfChoice(t)
		}
		path = t.Path[1:]
	} else if len(n.Writes.Keys) == 1 && domain.OutputPart(n, path) == nil && domain.Subschema(n.Output, key) == nil {
		path = nil
	}
	doc := domain.OutputPart(n, path)
	if doc == nil {
		return solve.Domain{}, false
	}
	d := domain.OfSchema(doc, "", nil, eval.Any())
	d.Null = domain.AllowsNull(doc)
	return d, true
}

// checkFailedElements reports reads and writes that ignore the null or error of a failed element.
func (f *facts) checkFailedElements() {
	for v, n := range f.graph.Nodes {
		how := controlflow.ParallelOf(f.graph, v).OnFailure
		if !n.Each.IsSet() || !canFail(n) || how == "" || how == "fail_all" {
			continue
		}
		for _, w := range f.access()[v].Writes {
			items := domain.Subschema(f.graph.State[w.Key].Schema, "[0]")
			whole := w.Value == nil || isOutput(w.Value.Tree)
			switch {
			case !whole || items["type"] == nil:
			case how == "wait_all" && !eval.FromSchema(items).IsObject() && !eval.FromSchema(items).IsAny():
				f.warn(w.Name.Span, "state key %q holds no objects, and an element of %q that fails is {error: …} (on_failure: %s)", w.Name.Value, n.ID.Value, how)
			case how == "continue_others" && !domain.AllowsNull(items):
				f.warn(w.Name.Span, "state key %q holds no nulls, and an element of %q that fails is null (on_failure: %s); write filter(output, # != nil)", w.Name.Value, n.ID.Value, how)
			}
		}
		for _, u := range f.uses().OfNode(v) {
			if how == "continue_others" && u.Moment != dataflow.Before && readsElements(u.Program.Tree) {
				f.warn(u.Span(), "an element of %q that fails is null (on_failure: %s), and null has no members; filter the list first", n.ID.Value, how)
			}
		}
	}
}

func isOutput(t *eval.Tree) bool {
	return t.Op == eval.TreePath && slices.Equal(t.Path, []string{"output"})
}

// readsElements reports whether a tree reads a member of each element of the output.
func readsElements(t *eval.Tree) bool {
	if t.Over != nil && isOutput(t.Over) && t.Body.Op == eval.TreePath && len(t.Body.Path) > 1 && t.Body.Path[0] == "#" {
		return true
	}
	return slices.ContainsFunc(t.Args, readsElements)
}
