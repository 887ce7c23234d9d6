package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/spec"
)

// parseMarked parses a text in which « and » enclose a span.
func parseMarked(t *testing.T, text string) (*spec.File, spec.Span) {
	t.Helper()
	from := strings.Index(text, "«")
	to := strings.Index(text, "»") - len("«")
	if from < 0 || to < from {
		t.Fatalf("no span is marked in %q", text)
	}
	src := strings.NewReplacer("«", "", "»", "").Replace(text)
	return spec.NewFile("flow.yaml", []byte(src)), spec.Span{From: from, To: to}
}

func printed(t *testing.T, format string, opts Options, ds ...spec.Diagnostic) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, Findings{Files: 1, Diagnostics: ds}, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextPutsTheCaretUnderTheSpan(t *testing.T) {
	long := strings.Repeat("x", 150)
	for _, c := range []struct{ name, src, want string }{
		{"plain", "a: 1\n  b: {«timout»: 3s}\n", `
flow.yaml:2:7: error: found it [a-rule]
    2 |   b: {timout: 3s}
      |       ^^^^^^
`},
		{"tabs are columns", "\tk:\t«v»\n", `
flow.yaml:1:5: error: found it [a-rule]
    1 |     k:  v
      |         ^
`},
		{"wide characters", "日本: «語»x\n", `
flow.yaml:1:5: error: found it [a-rule]
    1 | 日本: 語x
      |       ^^
`},
		{"combining marks", "e\u0301: «e\u0301»\n", `
flow.yaml:1:5: error: found it [a-rule]
    1 | é: é
      |    ^
`},
		{"an empty span", "a: «»\n", `
flow.yaml:1:4: error: found it [a-rule]
    1 | a:
      |    ^
`},
		{"over several lines", "a: «{x: 1,\n  y: 2}»\n", `
flow.yaml:1:4: error: found it [a-rule]
    1 | a: {x: 1,
      |    ^^^^^^
`},
		{"windows line ends", "a: «b»\r\nc: d\r\n", `
flow.yaml:1:4: error: found it [a-rule]
    1 | a: b
      |    ^
`},
		{"the empty end of a file", "a: b\n«»", `
flow.yaml:2:1: error: found it [a-rule]
`},
		{"terminal sequences", "a: «\x1b[31m»\n", `
flow.yaml:1:4: error: found it [a-rule]
    1 | a: �[31m
      |    ^^^^^
`},
		{"a long line, start", "«a»: " + long + "\n", `
flow.yaml:1:1: error: found it [a-rule]
    1 | a: ` + strings.Repeat("x", 97) + `…
      | ^
`},
		{"a long line, middle", long + "«mid»" + long + "\n", `
flow.yaml:1:151: error: found it [a-rule]
    1 | …` + strings.Repeat("x", 30) + "mid" + strings.Repeat("x", 67) + `…
      |                                ^^^
`},
		{"a long line, end", long + "«end»\n", `
flow.yaml:1:151: error: found it [a-rule]
    1 | …` + strings.Repeat("x", 70) + `end
      |                                                                        ^^^
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, span := parseMarked(t, c.src)
			got := printed(t, "text", Options{}, spec.Diagnostic{
				File: file, Span: span, Rule: "a-rule", Severity: spec.Error, Message: "found it",
			})
			if diff := cmp.Diff(c.want[1:], strings.ReplaceAll(got, "e\u0301", "é")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func example(t *testing.T) []spec.Diagnostic {
	t.Helper()
	file, span := parseMarked(t, "nodes:\n  a: {kind: pass}\nedges:\n  - {from: «b», to: a}\n")
	other := spec.Span{From: 9, To: 10}
	return []spec.Diagnostic{
		{
			File: file, Span: span, Rule: "unknown-node", Severity: spec.Error, Suggestion: "a",
			Message: `"b" is not a node: 100%, or so`, Related: []spec.Related{{File: file, Span: other, Message: "nodes\nare here"}},
		},
		{File: file, Span: other, Rule: "unused", Severity: spec.Warning, Message: "two\nlines"},
	}
}

func TestTextHasHintsAndRelatedPlaces(t *testing.T) {
	const want = `flow.yaml:4:12: error: "b" is not a node: 100%, or so [unknown-node]
    4 |   - {from: b, to: a}
      |            ^
      = help: did you mean "a"?
      = flow.yaml:2:3: nodes are here
flow.yaml:2:3: warning: two lines [unused]
    2 |   a: {kind: pass}
      |   ^
`
	if diff := cmp.Diff(want, printed(t, "text", Options{}, example(t)...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTextIsPaintedOnlyWhenAsked(t *testing.T) {
	if plain := printed(t, "text", Options{}, example(t)...); strings.Contains(plain, "\x1b") {
		t.Errorf("plain text has a sequence: %q", plain)
	}
	if painted := printed(t, "text", Options{Color: true}, example(t)...); !strings.Contains(painted, "\x1b[31;1merror:") {
		t.Errorf("painted text has no red error: %q", painted)
	}
}

func TestGitHubEscapes(t *testing.T) {
	ds := example(t)
	ds[0].File.Name = "a,b:c%.yaml"
	const want = `::error file=a%2Cb%3Ac%25.yaml,line=4,col=12,endLine=4,endColumn=13,title=unknown-node::"b" is not a node: 100%25, or so; did you mean "a"?
::warning file=a%2Cb%3Ac%25.yaml,line=2,col=3,endLine=2,endColumn=4,title=unused::two%0Alines
`
	if diff := cmp.Diff(want, printed(t, "github", Options{}, ds...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestJSONIsTheContract(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal([]byte(printed(t, "json", Options{}, example(t)...)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"files": 1., "errors": 1., "warnings": 1.,
		"diagnostics": []any{
			map[string]any{
				"file": "flow.yaml", "line": 4., "column": 12., "end_line": 4., "end_column": 13.,
				"severity": "error", "rule": "unknown-node", "message": `"b" is not a node: 100%, or so`, "suggestion": "a",
			},
			map[string]any{
				"file": "flow.yaml", "line": 2., "column": 3., "end_line": 2., "end_column": 4.,
				"severity": "warning", "rule": "unused", "message": "two\nlines", "suggestion": nil,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if empty := printed(t, "json", Options{}); !strings.Contains(empty, `"diagnostics": []`) {
		t.Errorf("no findings must be an empty list: %s", empty)
	}
}

func TestSummary(t *testing.T) {
	ds := example(t)
	for want, f := range map[string]Findings{
		"0 files: no problems found":     {},
		"1 file: no problems found":      {Files: 1},
		"2 files: 1 error, 1 warning":    {Files: 2, Diagnostics: ds},
		"1 file: 0 errors, 2 warnings":   {Files: 1, Diagnostics: []spec.Diagnostic{ds[1], ds[1]}},
		"10 files: 2 errors, 0 warnings": {Files: 10, Diagnostics: []spec.Diagnostic{ds[0], ds[0]}},
	} {
		if got := Summarize(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	err := Write(&bytes.Buffer{}, "xml", Findings{}, Options{})
	if err == nil || !strings.Contains(err.Error(), "github, json, junit, sarif, text") {
		t.Errorf("got %v, want the allowed formats", err)
	}
}

// FuzzText checks that any span of any text is printed without a panic, in
// lines without terminal sequences.
func FuzzText(f *testing.F) {
	f.Add("a: b\n", 3, 4)
	f.Add("日本\t\x1b[0m\r\n", 2, 9)
	f.Add(strings.Repeat("long ", 100), 200, 210)
	f.Fuzz(func(t *testing.T, src string, from, to int) {
		from = min(max(from, 0), len(src))
		to = min(max(to, from), len(src))
		d := spec.Diagnostic{
			File: spec.NewFile("f", []byte(src)), Span: spec.Span{From: from, To: to}, Severity: spec.Error, Message: src,
		}
		got := printed(t, "text", Options{}, d)
		if strings.Contains(got, "\x1b") {
			t.Errorf("a sequence came through: %q", got)
		}
		if n := strings.Count(got, "\n"); n > 3 {
			t.Errorf("%d lines for one finding: %q", n, got)
		}
	})
}

// TestManyFindingsStayReadable: every finding has a line, the first of each rule shows its
// source, and the summary counts findings by rule.
func TestManyFindingsStayReadable(t *testing.T) {
	file, span := parseMarked(t, "a: «v»\n")
	var ds spec.Diagnostics
	for range 2 * maxShown {
		ds = append(ds, spec.Diagnostic{File: file, Span: span, Severity: spec.Error, Rule: "often", Message: "again"})
	}
	rare := spec.Diagnostic{File: file, Span: span, Severity: spec.Warning, Rule: "rare", Message: "once"}
	for range maxRelated + 3 {
		rare.Related = append(rare.Related, spec.Related{File: file, Span: span, Message: "here too"})
	}
	ds = append(ds, rare)
	text := printed(t, "text", Options{}, ds...)
	for what, want := range map[string]int{
		"[often]\n": 2 * maxShown, "    1 | a: v\n": maxShown + 1, "here too": maxRelated, "= and 3 more places\n": 1,
	} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("%q stands %d times, want %d", what, got, want)
		}
	}
	if got, want := Summarize(Findings{Files: 1, Diagnostics: ds}), "1 file: 40 errors, 1 warning (often 40, rare 1)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
