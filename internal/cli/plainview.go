// The view of a run where nobody sits at a terminal: a line per event.

package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// plainView prints lines as things happen.
type plainView struct {
	mu     sync.Mutex // guards what follows: notes come from another goroutine
	out    io.Writer
	tracer *tracer
	text   map[string]string // per node, streamed text without its line break yet
	held   bool              // somebody else has the terminal
	kept   []string          // lines that wait for it
}

func (v *plainView) event(e *runner.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e.Type {
	case runner.NodeStarted:
		v.print(v.tracer.lines(e))
		if worthStarting(e.Kind) && e.Attempt <= 1 {
			v.print([]string{v.tracer.start(e) + v.tracer.colors.quiet("started")})
		}
		return
	case runner.NodeOutput:
		v.streamed(e)
		return
	case runner.NodeEvent:
		if e.Said != nil && e.Said.Type == "progress" {
			v.print([]string{v.tracer.start(e) + progressText(e.Said)})
			return
		}
	case runner.NodeRetrying, runner.NodeCompleted, runner.NodeFailed:
		if rest := v.text[e.Node]; rest != "" {
			v.print([]string{v.tracer.start(e) + "| " + terminal.Line(rest)})
		}
		delete(v.text, e.Node)
	}
	v.print(v.tracer.lines(e))
}

// worthStarting says whether nodes of a kind may run for a while, so that a
// reader of the log wants to know what it waits for.
func worthStarting(kind string) bool {
	switch kind {
	case "set", "pass", "fail", "":
		return false
	}
	return true
}

// streamed prints the whole lines of a node's text.
func (v *plainView) streamed(e *runner.Event) {
	if e.Said == nil {
		return
	}
	lines := strings.Split(v.text[e.Node]+e.Said.Text, "\n")
	last := len(lines) - 1
	for _, line := range lines[:last] {
		v.print([]string{v.tracer.start(e) + "| " + terminal.Line(line)})
	}
	if v.text == nil {
		v.text = map[string]string{}
	}
	v.text[e.Node] = lines[last]
	if rest := lines[last]; e.Said.Final && rest != "" {
		v.print([]string{v.tracer.start(e) + "| " + terminal.Line(rest)})
		v.text[e.Node] = ""
	}
}

func progressText(s *runner.Said) string {
	text := fmt.Sprintf("%3.0f%%", s.Percent)
	if s.Message != "" {
		text += " " + terminal.Line(s.Message)
	}
	return text
}

func (v *plainView) print(lines []string) {
	if v.held {
		v.kept = append(v.kept, lines...)
		return
	}
	for _, line := range lines {
		fmt.Fprintln(v.out, line)
	}
}

func (v *plainView) note(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print([]string{text})
}

func (v *plainView) hold() func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = true
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.letGo()
	}
}

func (v *plainView) letGo() {
	kept := v.kept
	v.held, v.kept = false, nil
	v.print(kept)
}

func (v *plainView) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.letGo()
	v.print(v.tracer.flush())
}
