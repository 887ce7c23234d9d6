// The rules about values that are read: read-before-write, template-missing.

package lint

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/assignment"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/spec"
)

// variable is a state key or the output of a node; the other index is -1.
type variable struct{ key, node int }

// assignments is the definite-assignment analysis of the variables that expressions read.
type assignments struct {
	*assignment.Analysis
	f         *facts
	variables []variable
	number    map[variable]int
}

// variableOf returns the key or output that a read needs if it may have no value.
func (f *facts) variableOf(r eval.Read) (variable, bool) {
	if key, ok := f.keyOf[r.Path[0]]; ok {
		return variable{key, -1}, f.graph.State[key].Default == nil && !f.graph.State[key].Required
	}
	if n := f.outputOf(r); n != nil {
		return variable{-1, n.Index}, true
	}
	return variable{}, false
}

// outputOf returns the node whose output a read is about, or nil.
func (f *facts) outputOf(r eval.Read) *spec.Node {
	if len(r.Path) > 2 && r.Path[0] == "nodes" && r.Path[2] == "output" {
		return f.graph.Node(r.Path[1])
	}
	return nil
}

// findAssignments computes the assignment, or nil if a node may lead anywhere or nothing is read.
func (f *facts) findAssignments() *assignments {
	if f.flow().Anywhere {
		return nil
	}
	m := &assignments{f: f, number: map[variable]int{}}
	for _, r := range f.uses().Reads() {
		t, ok := f.variableOf(r)
		if _, known := m.number[t]; ok && !known {
			m.number[t], m.variables = len(m.variables), append(m.variables, t)
		}
	}
	if len(m.variables) == 0 {
		return nil
	}
	m.Analysis = f.assigned().WithVariables(len(m.variables))
	for v, n := range f.graph.Nodes {
		if !f.maySkipUnassigned(v) {
			for _, w := range f.access()[v].Always {
				if i, asked := m.number[variable{w.Key, -1}]; asked {
					m.AddAssignment(v, i)
				}
			}
		}
		i, asked := m.number[variable{-1, v}]
		if asked && (n.OnMaxVisits != "skip" || !f.flow().Cyclic[v] && !f.flow().FansOut) { // a skipped visit has no output
			m.AddAssignment(v, i)
		}
	}
	m.learnFromConditions()
	m.Solve()
	return m
}

// learnFromConditions notes variables that conditions prove assigned, like comment after comment != None.
func (m *assignments) learnFromConditions() {
	for _, a := range m.f.arcs() {
		for _, o := range m.f.listOutcomes(a) {
			for _, number := range m.listProvable(o.program) {
				if !m.provesAssigned(solve.Claim{Tree: o.program.Tree, Holds: o.holds}, o.program, number, a.From) {
					continue
				}
				m.AddProof(a.From, a.To, a.Group, number)
				for _, e := range m.f.flow().GroupOf(a).Edges {
					if !o.holds { // an edge that is tried before
						m.AddProof(a.From, -1, e, number)
					}
				}
			}
		}
	}
}

// provesAssigned reports whether the outcome of a condition after a node, or of a part of it, proves a
// variable assigned.
func (m *assignments) provesAssigned(claim solve.Claim, program *eval.Program, number, v int) bool {
	null := m.findNullPaths(number)
	return !m.f.solver.CanHold([]solve.Claim{claim}, func(path []string, _ eval.Type) solve.Domain {
		if d, known := m.findValuesWithout(number, path); known {
			return d
		}
		for i := range path {
			isOptional := i == len(path)-1 || strings.Contains(program.Source, "?.") // ?. makes a member of null null
			if isOptional && null[strings.Join(path[:i+1], ".")] {
				return solve.Domain{Values: []any{nil}}
			}
		}
		if m.hasErrorWithout(number, path, v) {
			return solve.Domain{Kind: solve.Other}
		}
		return solve.Domain{Null: true}
	})
}

// findValuesWithout returns the values that a state key may have while a variable is unassigned, if
// nodes that do not assign the variable write only a few.
func (m *assignments) findValuesWithout(number int, path []string) (d solve.Domain, known bool) {
	key := m.f.graph.Key(path[0])
	if len(path) > 1 || key == nil || !m.holdsLastWrite(key) {
		return d, false
	}
	d.Values = []any{nil}
	if key.Default != nil {
		d.Values[0] = key.Default.Data()
	}
	for _, n := range m.f.writersOf()[path[0]] {
		if m.Assigns(n.Index, number) {
			continue
		}
		written, ok := m.f.domainOfWrite(n, path[0])
		if !ok || written.Values == nil || n.Each.IsSet() || len(n.Before) > 0 {
			return d, false
		}
		d.Values = append(d.Values, written.Values...)
	}
	return d, true
}

// holdsLastWrite reports whether the value of a key is the last one that a node wrote, or its default.
func (m *assignments) holdsLastWrite(key *spec.StateKey) bool {
	return !key.Required && key.Scope.Value != "session" && dataflow.Replaces(key)
}

// isGuarded reports whether earlier parts of a condition prove a variable assigned where it is read.
func (m *assignments) isGuarded(u *dataflow.Use, r eval.Read, number int) bool {
	return u.Node >= 0 && slices.ContainsFunc(listEarlierParts(u.Program.Tree, r), func(c solve.Claim) bool {
		return m.provesAssigned(c, u.Program, number, u.Node)
	})
}

// listEarlierParts returns the outcomes of the parts of a condition that are evaluated before a read.
func listEarlierParts(t *eval.Tree, r eval.Read) (claims []solve.Claim) {
	for t.Op == eval.TreeBinary && (t.Name == "and" || t.Name == "or") {
		reads := false
		t.Args[0].Each(func(part *eval.Tree) { reads = reads || part.Op == eval.TreePath && part.Path[0] == r.Path[0] })
		if reads {
			t = t.Args[0]
			continue
		}
		claims = append(claims, solve.Claim{Tree: t.Args[0], Holds: t.Name == "and"})
		t = t.Args[1]
	}
	return claims
}

// hasErrorWithout reports whether a path has an error at a join under wait_all if a branch did not
// assign a variable.
func (m *assignments) hasErrorWithout(number int, path []string, join int) bool {
	flow := m.f.flow()
	if len(path) != 3 || path[0] != "branches" || path[2] != "error" || !m.WaitsForAll(join) {
		return false
	}
	n := m.f.graph.Node(path[1])
	if n == nil || !m.Assigns(n.Index, number) || flow.HasGroup(n.Index, controlflow.OnFailure) {
		return false
	}
	for fork, g := range flow.AllGroups() {
		if len(flow.Groups[fork]) == 1 && !g.Subset && len(g.Targets) > 1 && slices.Contains(g.Targets, n.Index) {
			return controlflow.ParallelOf(m.f.graph, fork).OnFailure == "wait_all" && flow.Dominators().Dominates(fork, join)
		}
	}
	return false
}

// listProvable lists the variables that a condition may prove assigned: the variables that it reads, and
// the variables of the nodes whose outputs or errors it reads.
func (m *assignments) listProvable(p *eval.Program) []int {
	var out []int
	for _, read := range p.Reads {
		t, _ := m.f.variableOf(read)
		if i, asked := m.number[t]; asked {
			out = append(out, i)
		}
		var nodes []*spec.Node
		if n := m.f.outputOf(read); n != nil {
			nodes = append(nodes, n)
		} else if read.Path[0] == "branches" && len(read.Path) > 1 {
			if n = m.f.graph.Node(read.Path[1]); n != nil {
				nodes = append(nodes, n)
			}
		} else if key := m.f.graph.Key(read.Path[0]); key != nil && m.holdsLastWrite(key) {
			nodes = m.f.writersOf()[read.Path[0]]
		}
		for _, n := range nodes[:min(len(nodes), maxRivals)] {
			for _, w := range m.f.access()[n.Index].Always {
				if i, asked := m.number[variable{w.Key, -1}]; asked {
					out = append(out, i)
				}
			}
		}
	}
	return out
}

// findNullPaths returns the paths that are null while a variable is unassigned.
func (m *assignments) findNullPaths(number int) map[string]bool {
	out, of := map[string]bool{}, m.variables[number]
	if of.key >= 0 {
		out[m.f.graph.State[of.key].Name.Value] = true
	}
	for v, n := range m.f.graph.Nodes {
		if v == of.node || m.Assigns(v, number) {
			out["nodes."+n.ID.Value+".output"], out["branches."+n.ID.Value+".output"] = true, true
		}
	}
	return out
}

func checkReadBeforeWrite(f *facts) {
	f.checkUnchangedDefaults()
	f.checkEarlyJoins()
	m := f.assignments()
	if m == nil {
		return
	}
	seen := map[[2]int]bool{} // node and variable
	for _, u := range f.uses().All {
		if u.Optional || u.Moment == dataflow.AtEnd && u.Program.Path() != nil {
			continue // an output that only reads a path may be null
		}
		var open *big.Int
		for _, r := range dataflow.FirmReads(u.Program) {
			number := m.findVariable(u, r)
			at := [2]int{u.Node, number}
			if number < 0 || seen[at] {
				continue
			}
			if u.Node >= 0 && f.graph.Nodes[u.Node].Final {
				seen[at] = m.reportFinalRead(u, r, number)
				continue
			}
			if open == nil {
				open = m.OpenAt(u)
			}
			if seen[at] = open.Bit(number) == 1 && !m.isGuarded(u, r, number); seen[at] {
				m.reportOpenRead(u, r, number)
			}
		}
	}
}

// checkUnchangedDefaults reports templates that read a key before any node can have written it.
func (f *facts) checkUnchangedDefaults() {
	const most = 64
	after := map[string][]bool{} // by key: the nodes that its writers reach
	for u, r := range f.uses().Reads() {
		if u.Node < 0 || u.Optional || !u.InText && u.Field != "each" || f.graph.Nodes[u.Node].Final || !f.flow().Reached[u.Node] || f.flow().Anywhere {
			continue
		}
		name := r.Path[0]
		key, writers := f.graph.Key(name), f.writersOf()[name]
		if key == nil || key.Required || key.Default == nil || len(writers) == 0 || len(writers) > most || key.Scope.Value == "session" {
			continue
		}
		reached, known := after[name]
		if !known && len(after) < most {
			reached = f.flow().Digraph.Reach(collect(writers, func(n *spec.Node) int { return n.Index })...)
			after[name] = reached
		}
		isBeside := func(n *spec.Node) bool { return f.inParallel(n.Index, u.Node) }
		if reached != nil && !reached[u.Node] && !slices.ContainsFunc(writers, isBeside) {
			after[name] = nil // once
			f.report(u.SpanOf(name), "%q always has its default here: nodes write it only later", name)
		}
	}
}

// checkEarlyJoins reports joins that continue with the first branch, although later nodes read keys
// of several branches, or count more than one element of a list to which the branches append.
func (f *facts) checkEarlyJoins() {
	for _, join := range f.graph.Nodes {
		if join.Join == nil || join.Join.Wait != "any" || f.flow().Anywhere {
			continue
		}
		behind, before := f.alive().Reach(join.Index), f.findVerticesBefore(join.Index)
		read, counted := map[string]bool{}, map[string]bool{}
		for _, u := range f.uses().All {
			if !u.Optional && (u.Node < 0 || behind[u.Node]) {
				for _, r := range dataflow.FirmReads(u.Program) {
					read[r.Path[0]] = true
				}
				u.Program.Tree.Each(func(t *eval.Tree) { counted[keyCountedToTwo(t)] = true })
			}
		}
		var writes []writer // later nodes need more than one of them
		for _, w := range f.writes() {
			key, writers := f.graph.State[w.Key], f.writersOf()[w.Name.Value]
			isElsewhere := func(n *spec.Node) bool { return !before[n.Index] }
			isNeeded := read[w.Name.Value] && len(writers) == 1 || counted[w.Name.Value] && !dataflow.Replaces(key) && f.addsOne(w)
			if isNeeded && key.Default != nil && len(writes) < maxRivals && !slices.ContainsFunc(writers, isElsewhere) {
				writes = append(writes, w)
			}
		}
		for i, w := range writes {
			isBeside := func(e writer) bool { return e.node != w.node && f.inParallel(e.node, w.node) }
			if k := slices.IndexFunc(writes[:i], isBeside); k >= 0 {
				f.report(join.Join.Span, "%q goes on with the first branch, but %q of %q and %q of %q are read behind it; write wait: all", join.ID.Value,
					writes[k].Name.Value, f.Name(writes[k].node), w.Name.Value, f.Name(w.node))
				break
			}
		}
	}
}

// addsOne reports whether a write surely adds one element to a list.
func (f *facts) addsOne(w writer) bool {
	if n := f.graph.Nodes[w.node]; w.Value == nil && !n.Each.IsSet() {
		d, known := f.domainOfWrite(n, w.Name.Value)
		return known && (d.Values != nil || d.Kind != solve.Any && d.Kind != solve.Other)
	}
	return w.Value != nil && !w.Value.Type().IsAny() && !w.Value.Type().IsList()
}

// keyCountedToTwo returns the key whose elements a comparison counts to two or more, or "".
func keyCountedToTwo(t *eval.Tree) string {
	if t.Op != eval.TreeBinary || t.Name != ">=" && t.Name != ">" && t.Name != "==" {
		return ""
	}
	n, _ := eval.Number(t.Args[1].Value)
	list := t.Args[0].Over
	if t.Args[0].Op == eval.TreeCall && t.Args[0].Name == "len" {
		list = t.Args[0].Args[0]
	}
	if list == nil || list.Op != eval.TreePath || n < 2 && (n < 1 || t.Name != ">") {
		return ""
	}
	return list.Path[0]
}

// findVariable returns the number of the variable that a use reads, or -1.
func (m *assignments) findVariable(u *dataflow.Use, r eval.Read) int {
	f := m.f
	t, ok := f.variableOf(r)
	switch {
	case !ok:
		return -1
	case t.key < 0 && t.node == u.Node && u.Moment != dataflow.Before:
		return -1 // its own output, once it has run
	case t.key < 0 && u.Node >= 0:
		if _, race := f.findFork(t.node, u.Node); race {
			return -1 // rule parallel-conflict
		}
	case u.Field == "set" && u.Node >= 0: // an earlier assignment of the node may have written it
		writes := f.access()[u.Node].Writes
		if slices.ContainsFunc(writes[:min(u.Order, len(writes))], func(w dataflow.Write) bool { return w.Key == t.key }) {
			return -1
		}
	}
	return m.number[t]
}

// mayBeOpen reports whether a key may have no value where an expression uses it.
func (f *facts) mayBeOpen(u *dataflow.Use, key int) bool {
	if m := f.assignments(); m != nil {
		number, ok := m.number[variable{key, -1}]
		return ok && m.OpenAt(u).Bit(number) == 1
	}
	return false
}

// describeVariable returns the name of a variable in messages.
func (m *assignments) describeVariable(number int) string {
	if t := m.variables[number]; t.key < 0 {
		return "the output of " + m.f.Name(t.node)
	}
	return strconv.Quote(m.f.graph.State[m.variables[number].key].Name.Value)
}

// reportFinalRead reports a read in a node of finally unless nodes of finally surely wrote it.
func (m *assignments) reportFinalRead(u *dataflow.Use, r eval.Read, number int) bool {
	f, key := m.f, m.variables[number].key
	for _, name := range f.graph.Finally {
		n := f.graph.Node(name.Value)
		if n == nil || key < 0 {
			continue
		}
		own := n.Index == u.Node
		if f.alwaysWrites(n, key) && (own && u.Moment != dataflow.Before || !own && n.Kind.Value == "set") {
			return false
		}
		if own {
			break
		}
	}
	f.report(u.SpanOf(r.Path[0]), "%s may not be there yet: finally runs however the run ends, also before anything has made it; give it a default, or read it as optional", m.describeVariable(number))
	return true
}

// valueAt returns the value at a path, or nil.
func valueAt(value any, path []string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func checkTemplateMissing(f *facts) {
	f.checkPlainTexts()
	for _, u := range f.uses().All {
		// In other texts a $ may precede a price.
		if at := strings.LastIndex(u.Text.Value[:u.From], "${{"); at >= 0 && u.Node >= 0 && f.graph.Nodes[u.Node].Kind.Value == "http" && strings.TrimSpace(u.Text.Value[at+3:u.From]) == "" {
			f.report(u.Text.At(at, at+1), "the $ before {{ stays in the text; expressions are written {{ … }}")
		}
		if u.Optional {
			f.checkOptionalInput(u)
			continue
		}
		reader{f: f, use: u}.visitParts(u.Program.Tree, func(r reader, t *eval.Tree) {
			if t.Op == eval.TreePath {
				r.checkMember(t.Path)
			}
		})
		for _, r := range dataflow.FirmReads(u.Program) {
			if u.Node < 0 {
				continue
			}
			switch n := f.graph.Nodes[u.Node]; {
			case (r.Path[0] == "item" || r.Path[0] == "index") && !n.Each.IsSet() && f.graph.Key(r.Path[0]) == nil:
				f.report(u.SpanOf(r.Path[0]), "%q is known only in a node with each, and %q has none", r.Path[0], n.ID.Value)
			case len(r.Path) > 2 && r.Path[0] == "run" && r.Path[1] == "input":
				f.checkRunInput(u, "run.input", r.Path[2])
			case u.Moment == dataflow.Before && len(r.Path) > 1 && r.Path[0] == "input":
				f.checkInputMember(u, n, r.Path[1], f.Into[u.Node])
			}
		}
		if u.Moment == dataflow.Before && needsError(u.Program.Tree) {
			f.checkError(u, f.graph.Nodes[u.Node], f.Into[u.Node])
		}
	}
}

// checkPlainTexts reports templates in persona and goal, which graphrun does not evaluate.
func (f *facts) checkPlainTexts() {
	check := func(where string, texts ...spec.Text) {
		for _, text := range texts {
			if at := closedPart.Get().FindStringIndex(text.Value); at != nil {
				f.report(text.At(at[0], at[1]), "%s stands in the %s as it is: no expression is evaluated there; say it in instructions or in a prompt", text.Value[at[0]:at[1]], where)
			}
		}
	}
	goal := &f.graph.Goal
	for _, n := range f.graph.Nodes {
		for i := range n.Fields {
			if field := &n.Fields[i]; slices.Contains([]string{"prompt", "instructions", "message", "url", "query", "body", "headers", "args", "set"}, field.Key.Value) {
				visitTexts(&field.Value, "", f.checkSingleBraces)
			}
		}
	}
	check("persona", f.graph.Persona)
	check("goal", slices.Concat([]spec.Text{goal.Description}, goal.SuccessCriteria, goal.Constraints)...)
}

// checkSingleBraces reports the name of a state key in single braces.
func (f *facts) checkSingleBraces(of *spec.Text, _ string) {
	text := of.Value
	if !strings.Contains(text, "{") {
		return
	}
	for _, at := range singleBraces.Get().FindAllStringSubmatchIndex(text, -1) {
		if name := text[at[2]:at[3]]; f.graph.Key(name) != nil && (at[0] == 0 || text[at[0]-1] != '{') && (at[1] == len(text) || text[at[1]] != '}') {
			f.report(of.At(at[0], at[1]), "{%s} stays in the text as it is; write {{ %s }}", name, name)
		}
	}
}

// closedPart matches a part of a template, singleBraces a name in braces.
var closedPart, singleBraces = lazyregexp.New(`(?s)\{\{.*?\}\}`), lazyregexp.New(`\{ ?(\w+)(?:\.\w+)* ?\}`)

// needsError reports whether an expression fails when the variable error is null.
func needsError(t *eval.Tree) bool {
	switch {
	case t.Op == eval.TreePath:
		return len(t.Path) > 1 && t.Path[0] == "error"
	case t.Op == eval.TreeList, t.Op == eval.TreeCall, t.Op == eval.TreeBinary && (t.Name == "+" || t.Name == "=="):
		return slices.ContainsFunc(t.Args, needsError)
	}
	return false
}

// checkError reports a read of error in a node that no failure precedes.
func (f *facts) checkError(u *dataflow.Use, n *spec.Node, into []int) {
	if n.Final || len(into) == 0 && n.Index == f.Start() {
		f.report(u.SpanOf("error"), "%q also runs when nothing has failed, and error is null then; write it with a question mark", n.ID.Value)
		return
	}
	for _, i := range into {
		if e := f.graph.Edges[i]; e.Condition != "on_failure" {
			d := f.report(u.SpanOf("error"), "the edge from %q is taken after a success, and error is null then; write it with a question mark, or lead there by on_failure only", e.From.Value)
			d.Related = append(d.Related, f.related(e.From.Span, "the edge"))
			return
		}
	}
}

// checkRunInput reports a member of the run's input that may be missing, and whether it did.
func (f *facts) checkRunInput(u *dataflow.Use, path, name string) bool {
	switch key := f.graph.Key(name); {
	case key == nil && f.graph.StrictState:
		f.report(u.Span(), "the run's input has no %q: it is not a declared state key", name)
	case key != nil && !key.Required && u.InText:
		f.report(u.Span(), "%s.%s is missing when it is not given; write %s, or %s.%s with a question mark", path, name, name, path, name)
	default:
		return false
	}
	return true
}

// checkInputMember reports an edge that hands over an input without a member.
func (f *facts) checkInputMember(u *dataflow.Use, n *spec.Node, name string, into []int) {
	if slices.ContainsFunc(n.Before, func(e spec.NamedExpr) bool { return e.Name.Value == name }) ||
		n.Index == f.Start() && f.checkRunInput(u, "input", name) ||
		n.Join != nil || f.flow().Anywhere || f.flow().Joins[n.Index] { // several edges may hand over an input at once
		return
	}
	for _, i := range into {
		e := f.graph.Edges[i]
		if has, known := f.handsOver(e, name); has || !known {
			continue
		}
		failed := ""
		if e.Condition == "always" {
			failed = " when it has failed"
		}
		d := f.report(u.Span(), "the edge from %q hands over no %q%s; write it with a question mark, or supply it by transform", e.From.Value, "input."+name, failed)
		d.Related = append(d.Related, f.related(e.From.Span, "the edge"))
		return
	}
}

// checkOptionalInput reports an optional read of a member of the input that no edge supplies
// although one supplies others by transform.
func (f *facts) checkOptionalInput(u *dataflow.Use) {
	t := u.Program.Tree
	if u.Node < 0 || u.Moment != dataflow.Before || len(t.Path) != 2 || t.Path[0] != "input" {
		return
	}
	var names []string
	isCertain := u.Node != f.Start()
	for _, i := range f.Into[u.Node] {
		if e := f.graph.Edges[i]; e.Transform != nil {
			names = append(names, keysOf(e.Transform.Fields)...)
		} else if has, known := f.handsOver(e, t.Path[1]); has {
			return
		} else if !known {
			isCertain = false
		}
	}
	near := suggest.Closest(t.Path[1], names)
	if len(names) > 0 && !slices.Contains(names, t.Path[1]) && (isCertain || near != "") {
		f.report(u.SpanOfMember("input.", t.Path[1]), "no edge to %q hands over %q", f.Name(u.Node), "input."+t.Path[1]).Suggestion = near
	}
}

// handsOver reports whether an edge hands over an input with a member, if that is known.
func (f *facts) handsOver(e *spec.Edge, name string) (has, known bool) {
	source := f.graph.Node(e.From.Value)
	if e.Transform != nil {
		return e.Transform.Get(name) != nil, e.Transform.Kind == spec.Map
	}
	takesFailures := func(i int) bool { return f.graph.Edges[i].Condition == "on_failure" && !f.graph.Edges[i].When.IsSet() }
	switch {
	case e.Condition == "on_failure", e.Condition == "always" && canFail(source) && !slices.ContainsFunc(f.Out[source.Index], takesFailures):
		return slices.Contains([]string{"attempt", "details", "kind", "message", "node"}, name), true
	case e.Condition == "always", source.Each.IsSet():
		return false, false
	case source.Kind.Value == "pass":
		return false, f.surelyLacks(source, name)
	}
	_, has, allowed := bind.OutputType(source, f.graph, f.childType).Field(name)
	isListed := isModel(source) || source.Kind.Value == "human"
	return has, !allowed || isListed && domain.OutputPart(source, nil)["properties"] != nil || source.Kind.Value == "wait"
}

// surelyLacks reports whether the input of a pass node, which is its output, surely lacks a member.
func (f *facts) surelyLacks(n *spec.Node, name string) bool {
	mayHave := func(a arc) bool { return f.flow().GroupOf(a).Kind == controlflow.ByGoto }
	hasMember := func(i int) bool {
		e := f.graph.Edges[i]
		if e.From.Value == name || f.graph.Node(e.From.Value).Kind.Value == "pass" && e.Transform == nil {
			return true // a join's input has a member for each source
		}
		has, known := f.handsOver(e, name)
		return has || !known
	}
	return n.Index != f.Start() && len(n.Before) == 0 && !f.flow().Anywhere &&
		!slices.ContainsFunc(f.arcsInto()[n.Index], mayHave) && !slices.ContainsFunc(f.Into[n.Index], hasMember)
}

// checkMember reports a member that a schema does not list. Unless a model answers, it reports only a
// name that is similar to a listed one.
func (r reader) checkMember(path []string) {
	owner := r.f.outputOf(eval.Read{Path: path})
	base := 1
	switch {
	case owner != nil:
		base = 3
	case path[0] == "output" && r.use.Node >= 0:
		owner = r.f.graph.Nodes[r.use.Node]
	}
	isFirm := func(read eval.Read) bool { return slices.Equal(read.Path, path) }
	for i := base; i < len(path); i++ {
		doc, name := r.schemaAt(path[:i]), path[i]
		names, closed := listMembers(doc)
		if closed || len(names) == 0 || slices.Contains(names, name) || name[0] == '[' || name == "error" && path[0] == "#" { // the result of a failed element
			continue
		}
		near := suggest.Closest(name, names)
		switch from := solve.PathName(path[:i]); {
		case owner != nil && i == base && (near != "" || isModel(owner) && slices.ContainsFunc(dataflow.FirmReads(r.use.Program), isFirm)):
			d := r.f.report(r.use.SpanOfMember(from+".", name), "the output schema of %q has no member %q; declare it there, or say additionalProperties: true", owner.ID.Value, name)
			d.Suggestion = near
		case near != "" || path[0] == "#" || path[0] == "item":
			r.f.report(r.use.SpanOfMember(".", name), "the schema of %s has no member %q", strings.TrimPrefix(from, "#."), name).Suggestion = near
		}
		return
	}
}

// listMembers lists the members that a schema declares, sorted. If it is closed, types report others.
func listMembers(schema map[string]any) (names []string, closed bool) {
	properties, _ := schema["properties"].(map[string]any)
	for key := range schema {
		switch key {
		case "type", "properties", "required", "title", "description", "examples", "default", "$schema", "$id", "$comment":
		default:
			closed = true
		}
	}
	return slices.Sorted(maps.Keys(properties)), closed
}
