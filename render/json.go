// Drawings as JSON, for other programs and for the page.

package render

import (
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
)

// Document is the JSON of a drawing, as Schema describes it. Lists are never null.
type Document struct {
	Graph string `json:"graph" doc:"name of the graph"`
	Start string `json:"start" doc:"id of the node that the graph begins with"`
	Nodes []Node `json:"nodes" doc:"in the order of the file"`
	Edges []Edge `json:"edges" doc:"edges in the order of the file, then the targets of goto, then the order of finally"`
	// Run is the painted run, or nil.
	Run any `json:"run" doc:"the run that is painted, as run -o json prints it; null in subgraphs"`
	// Subgraphs are the documents of subgraphs by node.
	Subgraphs map[string]*Document `json:"subgraphs" doc:"what nodes of kind graph run, by their ids"`
}

// Node is a node of a Document. Fields about a run are null without one.
type Node struct {
	ID          string           `json:"id" doc:"id of the node"`
	Kind        string           `json:"kind" doc:"kind of the node, such as exec"`
	Label       string           `json:"label" doc:"what stands in the box"`
	Description string           `json:"description" doc:"the file's word on the node; empty: none"`
	Status      *string          `json:"status" doc:"how the node stands: untouched, running, waiting (for people), completed or failed; with coverage covered or missed" enum:"untouched running waiting completed failed covered missed"`
	Visits      *int             `json:"visits" doc:"how often it ran; with coverage 1 or 0" min:"0"`
	DurationMS  *int64           `json:"duration_ms" doc:"time of all visits together" min:"0"`
	Error       *machine.Failure `json:"error" doc:"why its latest visit failed; null when it did not"`
	Line        int              `json:"line" doc:"line of the file that declares it, from 1" min:"0"`
}

// Edge is an edge of a Document. Index is its index in the graph, or -1 for targets of goto
// and the order of finally.
type Edge struct {
	Index     int     `json:"index" doc:"place among the graph's edges, from 0; -1: it is none of them" min:"-1"`
	ID        *string `json:"id" doc:"id of the edge"`
	From      string  `json:"from" doc:"id of a node"`
	To        string  `json:"to" doc:"id of a node, or END"`
	Condition string  `json:"condition" doc:"when it is taken: a condition of edges, or goto or finally" enum:"always on_success on_failure conditional llm_decide goto finally"`
	When      *string `json:"when" doc:"the expression"`
	Label     *string `json:"label" doc:"label of the edge; of a goto the names that choose it"`
	Priority  int     `json:"priority" doc:"priority of the edge"`
	Fired     *int    `json:"fired" doc:"how often it was taken; with coverage 1 or 0, and null where no edge is" min:"0"`
	Line      int     `json:"line" doc:"line of the file that declares it, from 1; 0: none does" min:"0"`
}

// Document returns the JSON of the drawing, without Run.
func (d *Drawing) Document() *Document {
	doc := &Document{Graph: d.Graph, Start: d.Start, Nodes: []Node{}, Edges: []Edge{}, Subgraphs: map[string]*Document{}}
	painted := false
	for i := range d.Boxes {
		if b := &d.Boxes[i]; b.Role == NodeBox {
			painted = b.Outcome != nil
			doc.Nodes = append(doc.Nodes, nodeOf(b))
		}
	}
	for i := range d.Arrows {
		if a := &d.Arrows[i]; a.Role != StartArrow {
			doc.Edges = append(doc.Edges, edgeOf(a, painted))
		}
	}
	for _, s := range d.Subgraphs {
		doc.Subgraphs[s.Node] = s.Drawing.Document()
	}
	return doc
}

func nodeOf(b *Box) Node {
	n := Node{ID: b.ID, Kind: b.Kind, Label: b.ID, Description: b.Tip, Line: b.Line}
	if o := b.Outcome; o != nil {
		spent := max(0, o.Spent).Milliseconds()
		n.Status, n.Visits, n.DurationMS, n.Error = &o.Status, &o.Visits, &spent, o.Error
	}
	return n
}

func edgeOf(a *Arrow, painted bool) Edge {
	e := Edge{Index: -1, From: a.From, To: target(a), Line: a.Line}
	if painted && a.Mark != 0 { // coverage does not know every arrow
		e.Fired = &a.Taken
	}
	switch {
	case a.Edge != nil:
		e.Index, e.Condition, e.Priority = a.Edge.Index, a.Edge.Condition, a.Edge.Priority
		e.ID, e.When, e.Label = orNil(a.Edge.ID.Value), orNil(a.Edge.When.Value), orNil(a.Edge.Label.Value)
	case a.Role == FinallyArrow:
		e.Condition = "finally"
	default:
		e.Condition, e.Label = "goto", orNil(strings.Join(a.Names, ", "))
	}
	return e
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
