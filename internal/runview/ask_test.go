package runview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/view"
)

func unknownWidth() int { return 0 }

// typing makes an asker whose person types text.
func typing(in io.Reader) (*Asker, *bytes.Buffer) {
	out := &bytes.Buffer{}
	k := NewAsker(in, out, terminal.NewColors(false), unknownWidth, func() func() { return func() {} })
	return k, out
}

func enumSchema(values ...any) any { return map[string]any{"enum": values} }

func TestAskReadsALineForEachQuestion(t *testing.T) {
	k, out := typing(strings.NewReader("2\r\nfree text\nlast"))
	for _, c := range []struct {
		schema any
		want   string
	}{
		{enumSchema("yes", "no"), "2"},
		{map[string]any{"type": "string"}, "free text"},
		{map[string]any{"type": "string"}, "last"},
	} {
		got, err := k.ReadAnswer(t.Context(), view.Pending{Node: "ask", Prompt: "Ship it?", Schema: c.schema}, "")
		if err != nil || got != c.want {
			t.Errorf("got %q, %v, want %q", got, err, c.want)
		}
	}
	if want := "ask  Ship it?\n  1) yes\n  2) no\n  (a number or the first letters; Ctrl-D leaves the question open)\n> "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("asked %q, want %q first", out, want)
	}
	if _, err := k.ReadAnswer(t.Context(), view.Pending{}, "that was not legal"); !errors.Is(err, io.EOF) {
		t.Errorf("at the end of the input: %v, want EOF", err)
	}
	if !strings.Contains(out.String(), "that was not legal\n") {
		t.Errorf("the problem is not shown: %q", out)
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	in, person := io.Pipe()
	defer person.Close()
	k, _ := typing(in)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.ReadAnswer(ctx, view.Pending{}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

// reviewSchema returns a schema with a property of every type.
func reviewSchema() map[string]any {
	return map[string]any{
		"type": "object", "required": []any{"verdict", "points"},
		"properties": map[string]any{
			"verdict": map[string]any{"type": "string", "enum": []any{"ship", "shelve", "ask"}, "description": "What to do."},
			"points":  map[string]any{"type": "integer", "minimum": 1},
			"urgent":  map[string]any{"type": "boolean"},
			"tags":    map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
			"words":   map[string]any{"type": "string", "description": "For the author.", "default": "thanks"},
		},
	}
}

func TestAskFieldByField(t *testing.T) {
	k, out := typing(strings.NewReader("sh\nshi\n\nx\n0\n3\n[a, b]\nY\n\n"))
	got, err := k.ReadAnswer(t.Context(), view.Pending{Node: "review", Prompt: "Well?", Schema: reviewSchema()}, "")
	if want := `{"points":3,"tags":["a","b"],"urgent":true,"verdict":"ship"}`; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, want := range []string{
		"(field by field, or all at once as {verdict: …}; Ctrl-D leaves the question open)\n",
		"  verdict  What to do.  (a number or the first letters)\n  1) ship\n",
		"\"sh\" may be \"ship\" or \"shelve\"\n", "points: an answer is needed\n", `points: "x" is not an integer`, "points: 0 is below the minimum of 1",
		"  words  For the author.  (default \"thanks\")\n", "  tags  (array, as YAML or JSON; may stay empty)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said in:\n%s", want, out)
		}
	}
}

func TestAskOpensAnEditor(t *testing.T) {
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "printf 'two\nlines\n' >")
	k, out := typing(strings.NewReader("\\e\n"))
	got, err := k.ReadAnswer(t.Context(), view.Pending{Node: "ask", Schema: map[string]any{"type": "string"}}, "")
	if err != nil || got != "two\nlines" {
		t.Errorf("got %q, %v\n%s", got, err, out)
	}
	if !strings.Contains(out.String(), `(\e opens an editor; Ctrl-D leaves the question open)`) {
		t.Errorf("how to is not said: %s", out)
	}
	t.Setenv("VISUAL", "false")
	k, out = typing(strings.NewReader("\\e\nby hand\n"))
	if got, err := k.ReadAnswer(t.Context(), view.Pending{Node: "ask"}, ""); err != nil || got != "by hand" {
		t.Errorf("after an editor that failed: %q, %v", got, err)
	}
	if !strings.Contains(out.String(), `the editor "false": exit status 1`) {
		t.Errorf("the failure is not said: %s", out)
	}
}

// While somebody else has the terminal the view says nothing; nothing is lost.
func TestViewHolds(t *testing.T) {
	for _, name := range []string{"plain", "live"} {
		var out bytes.Buffer
		tracer := NewTracer(traceGraph(), terminal.NewColors(false))
		v := NewPlain(&out, tracer, nil)
		if name == "live" {
			v = NewLive(&out, time.Now, unknownWidth, tracer)
		}
		release := v.StopPrinting()
		v.Note("kept")
		if out.Len() > 0 {
			t.Errorf("%s: printed %q while it was held", name, out.String())
		}
		release()
		v.Close()
		if got := strings.TrimSpace(out.String()); got != "kept" {
			t.Errorf("%s: printed %q afterwards", name, got)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"ask=yes": "ask=yes", "a/b.db": "a/b.db", "ask=it's": `'ask=it'\''s'`, "a b": "'a b'", "a\x1b[31m'\"\\\n": `$'a\x1b[31m\x27"\\\n'`, "$x": "'$x'", "": "''", "~": "'~'",
	} {
		if got := QuoteForShell(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// TestAskWraps asks on a narrow terminal: nothing is wider, and words stay whole.
func TestAskWraps(t *testing.T) {
	k, out := typing(strings.NewReader("ship\n3\n\n\n\n"))
	k.columns = func() int { return 40 }
	schema := reviewSchema()
	properties := schema["properties"].(map[string]any)
	properties["points"].(map[string]any)["description"] = "How many of the points of the list are met, by your own count."
	if _, err := k.ReadAnswer(t.Context(), view.Pending{Node: "review", Prompt: "Well?", Schema: schema}, ""); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if _, typed, prompted := strings.Cut(line, "> "); prompted {
			line = typed // nobody's line break is there
		}
		if len(line) > 42 { // … has three bytes
			t.Errorf("%q is wider than the terminal", line)
		}
	}
	if want := "  points  How many of the points of the\n    list are met, by your own count."; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not said in:\n%s", want, out)
	}
}
