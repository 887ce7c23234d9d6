// Drawings as JSON, for other programs and for the page.

package render

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
)

// Document is the JSON of a drawing, as Schema describes it. Lists are never null.
type Document struct {
	Graph string `json:"graph"`
	Start string `json:"start"`
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	// Run is the painted run, or nil.
	Run any `json:"run"`
	// Subgraphs are the documents of subgraphs by node.
	Subgraphs Subgraphs `json:"subgraphs"`
}

// Node is a node of a Document. Fields about a run are null without one.
type Node struct {
	ID          string           `json:"id"`
	Kind        string           `json:"kind"`
	Label       string           `json:"label"`
	Description string           `json:"description"`
	Status      *string          `json:"status"`
	Visits      *int             `json:"visits"`
	DurationMS  *int64           `json:"duration_ms"`
	Error       *machine.Failure `json:"error"`
	Line        int              `json:"line"`
}

// Edge is an edge of a Document. Index is its index in the graph, or -1 for targets of goto
// and the order of finally.
type Edge struct {
	Index     int     `json:"index"`
	ID        *string `json:"id"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Condition string  `json:"condition"`
	When      *string `json:"when"`
	Label     *string `json:"label"`
	Priority  int     `json:"priority"`
	Fired     *int    `json:"fired"`
	Line      int     `json:"line"`
}

// Subgraphs are documents by node, in the order of the nodes.
type Subgraphs []NamedDocument

// NamedDocument is the document of the graph that a node runs.
type NamedDocument struct {
	Node     string
	Document *Document
}

// MarshalJSON returns an object with keys in the order of the nodes.
func (s Subgraphs) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, inner := range s {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(inner.Node)
		if err != nil {
			return nil, err
		}
		var value bytes.Buffer
		enc := json.NewEncoder(&value)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(inner.Document); err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), bytes.TrimSpace(value.Bytes())...)
	}
	return append(out, '}'), nil
}

// Document returns the JSON of the drawing, without Run.
func (d *Drawing) Document() *Document {
	doc := &Document{Graph: d.Graph, Start: d.Start, Nodes: []Node{}, Edges: []Edge{}, Subgraphs: Subgraphs{}}
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
		doc.Subgraphs = append(doc.Subgraphs, NamedDocument{s.Node, s.Drawing.Document()})
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
