package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/runner"
)

// typing makes an asker whose person types text.
func typing(in io.Reader) (*asker, *bytes.Buffer) {
	out := &bytes.Buffer{}
	k := newAsker(&app{Program: Program{Stdin: in, Stderr: out}}, &runOutput{colors: newTraceColors(false)})
	return k, out
}

func choices(values ...any) any { return map[string]any{"enum": values} }

func TestAskReadsALineForEachQuestion(t *testing.T) {
	k, out := typing(strings.NewReader("2\r\nfree text\nlast"))
	for _, c := range []struct {
		schema any
		want   string
	}{
		{choices("yes", "no"), "no"},
		{map[string]any{"type": "string"}, "free text"},
		{map[string]any{"type": "string"}, "last"},
	} {
		got, err := k.ask(t.Context(), runner.Pending{Node: "ask", Prompt: "Ship it?", Schema: c.schema}, "")
		if err != nil || got != c.want {
			t.Errorf("got %q, %v, want %q", got, err, c.want)
		}
	}
	if want := "ask  Ship it?\n  1) yes\n  2) no\n> "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("asked %q, want %q first", out, want)
	}
	if _, err := k.ask(t.Context(), runner.Pending{}, "that was not legal"); !errors.Is(err, io.EOF) {
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
	if _, err := k.ask(ctx, runner.Pending{}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}

func TestChosen(t *testing.T) {
	for _, c := range []struct {
		line, want string
		choices    []string
	}{
		{" yes ", "yes", []string{"yes", "no"}},
		{"1", "yes", []string{"yes", "no"}},
		{"3", "3", []string{"yes", "no"}},
		{"0", "0", []string{"yes", "no"}},
		{"2", "2", []string{"2", "1"}},
		{"1", "1", nil},
	} {
		if got := chosen(c.line, c.choices); got != c.want {
			t.Errorf("%q of %q: got %q, want %q", c.line, c.choices, got, c.want)
		}
	}
}

// While somebody else has the terminal the view says nothing; nothing is lost.
func TestViewHolds(t *testing.T) {
	for _, name := range []string{"plain", "live"} {
		var out bytes.Buffer
		tracer := newTracer(recordedGraph(&runner.RunRecord{}), newTraceColors(false))
		var v view = &plainView{out: &out, tracer: tracer}
		if name == "live" {
			v = newLiveView(&out, time.Now, nil, tracer)
		}
		release := v.hold()
		v.note("kept")
		if out.Len() > 0 {
			t.Errorf("%s: printed %q while it was held", name, out.String())
		}
		release()
		v.close()
		if got := strings.TrimSpace(out.String()); got != "kept" {
			t.Errorf("%s: printed %q afterwards", name, got)
		}
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"ask=yes": "ask=yes", "a/b.db": "a/b.db", "ask=it's": `'ask=it'\''s'`, "a b": "'a b'", "$x": "'$x'", "": "''", "~": "'~'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for in, want := range map[string]string{"30d": "720h0m0s", "90m": "1h30m0s", "0s": "0s"} {
		var d age
		if err := d.Set(in); err != nil || d.String() != want {
			t.Errorf("%q: got %s, %v, want %s", in, &d, err, want)
		}
	}
	for _, bad := range []string{"", "d", "-1d", "-1h", "3", "1w"} {
		var d age
		if err := d.Set(bad); err == nil {
			t.Errorf("%q is taken for %s", bad, &d)
		}
	}
}
