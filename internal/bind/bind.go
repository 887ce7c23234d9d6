// Package bind compiles the expressions and templates of a graph, and reports their errors in the file.
// It connects spec, which does not know expressions, and eval, which does not know files.
package bind

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/spec"
)

// Graph holds the compiled parts of a graph. Its lists have the order of the lists in spec.Graph.
type Graph struct {
	Nodes []Node
	Edges []Edge
	Keys  []Key
	// Output is the run's output, or nil.
	Output *Value
	// Group computes the name of the run's concurrency group. It may be nil.
	Group *eval.Program
	// Tools and Providers are evaluated once per run.
	Tools, Providers []Field
	// Notices are the entries of notify.
	Notices []Field
	// Never holds the condition of each policy, or nil. Approvals holds the conditions under which tool
	// calls need a person's approval.
	Never, Approvals []*eval.Program
}

// Key holds the compiled parts of a state key.
type Key struct {
	Schema *schema.Schema
	// Reducer is the program of a reducer with an expression, or nil.
	Reducer *eval.Program
	// Initial is the normalised default. HasInitial distinguishes null from no default.
	Initial    any
	HasInitial bool
}

// Node holds the compiled parts of a node.
type Node struct {
	// Config holds the keys of the node's kind, in file order, without `set`.
	Config []Field
	// Set holds the assignments of a set node, in file order.
	Set    []Field
	Writes []Field
	Before []Field
	Emit   []Field
	Goto   *eval.Program
	Each   *eval.Program
	// CacheKey is the expression of the node's own cache key.
	CacheKey *eval.Program
	// RetryWhen holds the condition of each retry block, or nil. The list is nil without conditions.
	RetryWhen []*eval.Program
	// Output is the schema of the node's output, or nil.
	Output *schema.Schema
	// TextOnly is set if the keys that the node writes its output to hold only text.
	TextOnly bool
}

// Edge holds the compiled parts of an edge.
type Edge struct {
	When      *eval.Program
	Transform *Value
}

// Bind compiles g. kinds are the node kinds besides the built-in ones. child returns the output type of
// a node of kind graph, as ChildResultType returns it. child may be nil. The result is complete if no
// finding is an error.
func Bind(g *spec.Graph, kinds []spec.Kind, child func(n *spec.Node) (eval.Type, bool)) (*Graph, spec.Diagnostics) {
	b := &binder{
		graph: g, scopes: newScopes(g, child), arrivals: newArrivals(g),
		edges: make([]Edge, len(g.Edges)), done: make([]bool, len(g.Edges)),
		inputs: map[int]map[string]eval.Type{}, items: map[int]eval.Type{}, programs: map[programKey]*eval.Program{},
	}
	out := &Graph{Nodes: make([]Node, len(g.Nodes)), Edges: b.edges, Keys: make([]Key, len(g.State))}
	roles := groupKeysByKind(kinds)
	for i, node := range g.Nodes {
		out.Nodes[i] = b.bindNode(node, roles[node.Kind.Value])
	}
	for i := range g.Edges {
		b.bindEdge(i)
	}
	b.checkSummaries(g.Conversation)
	if g.Output != nil {
		value := b.bindValue(exprSite{phase: afterRun}, g.Output, spec.RoleExpr)
		out.Output = &value
	}
	if g.Concurrency != nil && g.Concurrency.Group.IsSet() {
		out.Group = b.compileExpr(exprSite{phase: beforeRun}, g.Concurrency.Group, eval.Value)
		b.checkExprType(g.Concurrency.Group, out.Group, "group", eval.String(), eval.Int(), eval.Bool())
	}
	for i, key := range g.State {
		out.Keys[i] = b.bindStateKey(key)
	}
	out.Tools, out.Providers, out.Approvals = b.bindSetup("tools", g.Tools), b.bindSetup("providers", g.Providers), b.bindApprovals(g.Tools)
	out.Notices = b.bindNotices(g.Notify)
	out.Never = b.bindPolicies()
	return out, b.found
}

// groupKeysByKind maps each kind to its keys.
func groupKeysByKind(kinds []spec.Kind) map[string][]spec.Key {
	out := map[string][]spec.Key{}
	for _, kind := range kinds {
		out[kind.Name] = kind.Keys
	}
	for _, kind := range spec.BuiltinKinds {
		// A Go program may add keys to a built-in kind, for graphs that it rewrites.
		out[kind.Name] = slices.Concat(kind.Keys, out[kind.Name])
	}
	return out
}

type binder struct {
	graph  *spec.Graph
	scopes *scopes
	found  spec.Diagnostics

	arrivals arrivals
	edges    []Edge
	done     []bool                       // by edge: it is bound
	inputs   map[int]map[string]eval.Type // the results of inputTypes by node
	items    map[int]eval.Type            // types of elements, by node with each
	programs map[programKey]*eval.Program
}

// bindStateKey compiles a state key's schema and reducer.
func (b *binder) bindStateKey(decl *spec.StateKey) Key {
	name := strconv.Quote(decl.Name.Value)
	out := Key{Schema: b.compileSchema(decl.Schema, decl.Source, "schema of state key "+name)}
	b.checkReducer(decl)
	if decl.HasReducerExpr() {
		out.Reducer = b.compileExpr(exprSite{fixed: reducerScope(decl)}, decl.Reducer, eval.Value)
	}
	if decl.Default != nil {
		out.Initial, out.HasInitial = b.checkData(out.Schema, decl.Default, "the default of "+name), true
	}
	return out
}

func (b *binder) addFinding(rule string, span spec.Span, message string) {
	b.found = append(b.found, spec.Diagnostic{
		File: b.graph.File, Rule: rule, Severity: spec.Error, Span: span, Message: message,
	})
}

func (b *binder) bindNode(node *spec.Node, keys []spec.Key) Node {
	var out Node
	before, after := exprSite{node: node, phase: beforeRun, limitedToReads: true}, exprSite{node: node, phase: afterRun}
	limited := exprSite{node: node, phase: afterRun, limitedToReads: true}
	if node.Each.IsSet() {
		if out.Each = b.compileExpr(before, node.Each, eval.Value); out.Each != nil && out.Each.Type().IsList() {
			b.items[node.Index] = out.Each.Type().Elem()
		}
		b.checkExprType(node.Each, out.Each, "each", eval.List(eval.Any()))
	}
	for i := range node.Fields {
		field := &node.Fields[i]
		key := spec.FindKey(keys, field.Key.Value)
		if key == nil {
			continue
		}
		if node.Kind.Value == "set" && key.Name == "set" {
			out.Set = b.bindFields(before, &field.Value, spec.RoleSet)
			for j := range out.Set {
				b.checkLiteral(&field.Value.Fields[j])
				b.checkValueFits(out.Set[j].Name, &out.Set[j].Value, field.Value.Fields[j].Value.Span)
			}
			continue
		}
		value := b.bindKey(configSite(node, key.Name), &field.Value, key)
		b.checkExprType(field.Value.Text, value.Program, key.Name, exprTypesByKey[key.Name]...)
		out.Config = append(out.Config, Field{Name: key.Name, Value: value})
	}
	out.Before = b.bindNamedExprs(before, node.Before)
	out.Writes = b.bindNamedExprs(after, node.Writes.Exprs)
	b.checkWrites(node, out.Writes)
	b.checkOutput(node)
	out.TextOnly = b.acceptsOnlyText(node)
	out.Emit = b.bindNamedExprs(limited, node.Emit)
	if node.Goto.IsSet() {
		out.Goto = b.compileValue(limited, node.Goto)
		b.checkExprType(node.Goto, out.Goto, "goto", eval.String(), eval.List(eval.Any()), eval.Object(nil, true))
	}
	if cache := cmp.Or(node.Cache, b.graph.Cache); cache != nil && cache.Key.IsSet() {
		// The expression is not limited to the node's `reads`, because a result may depend on more state.
		out.CacheKey = b.compileExpr(exprSite{node: node, phase: beforeRun}, cache.Key, eval.Value)
	}
	out.RetryWhen = b.bindRetryWhen(node)
	b.checkSummaries(node.Conversation)
	if node.Output != nil {
		out.Output = b.compileSchema(node.Output, node.OutputSource, "output schema of node "+strconv.Quote(node.ID.Value))
	}
	return out
}

// bindEdge binds an edge, unless it is bound already.
func (b *binder) bindEdge(i int) *Edge {
	edge, out := b.graph.Edges[i], &b.edges[i]
	if b.done[i] {
		return out
	}
	b.done[i] = true // set before binding, because the transform may depend on itself
	at := exprSite{node: b.graph.Node(edge.From.Value), phase: afterRun}
	if edge.When.IsSet() {
		out.When = b.compileExpr(at, edge.When, eval.Condition)
	}
	if edge.Transform != nil {
		value := b.bindValue(at, edge.Transform, spec.RoleExpr)
		out.Transform = &value
	}
	return out
}

// bindPolicies compiles the `never` conditions of policies. They may read the same names as conditions of
// edges.
func (b *binder) bindPolicies() []*eval.Program {
	out := make([]*eval.Program, len(b.graph.Policies))
	for i := range b.graph.Policies {
		never, at := b.graph.Policies[i].Get("never"), b.graph.Policies[i].Get("at")
		if never == nil || !never.IsScalar() || never.Kind == spec.Null || at == nil {
			continue
		}
		if node := b.graph.Node(at.Text.Value); node != nil {
			out[i] = b.compileExpr(exprSite{node: node, phase: afterRun}, never.Text, eval.Condition)
		}
	}
	return out
}

func (b *binder) bindNamedExprs(at exprSite, exprs []spec.NamedExpr) []Field {
	out := make([]Field, 0, len(exprs))
	for _, e := range exprs {
		out = append(out, Field{Name: e.Name.Value, Value: Value{Program: b.compileValue(at, e.Expr)}})
	}
	return out
}

// bindKey binds a value by the role of its key. Nested keys have their own roles.
func (b *binder) bindKey(at exprSite, v *spec.Value, key *spec.Key) Value {
	switch {
	case key.Type == spec.TypeSchema && v.Kind == spec.Map:
		if doc, ok := v.Data().(map[string]any); ok {
			b.compileSchema(doc, v, strconv.Quote(key.Name))
		}
	case key.Type == spec.TypeDuration && spec.IsDuration(v.Text.Value):
	case key.Role != spec.RolePlain:
		return b.bindValue(at, v, key.Role)
	case key.Type == spec.TypeOneOf && v.Kind == spec.String:
		return b.bindValue(at, v, findTextRole(key.Forms))
	case key.Elem != nil && key.Elem.Role != spec.RolePlain:
		return b.bindValue(at, v, key.Elem.Role)
	case v.Kind == spec.Map && (key.Type == spec.TypeObject || key.Type == spec.TypeMap && key.Elem.Type == spec.TypeObject):
		var fields []Field
		for i := range v.Fields {
			f := &v.Fields[i]
			if sub := cmp.Or(key.Elem, spec.FindKey(key.Keys, f.Key.Value)); sub != nil {
				fields = append(fields, Field{f.Key.Value, b.bindKey(at, &f.Value, sub)})
			}
		}
		return newMap(fields)
	}
	return Value{Constant: v.Data()}
}

// findTextRole returns the role of a text whose key allows several forms.
func findTextRole(forms []spec.Key) spec.Role {
	for i := range forms {
		if forms[i].Type == spec.TypeString {
			return forms[i].Role
		}
	}
	return spec.RolePlain
}

// bindValue binds a value whose strings, at any depth, have the given role.
func (b *binder) bindValue(at exprSite, v *spec.Value, role spec.Role) Value {
	switch v.Kind {
	case spec.List:
		items := make([]Value, len(v.Items))
		for i := range v.Items {
			items[i] = b.bindValue(at, &v.Items[i], role)
		}
		return newList(items)
	case spec.Map:
		return newMap(b.bindFields(at, v, role))
	case spec.String:
		return b.bindText(at, v.Text, role)
	}
	return Value{Constant: v.Data()}
}

func (b *binder) bindFields(at exprSite, v *spec.Value, role spec.Role) []Field {
	fields := make([]Field, 0, len(v.Fields))
	for i := range v.Fields {
		entry := &v.Fields[i]
		if role == spec.RoleSet && entry.Value.Kind != spec.String {
			fields = append(fields, Field{entry.Key.Value, Value{Constant: entry.Value.Data()}})
		} else {
			fields = append(fields, Field{entry.Key.Value, b.bindValue(at, &entry.Value, role)})
		}
		if role == spec.RoleSet && at.node != nil && at.node.Kind.Value == "set" {
			at.assigned = append(at.assigned, entry.Key.Value)
		}
	}
	return fields
}

func (b *binder) bindText(at exprSite, text spec.Text, role spec.Role) Value {
	if role == spec.RoleSet {
		role = spec.RoleExpr
		if isTemplate(text.Value) {
			role = spec.RoleTemplate
		}
	}
	switch role {
	case spec.RoleExpr:
		return Value{Program: b.compileValue(at, text)}
	case spec.RoleTemplate, spec.RoleContent:
		if !isTemplate(text.Value) {
			return Value{Constant: text.Value}
		}
		at.template = true
		template, errs := b.findScope(at, text.Value).Template(text.Value)
		for _, err := range errs {
			b.reportError(text, err)
		}
		return Value{Template: template, content: role == spec.RoleContent}
	}
	return Value{Constant: text.Value}
}

func isTemplate(text string) bool { return strings.Contains(text, "{{") }

// compileExpr compiles an expression, or reports an error and returns nil. Equal texts in equal scopes
// share a program, because large graphs repeat a few texts.
func (b *binder) compileExpr(at exprSite, text spec.Text, want eval.Want) *eval.Program {
	key := programKey{b.findScope(at, text.Value), text.Value, want}
	if program := b.programs[key]; program != nil {
		return program
	}
	program, err := key.scope.Compile(text.Value, want)
	if err != nil {
		b.reportError(text, err)
		return nil
	}
	b.programs[key] = program
	return program
}

type programKey struct {
	scope *eval.Scope
	text  string
	want  eval.Want
}

// compileValue compiles an expression for a value. If the text looks like prose, its error suggests
// quotes.
func (b *binder) compileValue(at exprSite, text spec.Text) *eval.Program {
	program := b.compileExpr(at, text, eval.Value)
	if program == nil {
		b.adviseQuotes(text, &b.found[len(b.found)-1])
	}
	return program
}

// reportError adds an error of an expression or a template.
func (b *binder) reportError(text spec.Text, err *eval.Error) {
	rule, span, message := err.Rule, text.At(err.From, err.To), err.Message
	if rule == "expr-unknown-name" && text.Value[err.From:err.To] == "secrets" {
		rule = "secret-leak"
	}
	if text.Value == "" {
		span = text.Span // the quotes
	}
	src := b.graph.File.Src
	if rest := src[min(text.Span.To, len(src)):]; rule == "expr-syntax" && bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("#")) && rest[0] == ' ' {
		message += "; # behind a space begins a comment in YAML: put the expression in quotes"
	}
	b.addFinding(rule, span, message)
	b.found[len(b.found)-1].Suggestion = err.Suggestion
}

var (
	// proseText matches several words.
	proseText = lazyregexp.New(`^\pL[\pL\pN_'’-]*[,;:]?( [\pL\pN_'’-]+[,;:.!?]?)+$|^\pL[\pL\pN_-]*[.!?]$`)
	wordText  = lazyregexp.New(`^\pL[\pL\pN_-]*$`)
)

// adviseQuotes adds a hint about quotes to the error of an expression that looks like prose.
func (b *binder) adviseQuotes(text spec.Text, d *spec.Diagnostic) {
	value, src := strings.TrimSpace(text.Value), b.graph.File.Src
	if d.Suggestion != "" || text.Span.From >= len(src) || strings.IndexByte("|>", src[text.Span.From]) >= 0 || strings.ContainsAny(value, "\"\\\n") {
		return
	}
	message := d.Message
	switch {
	case d.Rule == eval.RuleSyntax && proseText.Get().MatchString(value):
		message = strconv.Quote(value) + " is read as an expression"
	case !strings.HasPrefix(message, "unknown name ") || d.Span != text.At(0, len(text.Value)) || !wordText.Get().MatchString(value):
		return
	}
	d.Suggestion, d.Span = `"'`+value+`'"`, text.Span
	if strings.Contains(value, "'") {
		d.Suggestion = `'"` + strings.ReplaceAll(value, "'", "''") + `"'`
	}
	d.Message = message + "; a text is written " + d.Suggestion
}
