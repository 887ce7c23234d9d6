package runner_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Secrets in a text are masked however the text is cut into pieces.
func TestSecretsInPieces(t *testing.T) {
	t.Setenv("LONG", "abcabd")
	t.Setenv("SHORT", "abca")
	for text, want := range map[string]string{
		"x abcabd y abca z": "x *** y *** z",
		"abcabdabca abc":    "****** abc",
		"abcabd abcab":      "*** ***",
		"aabcabdd":          "a***d",
		"nothing at all":    "nothing at all",
	} {
		for size := 1; size <= len(text); size++ {
			kind := runner.Kind{Spec: spec.Kind{Name: "exec"}, Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
				for rest := text; rest != ""; {
					n := min(size, len(rest))
					task.Emit(runner.Said{Type: "text", Text: rest[:n]})
					rest = rest[n:]
				}
				return nil, nil
			})}
			cfg := runner.Config{Kinds: []runner.Kind{kind}}
			f := prepareFlow(t, cfg, "secrets: {l: {env: LONG}, s: {env: SHORT}}\nnodes: {a: {kind: exec, command: [x], env: {L: '{{ secrets.l }}', S: '{{ secrets.s }}'}}}\nedges: [{from: a, to: END}]")
			events := &recorder{}
			runPrepared(t, f, runner.Options{Sink: events})
			var got strings.Builder
			for _, e := range events.ofType(runner.NodeOutput) {
				got.WriteString(e.Said.Text)
			}
			if got.String() != want {
				t.Errorf("%q in pieces of %d shows as %q, want %q", text, size, got.String(), want)
			}
		}
	}
}

// The journal stores no secret in the texts of a node.
func TestSecretsAreNotStored(t *testing.T) {
	t.Setenv("T", canary)
	for name := range leakyHandlers() {
		var kept store.Memory
		cfg := runner.Config{Store: &kept, Kinds: []runner.Kind{leakyKind()}}
		f := prepareFlow(t, cfg, "secrets: {t: {env: T}}\nnodes: {a: {kind: exec, command: ["+name+"], env: {T: '{{ secrets.t }}'}}}\nedges: [{from: a, to: END}]")
		runPrepared(t, f, runner.Options{RunID: "one"})
		events, err := kept.Events("one", 0, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			events[i].At = 0 // its digits may match by chance
		}
		texts, err := store.EncodeEvents(events)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(string(text), "4711") {
				t.Errorf("%s: the journal holds %s", name, text)
			}
		}
	}
}
