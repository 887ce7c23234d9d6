// Package dataflow lists the uses and the definitions of a flow's state: every expression with its
// position and the moment of its evaluation (Uses), and what each node writes (Accesses).
package dataflow

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// Moment says when an expression is evaluated. The zero value is unset.
type Moment uint8

const (
	Before Moment = iota + 1 // before its node runs
	After                    // after its node ran well, before its writes
	OnEdge                   // after its node's writes
	AtEnd                    // after the run
)

// Use is one expression: a whole scalar, or one {{ part }} of it.
type Use struct {
	Node  int // its node, or the node that its edge leaves; -1 at the end
	Edge  int // -1 unless the expression belongs to an edge
	Field string
	// Text is the scalar, From and To are the offsets of the expression in its value.
	Text     *spec.Text
	From, To int
	Program  *eval.Program
	// Order counts the assignments of a set node, which see earlier ones.
	Order  int
	Moment Moment
	// Optional marks {{ path? }}, and InText a part of a template.
	Optional, InText bool
}

// Span returns the position of the expression in the file.
func (u *Use) Span() spec.Span { return u.Text.At(u.From, u.To) }

// SpanOf returns the position of the first part of a path, or of the whole expression.
func (u *Use) SpanOf(name string) spec.Span {
	return u.spanAt(wordAt(u.Program.Source, name), len(name))
}

// SpanOfMember returns the position of a member after a path, or of the whole expression.
func (u *Use) SpanOfMember(path, name string) spec.Span {
	at := strings.Index(u.Program.Source, path+name)
	if at >= 0 {
		at += len(path)
	}
	return u.spanAt(at, len(name))
}

// spanAt returns the span of a part of the expression, or the whole for a negative offset.
func (u *Use) spanAt(at, length int) spec.Span {
	if at < 0 || u.To-u.From != len(u.Program.Source) {
		return u.Span()
	}
	return u.Text.At(u.From+at, u.From+at+length)
}

// wordAt returns the offset of a word in an expression, outside of texts and members, or -1.
func wordAt(src, word string) int {
	textOrWord := regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `|\w+`)
	for _, at := range textOrWord.FindAllStringIndex(src, -1) {
		if src[at[0]:at[1]] == word && (at[0] == 0 || src[at[0]-1] != '.') {
			return at[0]
		}
	}
	return -1
}

// Uses lists every use. The uses of a node are adjacent.
type Uses struct {
	All    []*Use
	byNode [][2]int // ranges of All
}

// NewUses lists the expressions of a graph. from holds the node that each edge leaves.
func NewUses(g *spec.Graph, bound *bind.Graph, from []int) *Uses {
	w := &useWalk{Uses: Uses{All: make([]*Use, 0, len(g.Nodes)+len(g.Edges)), byNode: make([][2]int, len(g.Nodes))}}
	w.addGraph(g, bound, from)
	return &w.Uses
}

// OfNode returns the expressions of a node, without those of its edges.
func (x *Uses) OfNode(i int) []*Use { return x.All[x.byNode[i][0]:x.byNode[i][1]] }

// Reads iterates over the reads of all uses.
func (x *Uses) Reads() iter.Seq2[*Use, eval.Read] {
	return func(yield func(*Use, eval.Read) bool) {
		for _, u := range x.All {
			for _, r := range u.Program.Reads {
				if !yield(u, r) {
					return
				}
			}
		}
	}
}

// Constants returns the distinct texts and numbers in uses, policies excepted.
func Constants(uses []*Use) (out []any) {
	add := func(v any) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	var look func(t *eval.Tree)
	look = func(t *eval.Tree) {
		switch t.Value.(type) {
		case string, int, float64:
			if t.Op == eval.TreeConst {
				add(t.Value)
			}
		}
		if t.Op == eval.TreeUnary && t.Name == "-" {
			if n, isInt := t.Args[0].Value.(int); isInt {
				add(-n)
			}
		}
		if t.Body != nil {
			t.Body.Each(look)
		}
	}
	for _, u := range uses {
		if u.Field != "never" {
			u.Program.Tree.Each(look)
		}
	}
	return out
}

// InValue lists the uses in a value that is bound to b, outside of nodes.
func InValue(field string, v *spec.Value, b *bind.Value) []*Use {
	w := useWalk{at: Use{Node: -1, Edge: -1, Field: field}}
	w.addValue(v, b)
	return w.All
}

// useWalk collects uses.
type useWalk struct {
	Uses
	at Use // what the next ones have in common
}

func (w *useWalk) addGraph(g *spec.Graph, b *bind.Graph, leaves []int) {
	for i, n := range g.Nodes {
		w.at = Use{Node: i, Edge: -1}
		from := len(w.All)
		w.addNode(n, &b.Nodes[i])
		w.byNode[i] = [2]int{from, len(w.All)}
	}
	for i, e := range g.Edges {
		w.at = Use{Node: leaves[i], Edge: i, Moment: OnEdge}
		w.addProgram("when", &e.When, b.Edges[i].When)
		if e.Transform != nil {
			w.at.Field = "transform"
			w.addValue(e.Transform, b.Edges[i].Transform)
		}
	}
	if b.Group != nil {
		w.at = Use{Node: -1, Edge: -1, Moment: Before, Field: "group"}
		text := &g.Concurrency.Group
		w.add(Use{Text: text, To: len(text.Value), Program: b.Group, Optional: true}) // a run without a value is in no group
	}
	if g.Output != nil {
		w.at = Use{Node: -1, Edge: -1, Moment: AtEnd, Field: "output"}
		w.addValue(g.Output, b.Output)
	}
}

func (w *useWalk) addNode(n *spec.Node, b *bind.Node) {
	w.at.Moment = Before
	for i := range n.Fields {
		field := &n.Fields[i]
		w.at.Field = field.Key.Value
		if n.Kind.Value == "set" && field.Key.Value == "set" {
			for i := range b.Set {
				w.at.Order = i
				w.addValue(&field.Value.Fields[i].Value, &b.Set[i].Value)
			}
			w.at.Order = 0
			continue
		}
		w.addValue(&field.Value, FindField(b.Config, field.Key.Value))
	}
	w.addProgram("each", &n.Each, b.Each)
	w.addNamed("before", n.Before, b.Before)
	w.at.Moment = After
	w.addNamed("writes", n.Writes.Exprs, b.Writes)
	w.at.Moment = OnEdge
	w.addNamed("emit", n.Emit, b.Emit)
	w.addProgram("goto", &n.Goto, b.Goto)
}

func (w *useWalk) addNamed(field string, exprs []spec.NamedExpr, bound []bind.Field) {
	for i := range bound {
		w.addProgram(field, &exprs[i].Expr, bound[i].Value.Program)
	}
}

// addProgram adds a whole scalar that is an expression, unless it did not compile.
func (w *useWalk) addProgram(field string, text *spec.Text, p *eval.Program) {
	if p != nil {
		w.at.Field = field
		w.add(Use{Text: text, To: len(text.Value), Program: p})
	}
}

// add adds an expression, with the fields that it shares with others.
func (w *useWalk) add(u Use) {
	u.Node, u.Edge, u.Field, u.Order, u.Moment = w.at.Node, w.at.Edge, w.at.Field, w.at.Order, w.at.Moment
	w.All = append(w.All, &u)
}

// addValue adds the expressions of a value, which was bound to b.
func (w *useWalk) addValue(v *spec.Value, b *bind.Value) {
	if b == nil || b.IsConst() {
		return
	}
	if p := b.Program; p != nil {
		w.add(Use{Text: &v.Text, To: len(v.Text.Value), Program: p})
		return
	}
	if t := b.Template; t != nil {
		for _, part := range t.Parts {
			if part.Program != nil {
				w.add(Use{Text: &v.Text, From: part.From, To: part.To, Program: part.Program, Optional: part.Optional, InText: true})
			}
		}
		return
	}
	for i := range b.Items {
		w.addValue(&v.Items[i], &b.Items[i])
	}
	for i := range b.Fields {
		field := &b.Fields[i]
		// Entries keep their order, but unknown keys are left out.
		if i < len(v.Fields) && v.Fields[i].Key.Value == field.Name {
			w.addValue(&v.Fields[i].Value, &field.Value)
		} else if sub := v.Get(field.Name); sub != nil {
			w.addValue(sub, &field.Value)
		}
	}
}

// Write is a state key that a node writes.
type Write struct {
	Key  int // index in Graph.State
	Name spec.Text
	// Value is the expression that is written, or nil for the node's output.
	Value *eval.Program
}

// Access lists what a node reads and writes of the state.
type Access struct {
	Writes []Write // in the order of the file
	// Always are the writes of every success.
	Always []Write
	// SeesAll says that the node gets the whole state without naming keys.
	SeesAll bool
}

// Accesses returns the accesses of each node of a graph.
func Accesses(g *spec.Graph, bound *bind.Graph) []Access {
	keys := make(map[string]int, len(g.State))
	for i, key := range g.State {
		keys[key.Name.Value] = i
	}
	out := make([]Access, len(g.Nodes))
	for i, n := range g.Nodes {
		out[i] = accessOf(n, &bound.Nodes[i], keys)
	}
	return out
}

func accessOf(n *spec.Node, b *bind.Node, keys map[string]int) Access {
	a := Access{SeesAll: !n.HasReads && passesState(n)}
	add := func(name spec.Text, value *eval.Program) {
		if key, ok := keys[name.Value]; ok {
			a.Writes = append(a.Writes, Write{key, name, value})
		}
	}
	if set := n.Field("set"); set != nil && n.Kind.Value == "set" {
		for j := range set.Fields {
			add(set.Fields[j].Key, programAt(b.Set, j))
		}
	}
	for _, name := range n.Writes.Keys {
		add(name, nil)
	}
	for j, e := range n.Writes.Exprs {
		add(e.Name, programAt(b.Writes, j))
	}
	if a.Always = a.Writes; n.Each.IsSet() && n.Kind.Value == "set" {
		a.Always = nil // nothing is written for an empty list
	}
	return a
}

// FindWrite returns the value that a node writes to a key by an expression, or nil.
func FindWrite(n *bind.Node, key string) *bind.Value {
	return cmp.Or(FindField(n.Set, key), FindField(n.Writes, key))
}

// FindField returns the value of a field, or nil.
func FindField(fields []bind.Field, name string) *bind.Value {
	if i := slices.IndexFunc(fields, func(f bind.Field) bool { return f.Name == name }); i >= 0 {
		return &fields[i].Value
	}
	return nil
}

// programAt returns the expression of a field, or nil if it did not compile.
func programAt(fields []bind.Field, i int) *eval.Program {
	if i >= len(fields) {
		return nil
	}
	return fields[i].Value.Program
}

// passesState reports whether a node passes the whole state to its program or its handler.
func passesState(n *spec.Node) bool {
	if n.Kind.Value == "exec" {
		return n.Field("stdin") == nil
	}
	builtIn := []string{"agent", "fail", "graph", "http", "human", "llm", "pass", "set", "tool", "tools", "wait"}
	return !slices.Contains(builtIn, n.Kind.Value)
}

// Replaces reports whether a write to a key drops its value. An undeclared key is nil.
func Replaces(key *spec.StateKey) bool {
	return key == nil || !key.Reducer.IsSet() || key.Reducer.Value == "replace"
}

// FirmReads lists the paths whose values a program needs: not those under ?? or compared with None,
// and none of a program that reads how far the run is, since it may know that a value exists.
func FirmReads(p *eval.Program) []eval.Read {
	if strings.Contains(p.Source, "?.") || readsProgress(p) {
		return nil
	}
	w := firmWalk{firm: map[string]bool{}, soft: map[string]bool{}}
	w.walk(p.Tree, nil)
	var out []eval.Read
	for _, r := range p.Reads {
		name := strings.Join(r.Path, ".")
		if w.firm[name] || !w.soft[name] {
			out = append(out, r)
		}
	}
	return out
}

// readsProgress reports whether a program reads the progress of the run.
func readsProgress(p *eval.Program) bool {
	return slices.ContainsFunc(p.Reads, func(r eval.Read) bool {
		switch r.Path[0] {
		case "visits", "history", "step", "visit", "outcome", "error", "branches":
			return true
		case "nodes":
			return len(r.Path) > 2 && r.Path[2] == "visits"
		}
		return false
	})
}

// firmWalk divides the paths of a tree into required and optional ones.
type firmWalk struct{ firm, soft map[string]bool }

func (w *firmWalk) walk(t *eval.Tree, known []string) {
	switch {
	case t.Op == eval.TreePath:
		w.addPath(t, slices.Contains(known, t.Path[0]))
	case t.Op == eval.TreeBinary && t.Name == "??":
		w.walkSoft(t.Args[0], known)
		w.walk(t.Args[1], known)
	case t.Op == eval.TreeBinary && (t.Name == "==" || t.Name == "!=") && (isNull(t.Args[0]) || isNull(t.Args[1])):
		w.walkSoft(t.Args[0], known)
		w.walkSoft(t.Args[1], known)
	case t.Op == eval.TreeBinary && (t.Name == "and" || t.Name == "or"):
		w.walk(t.Args[0], known)
		w.walk(t.Args[1], append(known[:len(known):len(known)], listPresentNames(t.Args[0], t.Name == "and")...))
	case t.Op == eval.TreeChoice:
		w.walk(t.Args[0], known)
		w.walk(t.Args[1], append(known[:len(known):len(known)], listPresentNames(t.Args[0], true)...))
		w.walk(t.Args[2], append(known[:len(known):len(known)], listPresentNames(t.Args[0], false)...))
	default:
		for _, a := range t.Args {
			w.walk(a, known)
		}
		for _, a := range t.Members { //lint:ignore mapiter the order does not matter
			w.walk(a, known)
		}
		if t.Over != nil {
			w.walk(t.Over, known)
			w.walk(t.Body, known)
		}
	}
}

// walkSoft visits a part that may be null. Inside a computed part nothing changes.
func (w *firmWalk) walkSoft(t *eval.Tree, known []string) {
	if t.Op == eval.TreePath {
		w.addPath(t, true)
		return
	}
	w.walk(t, known)
}

func (w *firmWalk) addPath(t *eval.Tree, soft bool) {
	path := t.Path
	for i, part := range path {
		if strings.HasPrefix(part, "[") { // an element reads its list
			path = path[:i]
			break
		}
	}
	name := strings.Join(path, ".")
	if soft {
		w.soft[name] = true
	} else {
		w.firm[name] = true
	}
}

// isNull reports whether a tree is the constant null.
func isNull(t *eval.Tree) bool { return t.Op == eval.TreeConst && t.Value == nil }

// listPresentNames lists the top-level names that have a value if a test has the given outcome.
func listPresentNames(t *eval.Tree, outcome bool) (names []string) {
	t.EachImplied(outcome, func(t *eval.Tree, holds bool) {
		for i := 0; i < 2 && t.Op == eval.TreeBinary && (t.Name == "!=" && holds || t.Name == "==" && !holds); i++ {
			if isNull(t.Args[i]) && t.Args[1-i].Op == eval.TreePath {
				names = append(names, t.Args[1-i].Path[0])
			}
		}
	})
	return names
}
