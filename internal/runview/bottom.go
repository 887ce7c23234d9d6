// The bottom lines of a terminal: running nodes with a spinner, and the run.

package runview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	frameTime  = 80 * time.Millisecond
	maxRunning = 8 // most lines of running nodes
	spinner    = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
)

// bottom holds the bottom lines. The view's mutex guards it.
type bottom struct {
	now     func() time.Time
	columns func() int
	stop    chan struct{}  // ends the ticker when closed
	running []*runningNode // by lane, then in order of their start
	lanes   []string       // branches in the order in which they started
	drawn   []string       // the lines on the screen, without colour
	hidden  bool
	frame   int
	start   time.Time // time of the first event
	step    int       // the last step that ended
	most    int       // step limit, or 0
	last    time.Time // time of the last drawing
}

// runningNode is the line of a running node.
type runningNode struct {
	lane     int
	branch   string // the first node of its branch, or ""
	visit    int
	node     string
	start    time.Time
	attempt  string
	progress string
	text     string
	streams  bool // the text is streamed: show its end
}

// NewLive returns a view on a terminal: finished lines scroll up, and the bottom lines show
// running nodes until Close. columns returns the width, or 0 if it is unknown (80).
func NewLive(out io.Writer, now func() time.Time, columns func() int, t *Tracer) *View {
	v := NewPlain(out, t, nil)
	v.bottom = &bottom{now: now, columns: columns, stop: make(chan struct{})}
	go v.runTicker()
	return v
}

// runTicker moves the spinner and the clocks.
func (v *View) runTicker() {
	ticker := time.NewTicker(frameTime)
	defer ticker.Stop()
	for {
		select {
		case <-v.bottom.stop:
			return
		case <-ticker.C:
			v.mu.Lock()
			v.bottom.frame++
			v.printPending()
			v.mu.Unlock()
		}
	}
}

// recordEvent records an event and reports whether to draw: a fast run must not spend its time drawing.
func (b *bottom) recordEvent(e *runner.Event, t *Tracer) bool {
	if b.start.IsZero() {
		b.start = b.now()
	}
	b.most = max(b.most, e.MaxSteps)
	n := b.findNode(e.Node)
	switch e.Type {
	case runner.NodeStarted:
		if n == nil {
			b.running = append(b.running, &runningNode{lane: b.findLane(e.Branch), branch: e.Branch, visit: e.Visit, node: e.Node, start: b.now()})
			// Each branch keeps its place on the screen.
			slices.SortStableFunc(b.running, func(a, b *runningNode) int { return a.lane - b.lane })
		}
	case runner.NodeCompleted, runner.NodeFailed:
		if !strings.Contains(e.Node, "/") { // subgraphs have their own count
			b.step = max(b.step, e.Step)
		}
		b.running = slices.DeleteFunc(b.running, func(n *runningNode) bool { return n.node == e.Node })
	default:
		if n != nil {
			n.recordEvent(e, t)
		}
	}
	return b.now().Sub(b.last) >= frameTime/2
}

func (n *runningNode) recordEvent(e *runner.Event, t *Tracer) {
	switch {
	case e.Type == runner.NodeRetrying:
		n.progress, n.text = "", "" // each attempt starts clean
		n.attempt = fmt.Sprintf("attempt %d/%d", e.Attempt+1, e.MaxAttempts)
	case e.Said == nil:
	case e.Type == runner.NodeOutput:
		if n.text = cutLastLine(n.text + e.Said.Text); e.Said.Broken {
			n.text = "" // the text starts again
		}
		n.streams = true
	case e.Type == runner.NodeEvent && e.Said.Type == "progress":
		n.progress = strings.TrimSpace(formatProgress(e.Said))
	case e.Type == runner.NodeEvent && e.Said.Type == "element":
		n.progress = t.elements[e.Node].progress
	}
}

// findNode returns the line of a node, which runs once at a time, or nil.
func (b *bottom) findNode(node string) *runningNode {
	for _, n := range b.running {
		if n.node == node {
			return n
		}
	}
	return nil
}

// findLane returns the position of a branch among those that have started.
func (b *bottom) findLane(branch string) int {
	if !slices.Contains(b.lanes, branch) {
		b.lanes = append(b.lanes, branch)
	}
	return slices.Index(b.lanes, branch)
}

// cutLastLine returns the last non-empty line of a streamed text.
func cutLastLine(s string) string {
	trimmed := strings.TrimRight(s, "\n")
	if at := strings.LastIndexByte(trimmed, '\n'); at >= 0 {
		s = s[at+1:]
	}
	const most = 4 << 10
	return s[max(0, len(s)-most):]
}

// drawBottom prints the pending lines and replaces the bottom lines.
func (v *View) drawBottom() {
	b, columns := v.bottom, v.bottom.width()
	var out strings.Builder
	b.eraseLines(&out, columns)
	for _, line := range v.pending {
		out.WriteString(strings.Join(terminal.Wrap(line, columns, v.tracer.columns.indent()), "\r\n") + "\r\n")
	}
	b.drawn = b.drawn[:0]
	for i, line := range b.formatLines(v.tracer, columns) {
		if i > 0 {
			out.WriteString("\r\n")
		}
		b.drawn = append(b.drawn, terminal.Truncate(line, columns-1))
		out.WriteString(v.tracer.colors.Info(b.drawn[i]))
	}
	b.last = b.now()
	if out.Len() > 0 {
		_, _ = io.WriteString(v.out, out.String()) // the terminal may be closed
	}
}

// formatLines returns the bottom lines: ended steps without routing, running nodes, and the run.
func (b *bottom) formatLines(t *Tracer, columns int) []string {
	if len(b.running) == 0 || b.hidden {
		return nil
	}
	var out []string
	for _, f := range t.unrouted[max(0, len(t.unrouted)-maxRunning):] {
		out = append(out, fmt.Sprintf("  [%d] %s  %s in %s", f.Step, formatVisit(f.Node, f.Visit), f.word, formatDuration(f.Duration)))
	}
	for i, n := range b.running {
		if i == maxRunning {
			out = append(out, fmt.Sprintf("  … and %d more", len(b.running)-i))
			break
		}
		out = append(out, b.formatNode(n, columns))
	}
	run := "  run  " + formatDuration(b.now().Sub(b.start))
	switch {
	case b.step > 0 && b.most > 0:
		run += fmt.Sprintf("  step %d of at most %d", b.step, b.most)
	case b.step > 0:
		run += fmt.Sprintf("  step %d", b.step)
	}
	return append(out, run)
}

// formatVisit formats a node and its visit: "write", "write #2".
func formatVisit(node string, visit int) string {
	if visit > 1 {
		return fmt.Sprintf("%s #%d", node, visit)
	}
	return node
}

// eraseLines removes the bottom lines. A narrower terminal has wrapped them into more rows.
func (b *bottom) eraseLines(out *strings.Builder, columns int) {
	if len(b.drawn) == 0 {
		return
	}
	rows := 0
	for _, line := range b.drawn {
		rows += max(1, (terminal.Width(line)+columns-1)/columns)
	}
	out.WriteString("\r")
	if rows > 1 {
		fmt.Fprintf(out, "\x1b[%dA", rows-1)
	}
	out.WriteString("\x1b[J")
}

func (b *bottom) width() int {
	if n := b.columns(); n > 1 {
		return n
	}
	return 80
}

// formatNode returns the line of a running node, with the end of its text or its program's last line.
func (b *bottom) formatNode(n *runningNode, columns int) string {
	frames := []rune(spinner)
	name := formatVisit(n.node, n.visit)
	if n.branch != "" && n.branch != n.node {
		name = n.branch + " › " + name
	}
	s := fmt.Sprintf("%c %s  %s", frames[b.frame%len(frames)], name, formatDuration(b.now().Sub(n.start)))
	s = joinNonEmpty("  ", s, n.attempt, n.progress)
	text := terminal.Line(strings.TrimSpace(n.text))
	if n.streams {
		text = terminal.TruncateStart(text, columns-1-terminal.Width(s)-2)
	}
	return joinNonEmpty("  ", s, text)
}

// Listener returns a function that shows the latest line of a program beside its node, or nil if
// the view has no bottom lines. Any goroutine may call it.
func (v *View) Listener() func(line store.LogChunk) {
	if v.bottom == nil {
		return nil
	}
	return func(line store.LogChunk) {
		if line.Stream == "text" { // events carry it too
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, name := range []string{line.Node, trimElement(line.Place)} {
			if n := v.bottom.findNode(name); n != nil {
				n.text, n.streams = line.Text, false
			}
		}
	}
}

// trimElement returns the path of an element's node, whose line shows all elements.
func trimElement(place string) string {
	if at := strings.LastIndexByte(place, '['); at >= 0 && strings.HasSuffix(place, "]") {
		return place[:at]
	}
	return place
}
