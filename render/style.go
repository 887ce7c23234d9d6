// Shapes and colours of boxes and arrows, and the order of boxes, for all languages.

package render

import (
	"cmp"
	"slices"

	"github.com/graphrun/graphrun/spec"
)

const (
	inkColor     = "#1F2937"
	quietColor   = "#6B7280"
	failureColor = "#DC2626"
	modelColor   = "#7C3AED"
	gotoColor    = "#0369A1"
	paleColor    = "#C4CAD3"
	waitingColor = "#D97706"
	runningColor = "#2563EB"
)

type boxStyle struct{ shape, style, fill, line string }

const rounded = "rounded,filled"

// kindStyles holds the styles of node kinds. Red and orange mean failed and waiting.
var kindStyles = map[string]boxStyle{
	"set":   {"box", rounded, "#E0F2FE", "#0284C7"},
	"pass":  {"box", rounded, "#F3F4F6", "#9CA3AF"},
	"exec":  {"box", rounded, "#E2E8F0", "#475569"},
	"http":  {"box", rounded, "#CCFBF1", "#0D9488"},
	"llm":   {"box", rounded, "#EDE9FE", "#7C3AED"},
	"agent": {"box", rounded, "#EDE9FE", "#7C3AED"},
	"tool":  {"box", rounded, "#ECFCCB", "#65A30D"},
	"tools": {"box", rounded, "#ECFCCB", "#65A30D"},
	"human": {"box", rounded, "#FCE7F3", "#DB2777"},
	"graph": {"box", rounded, "#DCFCE7", "#16A34A"},
	"wait":  {"box", "rounded,filled,dashed", "#F9FAFB", "#6B7280"},
	"fail":  {"octagon", "filled", "#FEE2E2", "#DC2626"},
}

// Mark says how to paint a box or an arrow. The zero value leaves it unpainted.
type Mark int

// The marks.
const (
	Untouched Mark = iota + 1 // not reached
	Touched
	Recovered   // a visit failed and the run continued
	FailedHere  // the run failed here
	WaitingHere // the run waits here
	RunningHere // the run is here
	Missed      // not covered by tests
)

// markStyles maps each mark to the colours and the width of its boxes ("" for no change), to the status
// of nodes if the mark alone decides it, and to a note about the mark.
var markStyles = map[Mark]struct{ fill, line, dotWidth, mermaidWidth, status, note string }{
	0:           {"", "", "", "1px", "", ""},
	Untouched:   {"#FFFFFF", paleColor, "", "1px", "untouched", ""},
	Touched:     {"", "", "2.4", "2px", "", ""},
	Recovered:   {"", failureColor, "2.4", "2px", "", ""},
	FailedHere:  {"#FECACA", failureColor, "3.6", "4px", "failed", ""},
	WaitingHere: {"#FFEDD5", waitingColor, "3.6", "4px", "waiting", "waiting"},
	RunningHere: {"#DBEAFE", runningColor, "3.6", "4px", "running", "running"},
	Missed:      {"#FFFFFF", failureColor, "1.6", "2px", "missed", "not covered"},
}

// chooseStyle returns the style of a node with a kind and a mark.
func chooseStyle(kind string, m Mark) boxStyle {
	s := cmp.Or(kindStyles[kind], boxStyle{"box", rounded, "#FFFFFF", "#374151"})
	s.fill, s.line = cmp.Or(markStyles[m].fill, s.fill), cmp.Or(markStyles[m].line, s.line)
	return s
}

// lineColor returns the colour of a line without a meaning of its own.
func (m Mark) lineColor() string {
	return cmp.Or(map[Mark]string{Untouched: paleColor, Missed: failureColor}[m], inkColor)
}

// lineStyle returns the style (solid, dashed or dotted) and the colour of an arrow.
func (e *Edge) lineStyle() (style, color string) {
	style = cmp.Or(map[string]string{"finally": "dashed", "goto": "dotted"}[e.Condition], "solid")
	if e.Else {
		style = "dashed"
	}
	color = e.Mark.lineColor()
	if e.Mark != Untouched && e.Mark != Missed {
		color = cmp.Or(conditionColors[e.Condition], inkColor)
	}
	return style, color
}

var conditionColors = map[string]string{"finally": quietColor, "on_failure": failureColor, "llm_decide": modelColor, "goto": gotoColor}

// The ids of the start and END marks.
const (
	startID = "__start__"
	endID   = "__end__"
)

// boxID returns the id of the box that an edge ends at.
func boxID(end string) string {
	if end == spec.END {
		return endID
	}
	return end
}

// canvas draws the parts of a drawing in one of the languages.
type canvas interface {
	// drawMark draws the start or the END mark.
	drawMark(id string, m Mark)
	drawNode(n *Node)
	drawEdge(e *Edge)
	// drawFinally draws the frame around the nodes of finally, which drawNodes draws.
	drawFinally(drawNodes func())
}

// drawBoxes draws the marks and the nodes, the nodes of finally last.
func (d *Drawing) drawBoxes(c canvas) {
	if d.hasStart {
		c.drawMark(startID, d.startMark)
	}
	drawNodes := func(final bool) {
		for i := range d.Nodes {
			if d.Nodes[i].Finally == final {
				c.drawNode(&d.Nodes[i])
			}
		}
	}
	drawNodes(false)
	if slices.ContainsFunc(d.Edges, func(e Edge) bool { return e.To == spec.END }) {
		c.drawMark(endID, d.endMark)
	}
	if slices.ContainsFunc(d.Nodes, func(n Node) bool { return n.Finally }) {
		c.drawFinally(func() { drawNodes(true) })
	}
}

// drawEdges draws the edges, the one from the start mark first.
func (d *Drawing) drawEdges(c canvas) {
	if d.hasStart {
		c.drawEdge(&Edge{From: startID, To: d.Start, Mark: d.startMark})
	}
	for i := range d.Edges {
		c.drawEdge(&d.Edges[i])
	}
}
