package runview

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

func traceGraph() *spec.Graph {
	g, _ := spec.Parse("flow.yaml", []byte(`{graphrun: v1, name: g, limits: {max_steps: 99}, nodes: {write: {kind: pass}, critique: {kind: pass}, publish: {kind: pass}},
edges: [{from: critique, to: critique}]}`), spec.Options{}) // critique may be visited up to 99 times
	return g
}

// storyEvents returns the events of a run with two branches, a retry, speech and a failure.
func storyEvents() []runner.Event {
	return []runner.Event{
		{Type: runner.RunStarted, RunID: "r1", Graph: "g", Start: "write", MaxSteps: 9},
		{Type: runner.NodeStarted, Node: "write", Visit: 1, Attempt: 1, Kind: "exec"},
		{Type: runner.NodeRetrying, Node: "write", Visit: 1, Attempt: 1, MaxAttempts: 3, NextDelay: time.Second, Error: &machine.Failure{Kind: "exit_status", Message: "exit 1"}},
		{Type: runner.NodeStarted, Node: "write", Visit: 1, Attempt: 2, Kind: "exec"},
		{Type: runner.NodeOutput, Node: "write", Visit: 1, Said: &runner.Said{Type: "text", Text: "first\nsecond li"}},
		{Type: runner.NodeEvent, Node: "write", Visit: 1, Said: &runner.Said{Type: "progress", Percent: 40, Message: "half\x1b[2J"}},
		{Type: runner.NodeOutput, Node: "write", Visit: 1, Said: &runner.Said{Type: "text", Text: "ne"}},
		{Type: runner.NodeEvent, Node: "write", Visit: 1, Said: &runner.Said{Type: "custom", Name: "tick", Data: map[string]any{"n": 1}}},
		{Type: runner.NodeEvent, Node: "write", Visit: 1, Said: &runner.Said{Type: "warning", Message: "bad line"}},
		{Type: runner.NodeCompleted, Step: 1, Node: "write", Visit: 1, Kind: "exec", Duration: 1500 * time.Millisecond},
		{
			Type: runner.EdgesResolved, Step: 1, Node: "write", Visit: 1, Next: []string{"critique", "publish"},
			Candidates: []machine.Candidate{
				{To: "critique", Condition: "conditional", When: "n >\n  1", Fired: true},
				{To: "publish", Condition: "on_success", Fired: true},
			},
		},
		{Type: runner.NodeStarted, Node: "critique", Visit: 2, Attempt: 1, Kind: "set"},
		{Type: runner.NodeStarted, Node: "publish", Visit: 1, Attempt: 1, Kind: "set"},
		{Type: runner.NodeCompleted, Step: 2, Node: "critique", Visit: 2, Duration: 2 * time.Millisecond},
		{Type: runner.NodeFailed, Step: 3, Node: "publish", Visit: 1, Duration: 3 * time.Millisecond, Error: &machine.Failure{Kind: "failed", Message: "no\nway"}},
		{
			Type: runner.EdgesResolved, Step: 2, Node: "critique", Visit: 2, Next: []string{"END"},
			Candidates: []machine.Candidate{
				{To: "write", Condition: "conditional", When: "n > 2"},
				{To: "END", Condition: "on_success", Fired: true},
			},
		},
		{Type: runner.RunFinished},
	}
}

func TestPlainView(t *testing.T) {
	var out bytes.Buffer
	v := NewPlain(&out, NewTracer(traceGraph(), terminal.NewColors(false)), nil)
	events := storyEvents()
	for i := range events {
		v.Event(&events[i])
	}
	v.Note("a note")
	v.Close()
	const want = `run r1 of g from write, at most 9 steps
     write         retry   attempt 1 of 3 failed, next in 1.0s: exit_status: exit 1
     write         | first
     write          40% half�[2J
     write         event   tick {"n":1}
     write         warning bad line
[1]  write         | second line
[1]  write         ok         1.5s  → critique, publish  (n > 1)
[2]  critique #2   ok          2ms  → END  (else)
[3]  publish       failed      3ms  no way
a note
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// screen is a terminal that knows what the live view uses, and nothing else.
type screen struct {
	t        *testing.T
	columns  int
	rows     [][]rune
	row, col int
}

func (s *screen) Write(p []byte) (int, error) {
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; r {
		case '\r':
			s.col = 0
		case '\n':
			s.row++
		case '\x1b':
			end := i + 2
			for end < len(text) && !(text[end] >= 'A' && text[end] <= 'z') {
				end++
			}
			s.control(string(text[i+2:end]), text[end])
			i = end
		default:
			if s.col == s.columns { // wraps
				s.row, s.col = s.row+1, 0
			}
			s.put(r)
		}
	}
	return len(p), nil
}

func (s *screen) put(r rune) {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[s.row]) <= s.col {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
	s.rows[s.row][s.col] = r
	s.col++
}

func (s *screen) control(arg string, kind rune) {
	switch kind {
	case 'A':
		n := 0
		fmt.Sscan(arg, &n)
		if s.row -= n; s.row < 0 {
			s.t.Fatalf("the cursor left the screen by %d rows", -s.row)
		}
	case 'J':
		s.rows = s.rows[:min(len(s.rows), s.row+1)]
		if len(s.rows) > s.row {
			s.rows[s.row] = s.rows[s.row][:min(s.col, len(s.rows[s.row]))]
		}
	case 'm':
	default:
		s.t.Fatalf("unknown sequence ESC [ %s %c", arg, kind)
	}
}

func (s *screen) text() string {
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// newStillView returns a live view without a ticker. It draws when the test tells it to.
func newStillView(s *screen, now func() time.Time) *View {
	v := NewPlain(s, NewTracer(traceGraph(), terminal.NewColors(true)), nil)
	v.bottom = &bottom{now: now, columns: func() int { return s.columns }, stop: make(chan struct{})}
	return v
}

func TestLiveViewLeavesOnlyTheTrace(t *testing.T) {
	for _, columns := range []int{200, 40, 12, 2} {
		s := &screen{t: t, columns: columns}
		now := time.Unix(0, 0)
		v := newStillView(s, func() time.Time { now = now.Add(100 * time.Millisecond); return now })
		events := storyEvents()
		for i := range events {
			v.Event(&events[i])
			for _, line := range v.bottom.drawn {
				if terminal.Width(line) >= columns {
					t.Errorf("%d columns: a line of %d: %q", columns, terminal.Width(line), line)
				}
			}
		}
		v.Note("a note")
		v.Close()
		if columns != 200 {
			continue // finished lines wrap; what counts is that the cursor never left its place
		}
		const want = `run r1 of g from write, at most 9 steps
     write         retry   attempt 1 of 3 failed, next in 1.0s: exit_status: exit 1
     write         event   tick {"n":1}
     write         warning bad line
[1]  write         ok         1.5s  → critique, publish  (n > 1)
[2]  critique #2   ok          2ms  → END  (else)
[3]  publish       failed      3ms  no way
a note
`
		if diff := cmp.Diff(want, s.text()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestLiveViewShowsWhatRuns(t *testing.T) {
	s := &screen{t: t, columns: 60}
	now := time.Unix(0, 0)
	v := newStillView(s, func() time.Time { return now })
	events := storyEvents()
	for i := range events[:7] {
		now = now.Add(time.Second)
		v.Event(&events[i])
	}
	const want = `run r1 of g from write, at most 9 steps
     write         retry   attempt 1 of 3 failed, next in
                   1.0s: exit_status: exit 1
⠋ write  5.0s  attempt 2/3  40% half�[2J  second line
  run  6.0s
`
	if diff := cmp.Diff(want, s.text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	v.Close()
}

// Each branch keeps its line while its nodes follow each other.
func TestLiveViewShowsBranchesAsLanes(t *testing.T) {
	s := &screen{t: t, columns: 60}
	now := time.Unix(0, 0)
	v := newStillView(s, func() time.Time { now = now.Add(time.Second); return now })
	start := func(node, branch string) {
		v.Event(&runner.Event{Type: runner.NodeStarted, Node: node, Branch: branch, Visit: 1})
	}
	end := func(node string) { v.Event(&runner.Event{Type: runner.NodeCompleted, Node: node, Visit: 1}) }
	start("test", "test")
	start("build", "build")
	end("test")
	start("repair", "test")
	var rows []string
	for _, line := range strings.Split(strings.TrimSpace(s.text()), "\n") {
		rows = append(rows, regexp.MustCompile(`^\S+ |  \d.*`).ReplaceAllString(line, ""))
	}
	if diff := cmp.Diff([]string{"test › repair", "build"}, rows[len(rows)-3:len(rows)-1]); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, s.text())
	}
	v.Close()
}

func TestLiveViewShowsAFewOfMany(t *testing.T) {
	s := &screen{t: t, columns: 60}
	now := time.Unix(0, 0)
	v := newStillView(s, func() time.Time { now = now.Add(time.Second); return now })
	for i := range 30 {
		v.Event(&runner.Event{Type: runner.NodeStarted, Step: i + 1, Node: fmt.Sprint("n", i), Visit: 1})
	}
	if got := strings.Count(s.text(), "\n"); got != maxRunning+2 {
		t.Errorf("%d lines, want %d: %s", got, maxRunning+2, s.text())
	}
	if !strings.Contains(s.text(), "… and 22 more") {
		t.Errorf("the rest is not counted: %s", s.text())
	}
	v.Close()
	if strings.TrimSpace(s.text()) != "" {
		t.Errorf("garbage is left: %q", s.text())
	}
}

// TestColumnsHold runs past step 99: the columns stay aligned, on a graph whose limit allows that
// many steps and on one where only a flag does.
func TestColumnsHold(t *testing.T) {
	for _, most := range []int{300, 9} {
		g := traceGraph()
		g.Limits.MaxSteps = most
		trace := NewTracer(g, terminal.NewColors(false))
		trace.Lines(&runner.Event{Type: runner.RunStarted, MaxSteps: 300})
		at := map[int]bool{}
		for _, step := range []int{9, 99, 100, 250} {
			e := runner.Event{Type: runner.NodeCompleted, Step: step, Node: "critique", Visit: step}
			trace.Lines(&e)
			e.Type, e.Next = runner.EdgesResolved, []string{"END"}
			line := trace.Lines(&e)[0]
			at[strings.Index(line, " ok ")] = true
		}
		if len(at) != 1 {
			t.Errorf("limit %d in the file: the outcome stands at %v", most, at)
		}
	}
}

// TestBranchEndsInOneLine: a node that ends while others run gets one line, once its route is
// known. Until then the bottom lines show it.
func TestBranchEndsInOneLine(t *testing.T) {
	s := &screen{t: t, columns: 60}
	v := newStillView(s, func() time.Time { return time.Unix(0, 0) })
	events := []runner.Event{
		{Type: runner.NodeStarted, Node: "write", Visit: 1, Kind: "exec"},
		{Type: runner.NodeStarted, Node: "publish", Visit: 1, Kind: "exec"},
		{Type: runner.NodeEvent, Node: "publish", Visit: 1, Said: &runner.Said{Type: "element", Data: map[string]any{
			"index": 2, "item": "c", "outcome": "failure", "done": 3, "failed": 1, "total": 4,
		}}},
		{Type: runner.NodeFailed, Step: 1, Node: "write", Visit: 1, Duration: time.Second, Error: &machine.Failure{Kind: "failed", Message: "no"}},
	}
	for i := range events {
		v.Event(&events[i])
	}
	v.printPending()
	const during = `  [1] write  failed in 1.0s
⠋ publish  0ms  3 of 4, 1 failed; last "c" failed
  run  0ms  step 1
`
	if diff := cmp.Diff(during, s.text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	events = []runner.Event{
		{Type: runner.NodeCompleted, Step: 2, Node: "publish", Visit: 1, Duration: 2 * time.Second},
		{Type: runner.EdgesResolved, Step: 1, Node: "write", Visit: 1, Next: []string{"critique"}},
		{Type: runner.EdgesResolved, Step: 2, Node: "publish", Visit: 1, Next: []string{"critique"}},
	}
	for i := range events {
		v.Event(&events[i])
	}
	v.Close()
	const after = `[1]  write         failed     1.0s  → critique  no
[2]  publish       ok         2.0s  → critique  3 of 4
                   elements, 1 failed
`
	if diff := cmp.Diff(after, s.text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPlainViewSaysWhatItWaitsFor: only the starts of long-running nodes are shown, and never
// after their ends.
func TestPlainViewSaysWhatItWaitsFor(t *testing.T) {
	var out bytes.Buffer
	var alarms []func()
	v := NewPlain(&out, NewTracer(traceGraph(), terminal.NewColors(false)), func(_ time.Duration, f func()) func() bool {
		alarms = append(alarms, f)
		return func() bool { return true }
	})
	v.Event(&runner.Event{Type: runner.NodeStarted, Node: "write", Visit: 1, Kind: "exec"})
	v.Event(&runner.Event{Type: runner.NodeStarted, Node: "publish", Visit: 1, Kind: "exec"})
	v.Event(&runner.Event{Type: runner.NodeStarted, Node: "critique", Visit: 1, Kind: "set"})
	v.Event(&runner.Event{Type: runner.NodeCompleted, Step: 1, Node: "write", Visit: 1})
	for _, ring := range alarms {
		ring()
	}
	v.Close()
	const want = `     publish       started 10.0s ago
[1]  write         ok          0ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 59_990 * time.Millisecond: "59.9s",
		123 * time.Second: "2m03s", 10 * time.Minute: "10m", 3 * time.Hour: "3h", 2*time.Hour + 5*time.Minute: "2h05m",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("clock(%s) = %q, want %q", d, got, want)
		}
	}
}

// The view shows the latest line of a program next to its node. Texts of models arrive as events.
func TestLiveViewShowsTheLatestLine(t *testing.T) {
	s := &screen{t: t, columns: 100}
	v := newStillView(s, func() time.Time { return time.Unix(0, 0) })
	v.Event(&runner.Event{Type: runner.NodeStarted, Node: "write", Visit: 1, Attempt: 1, Kind: "exec"})
	v.Listener()(store.LogChunk{Node: "write", Stream: "stdout", Text: "compiling 3 of 9"})
	v.Listener()(store.LogChunk{Node: "write", Stream: "text", Text: "said twice"})
	v.Listener()(store.LogChunk{Node: "gone", Stream: "stderr", Text: "late"})
	v.printPending()
	if got := s.text(); !strings.Contains(got, "write") || !strings.Contains(got, "compiling 3 of 9") || strings.Contains(got, "twice") || strings.Contains(got, "late") {
		t.Errorf("got %s", got)
	}
	v.Close()
}

// The view shows the newest part of a streamed text next to its node, and the beginning of a
// program's line. Thoughts of a model scroll up, line by line.
func TestLiveViewShowsTheNewestText(t *testing.T) {
	s := &screen{t: t, columns: 40}
	v := newStillView(s, func() time.Time { return time.Unix(0, 0) })
	tell := func(kind runner.EventType, text string) {
		v.Event(&runner.Event{Type: kind, Node: "write", Visit: 1, Said: &runner.Said{Type: "text", Text: text}})
		v.printPending()
	}
	v.Event(&runner.Event{Type: runner.NodeStarted, Node: "write", Visit: 1, Attempt: 1, Kind: "llm"})
	tell(runner.NodeThinking, "I must\nlook")
	tell(runner.NodeThinking, " closer\n")
	tell(runner.NodeThinking, "at it")
	tell(runner.NodeOutput, "The first line is over.\nThe second begins here")
	tell(runner.NodeOutput, " and 漢字 it ends")
	const want = `     write         ~ I must
     write         ~ look closer
     write         ~ at it
⠋ write  0ms  …ns here and 漢字 it ends
  run  0ms
`
	if diff := cmp.Diff(want, s.text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	v.Listener()(store.LogChunk{Node: "write", Stream: "stdout", Text: "compiling 3 of 9 packages, slowly"})
	v.printPending()
	if got := s.text(); !strings.Contains(got, "0ms  compiling 3 of 9 package…") {
		t.Errorf("got %s", got)
	}
	v.Close()
}
