package render

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/spec"
)

// TestMermaid compares a whole file. Set UPDATE_GOLDEN to rewrite it.
func TestMermaid(t *testing.T) {
	var out bytes.Buffer
	if err := WriteMermaid(&out, drawFlow(t, Options{}), ""); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "flow.mmd", out.Bytes())
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// drawnByMermaid is a drawing as the library rendered it.
type drawnByMermaid struct {
	Error  string   `json:"error"`
	Labels []string `json:"labels"`
	Arrows []string `json:"arrows"`
	Edges  int      `json:"edges"`
}

// TestMermaidReadsIt checks the output with Mermaid itself, in a browser.
func TestMermaidReadsIt(t *testing.T) {
	web := os.Getenv("GRAPHRUN_TEST_WEB")
	if web == "" {
		t.Skip("GRAPHRUN_TEST_WEB does not name the folder web with its packages (.ci/browser makes them): whether Mermaid reads the output is not tested")
	}
	var names []string
	var drawings []*Drawing
	names, drawings = append(names, "quotes", "texts"), append(drawings, drawNasty(`say "hi" <b>`), drawTexts(append(nastyTexts(), markdownTexts()...)))
	flows, err := filepath.Glob("../examples/*/flow.yaml")
	if err != nil || len(flows) == 0 {
		t.Fatal("no examples", err)
	}
	for _, name := range flows {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		g, _ := spec.Parse(name, src, spec.Options{Load: spec.NewLoader(name)})
		names, drawings = append(names, name), append(drawings, Draw(g, Options{}))
	}
	drawings = append(drawings, drawReserved())
	names = append(names, "reserved words")
	texts := make([]string, len(drawings))
	for i, d := range drawings {
		var out strings.Builder
		if err := WriteMermaid(&out, d, ""); err != nil {
			t.Fatal(err)
		}
		texts[i] = out.String()
	}
	for i, got := range renderInBrowser(t, web, texts) {
		if got.Error != "" {
			t.Errorf("%q: %s\n%s", names[i], got.Error, texts[i])
			continue
		}
		checkMermaid(t, names[i], drawings[i], got)
	}
}

// markdownTexts returns texts that Mermaid would interpret as Markdown, HTML or its own syntax.
func markdownTexts() []string {
	return []string{
		"www.example.com", "see https://example.com/a?b=c&d#e", "1. one", "12) two", "- item", "+ item", "* item", "~~gone~~", "a_b_c __d__",
		"**bold** `code`", "$$x^2$$", "![a](b) [c](d) [x] y", "| a | b |\n|---|---|", "fa:fa-car", "end", "%% no comment", "me@example.com",
		"# head", "> quote", "title\n===", "a\n---\nb", "'single'", "(round) {curly}", "#35; #quot;", "a --> b", "<script>alert(1)</script>",
		"\u2028x", "e\u0301 \U0001F600 \u202Eabc", "%{init: {}}%", "click a b", "graph TD; a-->b",
	}
}

// drawTexts draws a graph with a box and an arrow for each text.
func drawTexts(texts []string) *Drawing {
	d := &Drawing{}
	for _, text := range texts {
		d.Nodes = append(d.Nodes, Node{ID: "n" + text, Kind: "pass", Notes: []string{text}})
		d.Edges = append(d.Edges, Edge{From: "n" + text, To: "n" + text, Condition: "on_success", Text: text})
	}
	return d
}

// drawReserved draws a graph whose nodes have reserved names of Mermaid.
func drawReserved() *Drawing {
	d := &Drawing{Title: "end"}
	last := ""
	for _, id := range []string{
		"end", "End", "graph", "subgraph", "class", "click", "style", "linkStyle", "default", "direction", "flowchart",
		"o", "x", "a-b", "a_b", "a_2d_b", "a--b", "call", "href", "TB", "v", "classDef", "interpolate",
	} {
		d.Nodes = append(d.Nodes, Node{ID: id, Kind: "pass"})
		if last != "" {
			d.Edges = append(d.Edges, Edge{From: last, To: id, Condition: "on_success", Text: id})
		}
		last = id
	}
	return d
}

func renderInBrowser(t *testing.T, web string, texts []string) []drawnByMermaid {
	t.Helper()
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join(web, "test", "mermaid.mjs"))
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	var got []drawnByMermaid
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(texts) {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}

// checkMermaid compares the texts in the rendered drawing with the expected ones.
func checkMermaid(t *testing.T, name string, d *Drawing, got drawnByMermaid) {
	t.Helper()
	seen := func(s string) string { // as a browser shows text
		var lines []string
		s = strings.ReplaceAll(s, "\u2060", "")
		for _, line := range strings.Split(makePrintable(s), "\n") {
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	boxes, arrows := []string{}, []string{}
	count := 0
	for _, drawing := range append([]*Drawing{d}, d.Inner...) {
		for i := range drawing.Nodes {
			n := &drawing.Nodes[i]
			boxes = append(boxes, seen(n.ID+"\n"+n.Kind+"\n"+strings.Join(n.Notes, " · ")))
		}
		if drawing.hasStart {
			boxes = append(boxes, "")
			count++
		}
		if slices.ContainsFunc(drawing.Edges, func(e Edge) bool { return e.To == spec.END }) {
			boxes = append(boxes, "END")
		}
		for i := range drawing.Edges {
			count++ // each has a path
			if label := seen(drawing.Edges[i].Text); label != "" {
				arrows = append(arrows, label)
			}
		}
	}
	for i := range got.Labels {
		got.Labels[i] = seen(got.Labels[i])
	}
	shown := slices.DeleteFunc(slices.Clone(got.Arrows), func(s string) bool { return seen(s) == "" })
	for i := range shown {
		shown[i] = seen(shown[i])
	}
	for _, list := range [][]string{boxes, got.Labels, arrows, shown} {
		slices.Sort(list)
	}
	if diff := cmp.Diff(boxes, got.Labels); diff != "" {
		t.Errorf("%q: boxes (-want +got)\n%s", name, diff)
	}
	if diff := cmp.Diff(arrows, shown); diff != "" {
		t.Errorf("%q: labels of arrows (-want +got)\n%s", name, diff)
	}
	if got.Edges != count {
		t.Errorf("%q: %d arrows, want %d", name, got.Edges, count)
	}
}
