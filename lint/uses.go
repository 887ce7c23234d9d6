// Every expression of a graph with where it stands and when it is evaluated.

package lint

import (
	"regexp"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// moment says when an expression is evaluated. The zero value is unset.
type moment uint8

const (
	before moment = iota + 1 // before its node runs
	after                    // after its node ran well, before its writes
	onEdge                   // after its node's writes
	atEnd                    // after the run
)

// use is one expression: a whole scalar, or one {{ part }} of it.
type use struct {
	node  int // the node that it belongs to, or whose edge it is on; -1 at the end
	edge  int // -1 when it stands on no edge
	field string
	// text is the scalar, and from and to the expression in its value.
	text     spec.Text
	from, to int
	program  *eval.Program
	// order counts the assignments of a set node, which see earlier ones.
	order  int
	moment moment
	// optional marks {{ path? }}, and inText a part of a template.
	optional, inText bool
}

// span is the place of the expression in the file.
func (u *use) span() spec.Span { return u.text.At(u.from, u.to) }

// spanOf is the place where the expression names a path by its first part; the
// whole expression when it does so in another way.
func (u *use) spanOf(name string) spec.Span {
	src := u.program.Source()
	at := wordAt(src, name)
	if at < 0 || u.to-u.from != len(src) {
		return u.span()
	}
	return u.text.At(u.from+at, u.from+at+len(name))
}

// spanOfMember is the place of a member behind the path to it; the whole
// expression when it is written in another way.
func (u *use) spanOfMember(path, name string) spec.Span {
	src := u.program.Source()
	at := strings.Index(src, path+name)
	if at < 0 || u.to-u.from != len(src) {
		return u.span()
	}
	at += u.from + len(path)
	return u.text.At(at, at+len(name))
}

// wordAt is where a word stands in an expression, outside of texts and not as
// a member; -1 when it does not.
func wordAt(src, word string) int {
	textOrWord := regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`[^`]*`" + `|\w+`)
	for _, at := range textOrWord.FindAllStringIndex(src, -1) {
		if src[at[0]:at[1]] == word && (at[0] == 0 || src[at[0]-1] != '.') {
			return at[0]
		}
	}
	return -1
}

// useIndex is every use, those of a node or an edge side by side.
type useIndex struct {
	all    []use
	byNode []pieces
	byEdge []pieces
}

// pieces is a range of useIndex.all.
type pieces struct{ from, to int }

// newUses lists the expressions of a graph; from says which node each edge leaves.
func newUses(g *spec.Graph, bound *bind.Graph, from []int) *useIndex {
	w := &useWalk{useIndex: useIndex{byNode: make([]pieces, len(g.Nodes)), byEdge: make([]pieces, len(g.Edges))}}
	w.graph(g, bound, from)
	w.all = make([]use, 0, w.count)
	w.graph(g, bound, from)
	return &w.useIndex
}

// ofNode are the expressions of a node, without those of its edges.
func (x *useIndex) ofNode(i int) []use { return x.all[x.byNode[i].from:x.byNode[i].to] }

// ofEdge are the expressions of an edge.
func (x *useIndex) ofEdge(i int) []use { return x.all[x.byEdge[i].from:x.byEdge[i].to] }

// useWalk collects uses, or counts them when it has no room: there are so many that
// what growing a list leaves behind shows. at holds what is common to the next ones.
type useWalk struct {
	useIndex
	at    use
	count int
}

// graph counts the expressions of a graph, and lists them where there is room.
func (w *useWalk) graph(g *spec.Graph, b *bind.Graph, leaves []int) {
	for i, n := range g.Nodes {
		w.at = use{node: i, edge: -1}
		from := len(w.all)
		w.node(n, &b.Nodes[i])
		w.byNode[i] = pieces{from, len(w.all)}
	}
	for i, e := range g.Edges {
		w.at = use{node: leaves[i], edge: i, moment: onEdge}
		from := len(w.all)
		w.program("when", e.When, b.Edges[i].When)
		if e.Transform != nil {
			w.at.field = "transform"
			w.value(e.Transform, b.Edges[i].Transform)
		}
		w.byEdge[i] = pieces{from, len(w.all)}
	}
	if b.Group != nil {
		w.at = use{node: -1, edge: -1, moment: before, field: "group"}
		from := len(w.all)
		w.program("group", g.Concurrency.Group, b.Group)
		for i := range w.all[from:] {
			w.all[from+i].optional = true // what is not there yet puts the run in no group
		}
	}
	if g.Output != nil {
		w.at = use{node: -1, edge: -1, moment: atEnd, field: "output"}
		w.value(g.Output, b.Output)
	}
}

func (w *useWalk) node(n *spec.Node, b *bind.Node) {
	w.at.moment = before
	for i := range n.Fields {
		field := &n.Fields[i]
		w.at.field = field.Key.Value
		if n.Kind.Value == "set" && field.Key.Value == "set" {
			w.assignments(field.Value.Fields, b.Set)
			continue
		}
		for j := range b.Config {
			if b.Config[j].Name == field.Key.Value {
				w.value(&field.Value, &b.Config[j].Value)
			}
		}
	}
	w.program("each", n.Each, b.Each)
	w.named("before", n.Before, b.Before)
	w.at.moment = after
	w.named("writes", n.Writes.Exprs, b.Writes)
	w.at.moment = onEdge
	w.named("emit", n.Emit, b.Emit)
	w.program("goto", n.Goto, b.Goto)
}

func (w *useWalk) assignments(fields []spec.Field, bound []bind.Field) {
	for i := range bound {
		w.at.order = i
		w.value(&fields[i].Value, &bound[i].Value)
	}
	w.at.order = 0
}

func (w *useWalk) named(field string, exprs []spec.NamedExpr, bound []bind.Field) {
	for i := range bound {
		w.program(field, exprs[i].Expr, bound[i].Value.Program())
	}
}

// program adds a whole scalar that is an expression; nil when it has none or
// it did not compile.
func (w *useWalk) program(field string, text spec.Text, p *eval.Program) {
	if p == nil {
		return
	}
	w.at.field = field
	w.add(text, 0, len(text.Value), p, false, false)
}

func (w *useWalk) add(text spec.Text, from, to int, p *eval.Program, optional, inText bool) {
	if w.count++; w.all == nil {
		return
	}
	u := w.at
	u.text, u.from, u.to, u.program, u.optional, u.inText = text, from, to, p, optional, inText
	w.all = append(w.all, u)
}

// value adds the expressions of a value of any shape, which was bound to b.
func (w *useWalk) value(v *spec.Value, b *bind.Value) {
	if b == nil || b.IsConst() {
		return
	}
	if p := b.Program(); p != nil {
		w.add(v.Text, 0, len(v.Text.Value), p, false, false)
		return
	}
	if t := b.Template(); t != nil {
		for _, part := range t.Parts() {
			if part.Program != nil {
				w.add(v.Text, part.From, part.To, part.Program, part.Optional, true)
			}
		}
		return
	}
	items := b.Items()
	for i := range items {
		w.value(&v.Items[i], &items[i])
	}
	fields := b.Fields()
	for i := range fields {
		// Entries keep their order, but for those of unknown keys, which are left out.
		if i < len(v.Fields) && v.Fields[i].Key.Value == fields[i].Name {
			w.value(&v.Fields[i].Value, &fields[i].Value)
		} else if sub := v.Get(fields[i].Name); sub != nil {
			w.value(sub, &fields[i].Value)
		}
	}
}
