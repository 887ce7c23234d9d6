// The view of a run on a terminal: finished steps scroll up, and the bottom lines show
// running nodes.

package runview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

const (
	frameTime  = 80 * time.Millisecond
	maxRunning = 8 // most lines of running nodes
)

// Live redraws the bottom lines on events and, for the spinner and the
// clocks, on a ticker.
type Live struct {
	out     io.Writer
	now     func() time.Time
	columns func() int
	stop    chan struct{}
	stopped chan struct{}

	mu      sync.Mutex // guards the fields below
	tracer  *Tracer
	running []*runningNode // by lane, then in order of their start
	lanes   []string       // branches in the order in which they started
	thought streams
	pending []string // finished lines that are not drawn yet
	drawn   []string // the bottom lines on the screen, without colour
	frame   int
	start   time.Time // time of the first event
	step    int       // the last step that ended
	most    int       // step limit, or 0
	last    time.Time
	closed  bool
	held    bool // a question uses the terminal
}

// runningNode is a bottom line.
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

// NewLive returns a view on a terminal, which draws until Close. columns returns the width
// and may be nil (80).
func NewLive(out io.Writer, now func() time.Time, columns func() int, t *Tracer) *Live {
	v := &Live{
		out: out, now: now, columns: columns, tracer: t,
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go v.tick()
	return v
}

func (v *Live) tick() {
	defer close(v.stopped)
	ticker := time.NewTicker(frameTime)
	defer ticker.Stop()
	for {
		select {
		case <-v.stop:
			return
		case <-ticker.C:
			v.mu.Lock()
			v.frame++
			v.draw()
			v.mu.Unlock()
		}
	}
}

// Event updates the view.
func (v *Live) Event(e *runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e = inspect.Placed(e)
	v.pending = append(v.pending, v.thought.thoughtLines(v.tracer, e)...)
	v.pending = append(v.pending, v.tracer.Lines(e)...)
	if v.start.IsZero() {
		v.start = v.now()
	}
	v.most = max(v.most, e.MaxSteps)
	switch e.Type {
	case runner.NodeStarted:
		if v.find(e) == nil {
			v.running = append(v.running, &runningNode{lane: v.lane(e.Branch), branch: e.Branch, visit: e.Visit, node: e.Node, start: v.now()})
			// Each branch keeps its place on the screen.
			slices.SortStableFunc(v.running, func(a, b *runningNode) int { return a.lane - b.lane })
		}
	case runner.NodeCompleted, runner.NodeFailed:
		if !strings.Contains(e.Node, "/") { // subgraphs have their own count
			v.step = max(v.step, e.Step)
		}
		v.running = slices.DeleteFunc(v.running, func(n *runningNode) bool { return n.node == e.Node })
	case runner.NodeRetrying:
		if n := v.find(e); n != nil {
			n.progress, n.text = "", "" // each attempt starts clean
			n.attempt = fmt.Sprintf("attempt %d/%d", e.Attempt+1, e.MaxAttempts)
		}
	case runner.NodeOutput:
		if n := v.find(e); n != nil && e.Said != nil {
			if n.text = lastLine(n.text + e.Said.Text); e.Said.Broken {
				n.text = "" // the text starts again
			}
			n.streams = true
		}
	case runner.NodeEvent:
		n := v.find(e)
		switch {
		case n == nil || e.Said == nil:
		case e.Said.Type == "progress":
			n.progress = strings.TrimSpace(progressText(e.Said))
		case e.Said.Type == "element":
			n.progress = v.tracer.elements[e.Node].progress()
		}
	}
	// A fast run must not spend its time drawing.
	if now := v.now(); now.Sub(v.last) >= frameTime/2 {
		v.draw()
	}
}

func (v *Live) find(e *runner.Event) *runningNode {
	for _, n := range v.running {
		if n.node == e.Node { // a node runs once at a time
			return n
		}
	}
	return nil
}

// lane returns the position of a branch among those that have started.
func (v *Live) lane(branch string) int {
	i := slices.Index(v.lanes, branch)
	if i < 0 {
		i = len(v.lanes)
		v.lanes = append(v.lanes, branch)
	}
	return i
}

// lastLine returns the last non-empty line of a streamed text.
func lastLine(s string) string {
	trimmed := strings.TrimRight(s, "\n")
	if at := strings.LastIndexByte(trimmed, '\n'); at >= 0 {
		s = s[at+1:]
	}
	const most = 4 << 10
	return s[max(0, len(s)-most):]
}

// draw replaces the bottom lines. Callers hold mu.
func (v *Live) draw() {
	if v.closed || v.held {
		return
	}
	columns := v.width()
	var b strings.Builder
	v.erase(&b, columns)
	for _, line := range v.pending {
		b.WriteString(strings.Join(terminal.Wrap(line, columns, v.tracer.columns.indent()), "\r\n") + "\r\n")
	}
	v.pending = v.pending[:0]
	v.drawn = v.drawn[:0]
	for _, line := range v.bottom(columns) {
		v.drawn = append(v.drawn, terminal.Truncate(line, columns-1))
	}
	for i, line := range v.drawn {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(v.tracer.colors.Info(line))
	}
	v.last = v.now()
	if b.Len() > 0 {
		// Errors are ignored: the terminal may be closed.
		_, _ = io.WriteString(v.out, b.String())
	}
}

// bottom returns the bottom lines: ended steps without routing, running nodes, and the run.
func (v *Live) bottom(columns int) []string {
	if len(v.running) == 0 {
		return nil
	}
	var out []string
	for _, f := range v.tracer.held[max(0, len(v.tracer.held)-maxRunning):] {
		out = append(out, fmt.Sprintf("  [%d] %s  %s in %s", f.step, visitName(f.node, f.visit), f.word, Clock(f.duration)))
	}
	for i, n := range v.running {
		if i == maxRunning {
			out = append(out, fmt.Sprintf("  … and %d more", len(v.running)-i))
			break
		}
		out = append(out, v.status(n, columns))
	}
	run := "  run  " + Clock(v.now().Sub(v.start))
	if v.step > 0 {
		run += fmt.Sprintf("  step %d", v.step)
		if v.most > 0 {
			run += fmt.Sprintf(" of at most %d", v.most)
		}
	}
	return append(out, run)
}

// visitName formats a node and its visit: "write", "write #2".
func visitName(node string, visit int) string {
	if visit > 1 {
		return fmt.Sprintf("%s #%d", node, visit)
	}
	return node
}

// erase removes the bottom lines. It counts rows with the present width, since a narrower
// terminal has wrapped them.
func (v *Live) erase(b *strings.Builder, columns int) {
	if len(v.drawn) == 0 {
		return
	}
	rows := 0
	for _, line := range v.drawn {
		rows += max(1, (terminal.Width(line)+columns-1)/columns)
	}
	b.WriteString("\r")
	if rows > 1 {
		fmt.Fprintf(b, "\x1b[%dA", rows-1)
	}
	b.WriteString("\x1b[J")
}

func (v *Live) width() int {
	if v.columns != nil {
		if n := v.columns(); n > 1 {
			return n
		}
	}
	return 80
}

// status returns the line of a running node, with the end of a streamed text or the
// beginning of a program's line.
func (v *Live) status(n *runningNode, columns int) string {
	const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	frames := []rune(spinner)
	name := visitName(n.node, n.visit)
	if n.branch != "" && n.branch != n.node {
		name = n.branch + " › " + name
	}
	s := fmt.Sprintf("%c %s  %s", frames[v.frame%len(frames)], name, Clock(v.now().Sub(n.start)))
	for _, part := range []string{n.attempt, n.progress} {
		if part != "" {
			s += "  " + part
		}
	}
	text := terminal.Line(strings.TrimSpace(n.text))
	if n.streams {
		text = terminal.TruncateStart(text, columns-1-terminal.Width(s)-2)
	}
	if text != "" {
		s += "  " + text
	}
	return s
}

// Note shows a remark above the bottom lines.
func (v *Live) Note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending = append(v.pending, v.tracer.colors.Warn(text))
	v.draw()
}

// Hold clears the bottom lines and stops drawing until release is called.
func (v *Live) Hold() func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	running := v.running
	v.running = nil // with them the bottom lines make way
	v.draw()
	v.running, v.held = running, true
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.held = false
		v.draw()
	}
}

// Close removes the bottom lines and stops.
func (v *Live) Close() {
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return
	}
	v.held = false
	v.pending = append(v.pending, v.tracer.Flush()...)
	v.running = nil
	v.draw()
	v.closed = true
	v.mu.Unlock()
	close(v.stop)
	<-v.stopped
}

// Listener is a view that shows the latest output line of programs.
type Listener interface {
	// Heard shows a line. It may be called from any goroutine.
	Heard(line store.LogChunk)
}

// Heard shows the latest line of a program beside its node. Text of models comes as events.
func (v *Live) Heard(line store.LogChunk) {
	if line.Stream == "text" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range []string{line.Node, withoutElement(line.Place)} {
		if n := v.find(&runner.Event{Node: name}); n != nil {
			n.text, n.streams = line.Text, false
		}
	}
}

// withoutElement returns the path of an element's node, whose line stands for all elements.
func withoutElement(place string) string {
	if at := strings.LastIndexByte(place, '['); at >= 0 && strings.HasSuffix(place, "]") {
		return place[:at]
	}
	return place
}
