// Package render draws graphs. A graph becomes a Drawing, which says what is
// there and what it means; the writers (DOT for now) say what it looks like.
package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Options choose what is drawn. The zero value draws everything.
type Options struct {
	// NoStartEnd leaves out the start and END marks and the edges to them.
	NoStartEnd bool
	// NoDestinations leaves out the targets that goto chooses.
	NoDestinations bool
	// Label is the title; empty: the graph's name.
	Label string
	// Trail is painted on the drawing; nil: nothing is.
	Trail *Trail
}

// Drawing is a graph as boxes and arrows, in declaration order.
type Drawing struct {
	Title  string
	Boxes  []Box
	Arrows []Arrow
	// Inner are the graphs of the file's `graphs`; their titles are "#name".
	Inner []*Drawing
}

// BoxRole tells boxes apart. The zero value is unset.
type BoxRole int

// The roles of boxes.
const (
	NodeBox BoxRole = iota + 1
	StartBox
	EndBox
)

// Box is a node, or the start or END mark.
type Box struct {
	// ID is the node's id; "__start__" and "__end__" for the marks, which no
	// node can be called.
	ID   string
	Role BoxRole
	// Kind is the node's kind; empty for marks.
	Kind string
	// Notes are short remarks such as "join all" and "≤ 3 visits".
	Notes []string
	// Tip is the node's description.
	Tip  string
	Mark Mark
	// Finally says that the node runs when the end of the run is decided.
	Finally bool
}

// ArrowRole says when an arrow is taken. The zero value is unset.
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
	// Fallback says that the arrow is taken when no condition beside it matched.
	Fallback bool
	// Label is what stands beside the arrow, lines wrapped; Tip is the whole
	// expression or description.
	Label string
	Tip   string
	Mark  Mark
}

// The ids of the marks.
const (
	startID = "__start__"
	endID   = "__end__"
)

// Draw turns a graph into a drawing.
func Draw(g *spec.Graph, opts Options) *Drawing {
	d := &Drawing{Title: opts.Label}
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
	choices := choicesOf(g)
	edges := map[int]int{} // the arrow's place → the edge's index
	for _, e := range g.Edges {
		edges[len(d.Arrows)] = e.Index
		a := edgeArrow(e)
		a.Fallback = fallback(e, choices)
		add(a)
	}
	delete(edges, len(d.Arrows)) // when the last was left out
	if !opts.NoDestinations {
		for _, n := range g.Nodes {
			for _, a := range gotoArrows(n) {
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
	if opts.Trail != nil {
		opts.Trail.paint(d, edges)
	}
	opts.Trail = nil // it is none of theirs
	for _, inner := range g.Graphs {
		opts.Label = inner.Ref()
		d.Inner = append(d.Inner, Draw(inner, opts))
	}
	return d
}

// choice says that a node chooses by conditions, or by a model, where it goes on
// after a success or after a failure.
type choice struct {
	node    string
	failure bool
}

func choicesOf(g *spec.Graph) map[choice]bool {
	out := map[choice]bool{}
	for _, e := range g.Edges {
		if failure := e.Condition == "on_failure"; e.Condition == "llm_decide" || e.When.IsSet() {
			out[choice{e.From.Value, failure}] = true
		}
	}
	return out
}

// fallback says whether an edge is what is left when its node chose none.
func fallback(e *spec.Edge, choices map[choice]bool) bool {
	free := e.Condition != "llm_decide" && !e.When.IsSet()
	return free && choices[choice{e.From.Value, e.Condition == "on_failure"}]
}

// notes are the settings of a node that change how the graph is walked.
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

// gotoArrows are the targets that a node's goto may choose; several labels for
// one target share an arrow.
func gotoArrows(n *spec.Node) []Arrow {
	var out []Arrow
	place := map[string]int{}
	for _, end := range n.Ends {
		to, label := end.Target.Value, end.Label.Value
		if at, ok := place[to]; ok {
			out[at].Label += "\n" + label
			continue
		}
		place[to] = len(out)
		if label == to {
			label = ""
		}
		out = append(out, Arrow{From: n.ID.Value, To: to, Role: GotoArrow, Label: label})
	}
	return out
}
