// Shapes and colours of boxes and arrows, for all languages.

package render

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

// look is the shape and colours of a box.
type look struct{ shape, style, fill, line string }

const rounded = "rounded,filled"

// kindLooks holds the looks of node kinds. Red and orange are reserved for failed and waiting
// nodes.
var kindLooks = map[string]look{
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

// looks returns the look of a node kind.
func looks(kind string) look {
	if l, ok := kindLooks[kind]; ok {
		return l
	}
	return look{"box", rounded, "#FFFFFF", "#374151"}
}

// marked returns the look of a painted box.
func (l look) marked(m Mark) look {
	switch m {
	case Untouched:
		l.fill, l.line = "#FFFFFF", paleColor
	case Unwell:
		l.line = failureColor
	case FailedHere:
		l.line, l.fill = failureColor, "#FECACA"
	case WaitingHere:
		l.line, l.fill = waitingColor, "#FFEDD5"
	case RunningHere:
		l.line, l.fill = runningColor, "#DBEAFE"
	case Missed:
		l.fill, l.line = "#FFFFFF", failureColor
	case Touched:
	}
	return l
}

// ink returns the colour of a line without a meaning of its own.
func (m Mark) ink() string {
	switch m {
	case Untouched:
		return paleColor
	case Missed:
		return failureColor
	}
	return inkColor
}

// stroke returns the style (solid, dashed or dotted) and the colour of an arrow.
func (a *Arrow) stroke() (style, color string) {
	style, color = "solid", inkColor
	switch a.Role {
	case StartArrow, ConditionArrow, UnconditionalArrow:
	case FinallyArrow:
		style, color = "dashed", quietColor
	case FailureArrow:
		color = failureColor
	case ModelArrow:
		color = modelColor
	case GotoArrow:
		style, color = "dotted", gotoColor
	}
	if a.Fallback {
		style = "dashed"
	}
	if a.Mark == Untouched || a.Mark == Missed {
		color = a.Mark.ink()
	}
	return style, color
}

// eachBox calls draw for each box. The boxes of finally come last, between open and shut.
func (d *Drawing) eachBox(draw func(*Box), open, shut func()) {
	var finally []*Box
	for i := range d.Boxes {
		if b := &d.Boxes[i]; b.Finally {
			finally = append(finally, b)
		} else {
			draw(b)
		}
	}
	if len(finally) == 0 {
		return
	}
	open()
	for _, b := range finally {
		draw(b)
	}
	shut()
}
