package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/bounded"
)

// parseWithTexts parses a file with the name flows/f.yaml and texts in the same folder.
func parseWithTexts(src string, texts map[string]string) (*Graph, Diagnostics) {
	return Parse(filepath.Join("flows", "f.yaml"), []byte(src), Options{Load: func(path string) ([]byte, error) {
		text, ok := texts[path]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}})
}

func TestTextsStandInTheirPlace(t *testing.T) {
	const src = `graphrun: v1
name: t
start: a
persona: {file: p.md}
goal: {file: sub/goal.md}
x-shared: &shared {file: p.md}
nodes:
  a: {kind: llm, prompt: *shared, instructions: {file: /abs/i.md, x-why: long}}
  b: {kind: agent, prompt: hi, loop: {pattern: state_machine, states: {s: {prompt: {file: p.md}, terminal: true}}}}
  c: {kind: human, prompt: {file: p.md}}
edges: [{from: [a, b, c], to: END}, {from: a, to: [b, c], condition: on_failure}]
graphs:
  inner:
    start: a
    goal: {description: {file: sub/goal.md}, constraints: [short]}
    nodes: {a: {kind: pass}}
    edges: [{from: a, to: END}]
`
	g, diags := parseWithTexts(src, map[string]string{"p.md": "be {{ good }}\n", "sub/goal.md": "win\r\nnow\r\n", "/abs/i.md": ""})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	loop := g.Node("b").Field("loop").Get("states").Get("s").Get("prompt")
	for what, pair := range map[string][2]string{
		"persona": {g.Persona.Value, "be {{ good }}"}, "goal": {g.Goal.Description.Value, "win\nnow"},
		"prompt": {g.Node("a").Field("prompt").Value, "be {{ good }}"}, "instructions": {g.Node("a").Field("instructions").Value, ""},
		"a state's prompt": {loop.Value, "be {{ good }}"}, "a question": {g.Node("c").Field("prompt").Value, "be {{ good }}"},
		"an inner goal": {g.InnerGraph("#inner").Goal.Description.Value, "win\nnow"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, expected %q", what, pair[0], pair[1])
		}
	}
	if !g.Node("a").Field("instructions").IsSet() {
		t.Error("an empty text is not set")
	}
	var names []string
	for _, text := range g.File.Texts {
		host, at := text.Host()
		names = append(names, text.Name)
		if host != g.File || !strings.HasSuffix(text.Name, src[at.From:at.To]) {
			t.Errorf("%s is named at %q", text.Name, src[at.From:at.To])
		}
	}
	want := []string{"flows/p.md", "flows/sub/goal.md", "flows/p.md", "/abs/i.md", "flows/p.md", "flows/p.md", "flows/sub/goal.md"}
	if got := strings.Join(names, " "); filepath.ToSlash(got) != strings.Join(want, " ") {
		t.Errorf("texts %s, expected %s", got, want)
	}
	if got := g.Settings()["persona"]; got != "be {{ good }}" {
		t.Errorf("the data has the persona %q", got)
	}
}

// A position in a text is a position in its file, whatever the line ends are.
func TestTextPlaces(t *testing.T) {
	for name, marked := range map[string]string{
		"first":         "«foo» b\nc",
		"last":          "a\nb «foo»",
		"break":         "a\n\nb «foo»\n",
		"windows":       "a\r\n\r\nb «foo»\r\n",
		"odd break":     "a\rb\r\n «foo»\r",
		"mark":          "\ufeffé «foo»\n",
		"mark, windows": "\ufeffa\r\n\u65e5 «foo»\r\n",
		"over a break":  "a\r\nb «foo\r\nbar» c\r\nd",
	} {
		t.Run(name, func(t *testing.T) {
			src, _ := unmark(t, marked)
			_, want := unmark(t, strings.NewReplacer("\r\n", "\n", "\ufeff", "").Replace(marked))
			g, diags := parseWithTexts(node("kind: human, prompt: {file: a.md}, x-then: {file: b.md}"), map[string]string{"a.md": src})
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			text := g.Node("a").Field("prompt").Text
			word := string(g.File.Texts[0].Src[want.From:want.To])
			at := strings.Index(text.Value, word)
			file, got := g.File.Locate(text.At(at, at+len(word)))
			if file.Name != filepath.Join("flows", "a.md") || got != want {
				t.Errorf("found in %s at %v, expected %v", file.Name, got, want)
			}
		})
	}
}

// Findings about a text are in its file, and are related to the reference in the graph.
func TestTextFindings(t *testing.T) {
	g, _ := parseWithTexts(node("kind: human, prompt: {file: a.md}"), map[string]string{"a.md": "one\ntwo foo"})
	text := g.Node("a").Field("prompt").Text
	ds := Diagnostics{{File: g.File, Rule: "r", Span: text.At(8, 11), Related: []Related{{File: g.File, Span: text.At(0, 3)}}}}.Sort()
	d := ds[0]
	if d.File != g.File.Texts[0] || d.File.Position(d.Span.From) != (Position{2, 5}) {
		t.Errorf("in %s at %v", d.File.Name, d.Span)
	}
	if len(d.Related) != 2 || d.Related[0].File != d.File || d.Related[0].Span != (Span{0, 3}) || d.Related[1].File != g.File {
		t.Errorf("related are %+v", d.Related)
	}
	if again := ds.Sort(); len(again[0].Related) != 2 {
		t.Errorf("sorted twice, related are %+v", again[0].Related)
	}
}

func TestTextProblems(t *testing.T) {
	big := strings.Repeat("x", bounded.Text+1)
	texts := map[string]string{"a.md": "a", "bell.md": "a\nb \a", "latin.md": "caf\xe9", "utf16.md": "\xff\xfea", "big.md": big}
	for i := range 5 {
		texts[fmt.Sprintf("full%d.md", i)] = big[1:]
	}
	five := "persona: {file: full0.md}\ngoal: {file: full1.md}\n"
	for name, c := range map[string]struct{ src, file, mark, want string }{
		"none":      {node("kind: human, prompt: {file: no.md}"), "f.yaml", "no.md", `there is no file "flows/no.md"`},
		"empty":     {node("kind: human, prompt: {file: ''}"), "f.yaml", "''", "the path of a text is empty"},
		"misspelt":  {node("kind: human, prompt: {fil: a.md}"), "f.yaml", "fil", `unknown key "fil"`},
		"other":     {node("kind: human, prompt: {file: a.md, if: b}"), "f.yaml", "if", `unknown key "if"; allowed are file`},
		"no path":   {node("kind: human, prompt: {file: [a.md]}"), "f.yaml", "[a.md]", `"file" must be a text; found a list`},
		"a map":     {node("kind: human, prompt: {say: hi}"), "f.yaml", "{say: hi}", `"prompt" must be a text or {file: path}; found a map`},
		"a list":    {head + "persona: [a]\n" + tail, "f.yaml", "[a]", `"persona" must be a text or {file: path}; found a list`},
		"elsewhere": {node("kind: fail, message: {file: a.md}"), "f.yaml", "{file: a.md}", `"message" must be a text; found a map`},
		"too big":   {node("kind: human, prompt: {file: big.md}"), "f.yaml", "big.md", "has 16 MiB; a text has at most 16 MiB"},
		"bell":      {node("kind: human, prompt: {file: bell.md}"), "bell.md", "\a", "the control character U+0007 is not allowed"},
		"latin":     {node("kind: human, prompt: {file: latin.md}"), "latin.md", "\xe9", "the byte 0xE9 is not UTF-8"},
		"utf-16":    {node("kind: human, prompt: {file: utf16.md}"), "utf16.md", "\xff\xfe", "the file is UTF-16"},
		"goal":      {head + "goal: {file: a.md, constraints: [x]}\n" + tail, "f.yaml", "constraints", `unknown key "constraints"`},
		"together": {
			head + five + "nodes:\n  a: {kind: llm, prompt: {file: full2.md}, instructions: {file: full3.md}}\n  b: {kind: human, prompt: {file: full4.md}}\nedges: [{from: a, to: b}, {from: b, to: END}]\n",
			"f.yaml", "full4.md", "have more than 64 MiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, diags := parseWithTexts(c.src, texts)
			if len(diags) != 1 {
				t.Fatalf("%d findings: %v", len(diags), diags)
			}
			d := diags[0]
			if filepath.Base(d.File.Name) != c.file || string(d.File.Src[d.Span.From:d.Span.To]) != c.mark || !strings.Contains(filepath.ToSlash(d.Message), c.want) {
				t.Errorf("%s: %q: %s", d.File.Name, d.File.Src[d.Span.From:d.Span.To], d.Message)
			}
		})
	}
}

// Parse reads a file once, even if the graph names it repeatedly, and never without Load.
func TestTextsAreReadOnce(t *testing.T) {
	src := head + "persona: {file: a.md}\ngoal: {file: a.md}\n" + tail
	reads := 0
	g, diags := Parse("f.yaml", []byte(src), Options{Load: func(string) ([]byte, error) { reads++; return []byte("x"), nil }})
	if len(diags) > 0 || reads != 1 || len(g.File.Texts) != 2 {
		t.Errorf("%d reads for %d texts; %v", reads, len(g.File.Texts), diags)
	}
	if _, diags = Parse("f.yaml", []byte(src), Options{}); len(diags) != 2 || !strings.Contains(diags[0].Message, "is not read here") {
		t.Errorf("without Load: %v", diags)
	}
}

func TestBeside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := NewLoader(filepath.Join(dir, "f.yaml"))
	for _, path := range []string{"a.md", "./x/../a.md", filepath.Join(dir, "a.md")} {
		if src, err := load(path); err != nil || string(src) != "four" {
			t.Error(path, string(src), err)
		}
	}
	if _, err := load("b.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for name, want := range map[string]string{".": "is a folder", "/dev/null": "is a device"} {
		if _, err := load(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaOfTexts(t *testing.T) {
	schema := compileSchema(t)
	for text, valid := range map[string]bool{
		node("kind: llm, prompt: {file: a.md}, instructions: {file: b, x-c: d}"): true,
		node("kind: llm, prompt: 5"):                          true,
		head + "goal: {file: a}\npersona: {file: b}\n" + tail: true,
		head + "goal: {description: {file: a}}\n" + tail:      true,
		head + "goal: {file: a, constraints: [b]}\n" + tail:   false,
		head + "persona: {fil: a}\n" + tail:                   false,
		node("kind: human, prompt: {}"):                       false,
		node("kind: llm, instructions: {file: a, other: b}"):  false,
		node("kind: fail, message: {file: a}"):                false,
	} {
		if err := schema.Validate(genericValue(t, text)); (err == nil) != valid {
			t.Errorf("valid %v expected: %v\n%s", valid, err, text)
		}
	}
}

// FuzzTextPlaces checks that the position of each byte of a text is correct in its file.
func FuzzTextPlaces(f *testing.F) {
	for _, s := range []string{"", "a", "\ufeff", "\ufeff\r\n", "a\r\r\n\r\nb\r\n", "é\n\n", "\r\n\r\n", "\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		g, diags := Parse("f.yaml", []byte(node("kind: human, prompt: {file: a}")), Options{Load: func(string) ([]byte, error) { return src, nil }})
		if len(diags) > 0 {
			return
		}
		text := g.Node("a").Field("prompt").Text
		for i := range len(text.Value) + 1 {
			file, at := g.File.Locate(text.At(i, min(i+1, len(text.Value))))
			if file == g.File || at.From < 0 || at.To < at.From || at.To > len(file.Src) {
				t.Fatalf("byte %d at %v of %q", i, at, src)
			}
			if i < len(text.Value) && string(file.Src[at.From:at.To]) != text.Value[i:i+1] {
				t.Fatalf("byte %d, %q, is %q of %q", i, text.Value[i], file.Src[at.From:at.To], src)
			}
		}
	})
}
