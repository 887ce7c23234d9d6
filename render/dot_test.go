package render

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graphrun/graphrun/spec"
)

// nastyTexts returns texts that break the output of a careless writer.
func nastyTexts() []string {
	return []string{
		`plain`, `say "hi"`, `a\b`, `ends with \`, `\"`, "two\nlines", "tab\tand\x00nul", `\n is no break`, `<b>&amp;</b>`,
		`a && b &lt; c`, `x -> y; }`, "日本語", "\xff\xfe", "", " ", `#; // /* */`, "\r\n", `\G \N \l`, strings.Repeat("long ", 200),
	}
}

func TestEscaping(t *testing.T) {
	for in, want := range map[string]string{
		`say "hi"`:      `"say \"hi\""`,
		`a\b`:           `"a\\b"`,
		`ends with \`:   `"ends with \\"`,
		`\"`:            `"\\\""`,
		"two\nlines":    `"two\nlines"`,
		`\n is literal`: `"\\n is literal"`,
		`a && b`:        `"a && b"`,
		`a &lt; b`:      `"a &amp;lt; b"`,
		`&#34; & ;`:     `"&amp;#34; & ;"`,
		"nul\x00":       `"nul "`,
		"\xff":          `"�"`,
		"a\r\nb":        `"a\nb"`,
		"日本":            `"日本"`,
	} {
		if got := quote(escapeText(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	if got, want := escapeHTML(`<a href="x">&</a>`), `&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// drawNasty draws a graph that has the given text in all places.
func drawNasty(text string) *Drawing {
	d := &Drawing{Title: text, Start: "nset", hasStart: true}
	for _, kind := range []string{"set", "pass", "exec", "http", "llm", "tools", "human", "graph", "wait", "fail", text} {
		d.Nodes = append(d.Nodes, Node{ID: "n" + kind, Kind: kind, Notes: []string{text}, Description: text})
	}
	for _, condition := range []string{"conditional", "on_success", "on_failure", "llm_decide", "goto", "finally"} {
		d.Edges = append(d.Edges, Edge{From: "nset", To: "nexec", Condition: condition, Text: text, Tip: text})
	}
	d.Edges = append(d.Edges, Edge{From: "nset", To: spec.END, Condition: "on_success"})
	return d
}

// TestGraphvizReadsIt checks the output with Graphviz itself.
func TestGraphvizReadsIt(t *testing.T) {
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("Graphviz (dot) is not installed: whether it reads the output is not tested")
	}
	for _, text := range nastyTexts() {
		var in, said bytes.Buffer
		if err := WriteDOT(&in, drawNasty(text), "LR"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(dot, "-Tcanon")
		cmd.Stdin, cmd.Stderr = &in, &said
		if err := cmd.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%q: dot: %v\n%s", text, err, said.String())
		}
	}
}

const flow = `graphrun: v1
name: flow
start: a
state: {n: {type: integer, default: 0}}
nodes:
  a: {kind: set, set: {n: "n + 1"}, max_visits: 3, description: Counts.}
  b: {kind: exec, command: [x], ends: {again: a, more: a, done: END}, retry: {max_attempts: 2}, routing: all}
  c: {kind: pass, join: {wait: 2}}
  stop: {kind: fail, message: m}
edges:
  - {from: a, to: b, when: n > 1}
  - {from: a, to: c, when: n < 1, label: low, priority: 4}
  - {from: a, to: [b, c], condition: always}
  - {from: a, to: stop, condition: on_failure}
  - {from: c, to: stop, condition: on_failure, when: "error.kind == 'timeout'"}
  - {from: c, to: a, condition: llm_decide, description: try again}
  - {from: c, to: END, fallback: true}
`

func drawFlow(t *testing.T, opts Options) *Drawing {
	t.Helper()
	g, found := spec.Parse("flow.yaml", []byte(flow), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	return Draw(g, opts)
}

func TestDraw(t *testing.T) {
	want := &Drawing{
		Title: "flow", Graph: "flow", Start: "a",
		Nodes: []Node{
			{ID: "a", Kind: "set", Label: "a", Notes: []string{"≤ 3 visits"}, Description: "Counts."},
			{ID: "b", Kind: "exec", Label: "b", Notes: []string{"routes all", "≤ 2 attempts"}},
			{ID: "c", Kind: "pass", Label: "c", Notes: []string{"join 2"}},
			{ID: "stop", Kind: "fail", Label: "stop"},
		},
		Edges: []Edge{
			{From: "a", To: "b", Condition: "conditional", Text: "n > 1"},
			{From: "a", To: "c", Condition: "conditional", Text: "low\n(priority 4)", Tip: "n < 1"},
			{From: "a", To: "b", Condition: "always", Else: true, Text: "always"},
			{From: "a", To: "c", Condition: "always", Else: true, Text: "always"},
			{From: "a", To: "stop", Condition: "on_failure", Text: "on failure"},
			{From: "c", To: "stop", Condition: "on_failure", Text: "error.kind == 'timeout'"},
			{From: "c", To: "a", Condition: "llm_decide", Text: "try again", Tip: "try again"},
			{From: "c", To: "END", Condition: "on_success", Else: true, Text: "(fallback)"},
			{From: "b", To: "a", Condition: "goto", Text: "again\nmore"},
			{From: "b", To: "END", Condition: "goto", Text: "done"},
		},
		Subgraphs: map[string]*Drawing{},
	}
	places := cmpopts.IgnoreFields(Edge{}, "Index", "Line", "ID", "When", "Label", "Priority") // TestJSON compares them
	if diff := cmp.Diff(want, drawFlow(t, Options{}), places, cmpopts.IgnoreFields(Node{}, "Line"), cmpopts.IgnoreUnexported(Drawing{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDrawLeavesOut(t *testing.T) {
	d := drawFlow(t, Options{NoStartEnd: true, NoDestinations: true, Label: "mine"})
	if d.Title != "mine" {
		t.Errorf("title %q", d.Title)
	}
	if d.hasStart {
		t.Error("the start mark is there")
	}
	for _, e := range d.Edges {
		if e.Condition == "goto" || e.To == spec.END {
			t.Errorf("arrow %s -> %s is there", e.From, e.To)
		}
	}
}

// TestDOT compares a whole file. Set UPDATE_GOLDEN to rewrite it, and look at
// the picture: dot -Tpng testdata/flow.dot.
func TestDOT(t *testing.T) {
	var out bytes.Buffer
	if err := WriteDOT(&out, drawFlow(t, Options{}), ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "flow.dot")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTrail paints the results of all visits, not only of the last one.
func TestTrail(t *testing.T) {
	d := drawFlow(t, Options{Trail: &Trail{
		Nodes: map[string]*NodeTrail{
			"a": {Visits: 3, Failures: 1}, "b": {Visits: 2, Failures: 2}, "c": {Visits: 1, Waiting: true},
			"stop": {Visits: 1, Failures: 1, Failed: true},
		},
		Fired: map[int]int{0: 1, 4: 1},
	}})
	got := map[string]string{"start": fmt.Sprint(d.startMark), "end": fmt.Sprint(d.endMark)}
	for _, n := range d.Nodes {
		got[n.ID] = fmt.Sprint(n.Mark, " ", strings.Join(n.Notes, ", "))
	}
	want := map[string]string{
		"start": fmt.Sprint(Touched), "end": fmt.Sprint(Untouched),
		"a":    fmt.Sprint(Recovered, " ≤ 3 visits, ×3, 1 failed"),
		"b":    fmt.Sprint(Recovered, " routes all, ≤ 2 attempts, ×2, all failed"),
		"c":    fmt.Sprint(WaitingHere, " join 2, waiting"),
		"stop": fmt.Sprint(FailedHere, " failed"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMarksStandOut checks that no kind of node uses the colours of the marks.
func TestMarksStandOut(t *testing.T) {
	for _, kind := range []string{"set", "pass", "exec", "http", "llm", "agent", "tool", "tools", "human", "graph", "wait", "other"} {
		l := chooseStyle(kind, 0)
		for _, mark := range []Mark{Recovered, FailedHere, WaitingHere} {
			if m := chooseStyle(kind, mark); m.line == l.line || mark != Recovered && m.fill == l.fill {
				t.Errorf("%s: mark %d does not show", kind, mark)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for in, want := range map[string]string{
		"":      "",
		"short": "short",
		"a\nb":  "a b",
		"confidence >= 0.8 and category in ['billing', 'technical']": "confidence >= 0.8 and\ncategory in ['billing',\n'technical']",
		strings.Repeat("x", 50):     strings.Repeat("x", 35) + "…",
		strings.Repeat("word ", 50): strings.Repeat("word word word word word\n", 3) + "word word word word word …",
	} {
		if got := wrapLabel(in); got != want {
			t.Errorf("wrapLabel(%q) = %q, want %q", in, got, want)
		}
	}
}
