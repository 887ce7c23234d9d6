// Package render draws graphs. Draw turns a graph into a Drawing of boxes and arrows with
// meanings; the writers (DOT, Mermaid, JSON) choose shapes and colours.
package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Options choose the parts of a drawing. The zero value draws everything.
type Options struct {
	// NoStartEnd omits the start and END marks and the edges to them.
	NoStartEnd bool
	// NoDestinations omits the targets of goto.
	NoDestinations bool
	// Label is the title, by default the graph's name.
	Label string
	// Trail is painted on the drawing. It may be nil.
	Trail *Trail
	// Open returns the graph that a graph node runs, or nil. If Open is set, drawings contain
	// their subgraphs.
	Open func(g *spec.Graph, node *spec.Node) *spec.Graph

	within []*spec.Graph // the graphs around the one that is drawn
}

// Drawing is a graph as boxes and arrows, in declaration order.
type Drawing struct {
	Title string
	// Graph and Start are the graph's name and the node that it begins with.
	Graph, Start string
	Boxes        []Box
	Arrows       []Arrow
	// Inner are the drawings of the file's graphs, with titles "#name".
	Inner []*Drawing
	// Subgraphs are the graphs that nodes run, in the order of the nodes; see Options.Open.
	Subgraphs []Subgraph
}

// Subgraph is the drawing of the graph that a node runs.
type Subgraph struct {
	Node    string
	Drawing *Drawing
}

// BoxRole is the role of a box. The zero value is unset.
type BoxRole int

// The roles of boxes.
const (
	NodeBox BoxRole = iota + 1
	StartBox
	EndBox
)

// Box is a node, or the start or END mark.
type Box struct {
	// ID is the node's id, or "__start__" or "__end__" for the marks.
	ID   string
	Role BoxRole
	// Kind is the node's kind, or "" for marks.
	Kind string
	// Notes are short remarks such as "join all" and "≤ 3 visits".
	Notes []string
	// Tip is the node's description.
	Tip  string
	Mark Mark
	// Finally marks a node of finally.
	Finally bool
	// Line is the line of the node in the file, from 1, or 0 for marks.
	Line int
	// Outcome is the node's part of the trail, or nil.
	Outcome *Outcome
}

// Outcome is the result of a node in a run.
type Outcome struct {
	Status string
	Visits int
	// Spent is the total time of all visits.
	Spent time.Duration
	// Error is the failure of the latest visit, or nil.
	Error *machine.Failure
}

// ArrowRole says when an arrow fires. The zero value is unset.
type ArrowRole int

// The roles of arrows.
const (
	StartArrow         ArrowRole = iota + 1 // from the start mark
	ConditionArrow                          // when its expression is true
	UnconditionalArrow                      // on success, when no condition matched
	FailureArrow                            // after a failure
	ModelArrow                              // when a model chooses it
	GotoArrow                               // when the node's goto names it
	FinallyArrow                            // from one node of finally to the next
)

// Arrow is an edge, or a target of a goto.
type Arrow struct {
	From, To string
	Role     ArrowRole
	// Conditional says that the arrow has an expression of its own.
	Conditional bool
	// Fallback says that the arrow fires if no condition beside it matched.
	Fallback bool
	// Label is the wrapped text beside the arrow; Tip is the whole expression or description.
	Label string
	Tip   string
	Mark  Mark
	// Edge is the edge that the arrow shows, or nil.
	Edge *spec.Edge
	// Names are the goto labels that choose the arrow.
	Names []string
	// Line is the line of the arrow in the file, from 1, or 0.
	Line int
	// Taken is how often the arrow fired in the trail.
	Taken int
}

// The ids of the marks.
const (
	startID = "__start__"
	endID   = "__end__"
)

// Draw turns a graph into a drawing.
func Draw(g *spec.Graph, opts Options) *Drawing {
	d := &Drawing{Title: opts.Label, Graph: g.Name.Value, Start: g.Start.Value}
	if d.Title == "" {
		d.Title = g.Name.Value
	}
	if !opts.NoStartEnd {
		d.Boxes = append(d.Boxes, Box{ID: startID, Role: StartBox})
		d.Arrows = append(d.Arrows, Arrow{From: startID, To: g.Start.Value, Role: StartArrow})
	}
	for _, n := range g.Nodes {
		d.Boxes = append(d.Boxes, Box{
			ID: n.ID.Value, Role: NodeBox, Kind: n.Kind.Value, Notes: notes(n), Tip: n.Description.Value, Finally: n.Final,
			Line: line(g, n.Span),
		})
	}
	ends := false
	add := func(a Arrow) {
		if a.To == spec.END {
			if opts.NoStartEnd {
				return
			}
			a.To, ends = endID, true
		}
		d.Arrows = append(d.Arrows, a)
	}
	choices := map[choice]bool{}
	for _, e := range g.Edges {
		choices[choiceOf(e)] = choices[choiceOf(e)] || isConditional(e)
	}
	for _, e := range g.Edges {
		a := edgeArrow(e)
		a.Edge, a.Line, a.Fallback = e, line(g, e.Span), choices[choiceOf(e)] && !isConditional(e)
		add(a)
	}
	if !opts.NoDestinations {
		for _, n := range g.Nodes {
			for _, a := range gotoArrows(n) {
				a.Line = line(g, n.Span)
				add(a)
			}
		}
	}
	for i := 1; i < len(g.Finally); i++ {
		d.Arrows = append(d.Arrows, Arrow{From: g.Finally[i-1].Value, To: g.Finally[i].Value, Role: FinallyArrow})
	}
	if ends {
		d.Boxes = append(d.Boxes, Box{ID: endID, Role: EndBox})
	}
	trails := map[*spec.Graph]*Trail{}
	if opts.Trail != nil {
		opts.Trail.paint(d)
		trails = opts.Trail.inner(g)
	}
	d.open(g, opts)
	opts.Open = nil // they stand beside each other
	for _, inner := range g.Graphs {
		opts.Label, opts.Trail = inner.Ref(), trails[inner]
		d.Inner = append(d.Inner, Draw(inner, opts))
	}
	return d
}

// open draws the graphs that nodes run.
func (d *Drawing) open(g *spec.Graph, opts Options) {
	if opts.Open == nil {
		return
	}
	trail := opts.Trail
	opts.Label, opts.within = "", append(slices.Clip(opts.within), g)
	for _, n := range g.Nodes {
		if n.Kind.Value != "graph" {
			continue
		}
		inner := opts.Open(g, n)
		if inner == nil || slices.Contains(opts.within, inner) {
			continue // one that runs itself would have no end
		}
		if opts.Trail = nil; trail != nil {
			opts.Trail = trail.innerTrail(n.ID.Value)
		}
		d.Subgraphs = append(d.Subgraphs, Subgraph{n.ID.Value, Draw(inner, opts)})
	}
}

// line returns the line at which a span starts, from 1, or 0 for no span.
func line(g *spec.Graph, span spec.Span) int {
	if span == (spec.Span{}) {
		return 0
	}
	file, span := g.File.Locate(span)
	return file.Position(span.From).Line
}

// choice marks a node with conditional edges after a success, or after a failure.
type choice struct {
	node    string
	failure bool
}

func choiceOf(e *spec.Edge) choice { return choice{e.From.Value, e.Condition == "on_failure"} }

// isConditional reports whether an edge has a condition of its own.
func isConditional(e *spec.Edge) bool { return e.Condition == "llm_decide" || e.When.IsSet() }

// notes returns the settings of a node that affect routing and repetition.
func notes(n *spec.Node) []string {
	var out []string
	if n.Join != nil {
		wait := n.Join.Wait
		if wait == "N" {
			wait = strconv.Itoa(n.Join.Count)
		}
		out = append(out, "join "+wait)
	}
	if file := n.Field("graph"); n.Kind.Value == "graph" && file != nil && strings.HasPrefix(file.Text.Value, "#") {
		out = append(out, file.Text.Value)
	}
	if n.Each.IsSet() {
		out = append(out, "each "+elide(oneLine(n.Each.Value), 24))
	}
	if n.Routing == "all" {
		out = append(out, "routes all")
	}
	if n.MaxVisits > 0 {
		out = append(out, fmt.Sprintf("≤ %d visits", n.MaxVisits))
	}
	if most := spec.Attempts(n.Retry); most > 1 {
		out = append(out, fmt.Sprintf("≤ %d attempts", most))
	}
	return out
}

func edgeArrow(e *spec.Edge) Arrow {
	a := Arrow{From: e.From.Value, To: e.To.Value, Conditional: e.When.IsSet()}
	text := e.When.Value
	switch e.Condition {
	case "conditional":
		a.Role = ConditionArrow
	case "on_failure":
		a.Role = FailureArrow
		if text == "" {
			text = "on failure"
		}
	case "llm_decide":
		a.Role = ModelArrow
		text = e.Description.Value
		if text == "" {
			text = "model decides"
		}
	case "always":
		a.Role = UnconditionalArrow
		text = "always"
	default:
		a.Role = UnconditionalArrow
	}
	if e.Label.Value != "" {
		a.Label, a.Tip = wrap(e.Label.Value), text
	} else {
		a.Label, a.Tip = wrap(text), text
	}
	var extra []string
	if e.Priority != 0 {
		extra = append(extra, "priority "+strconv.Itoa(e.Priority))
	}
	if e.Fallback {
		extra = append(extra, "fallback")
	}
	if len(extra) > 0 {
		a.Label = strings.TrimPrefix(a.Label+"\n("+strings.Join(extra, ", ")+")", "\n")
	}
	if a.Tip == "" || a.Tip == a.Label {
		a.Tip = e.Description.Value
	}
	return a
}

// gotoArrows returns an arrow for each target of a node's goto. Several labels of one target
// share an arrow.
func gotoArrows(n *spec.Node) []Arrow {
	var out []Arrow
	place := map[string]int{}
	for _, end := range n.Ends {
		to, label := end.Target.Value, end.Label.Value
		if at, ok := place[to]; ok {
			out[at].Label += "\n" + label
			out[at].Names = append(out[at].Names, label)
			continue
		}
		place[to] = len(out)
		names := []string{label}
		if label == to {
			label = ""
		}
		out = append(out, Arrow{From: n.ID.Value, To: to, Role: GotoArrow, Label: label, Names: names})
	}
	return out
}
