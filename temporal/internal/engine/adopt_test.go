package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/temporal/internal/engine"
)

// versions returns three versions of a flow that counts and then asks: the first one, one with
// which its runs can continue, and one with which a run would have taken another path.
func versions() (first, fits, other string) {
	first = `graphrun: v1
name: count
start: work
limits: {max_steps: 1000, node_timeout: 10m}
state: {n: {type: integer, default: 0}, said: {type: string}}
nodes:
  work: {kind: exec, script: 'echo $(($N + 1))', env: {N: "{{ n }}"}, writes: [n]}
  ask: {kind: human, prompt: Enough?, choices: ["yes", "no"], writes: [said]}
edges:
  - {from: work, to: work, when: "n < 12"}
  - {from: work, to: ask, when: "n >= 12"}
  - {from: ask, to: END}
`
	fits = strings.NewReplacer(
		"name: count", "name: count-on", `choices: ["yes", "no"]`, `choices: [more]`,
		"  - {from: ask, to: END}", "  - {from: ask, to: more}\n  - {from: more, to: END}",
		"edges:", "  more: {kind: exec, script: 'echo $(($N + 100))', env: {N: \"{{ n }}\"}, writes: [n]}\nedges:",
	).Replace(first)
	return first, fits, strings.Replace(first, "n < 12", "n < 5", 1)
}

// listOutputs returns the outputs of commands about a run, without times.
func listOutputs(t *testing.T, o *engine.Options, where ...string) (all []string) {
	t.Helper()
	look := func(args ...string) string {
		stdout, stderr, code := command(o, append(args, where...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
		}
		return stdout
	}
	for line := range strings.Lines(look("runs", "events", "one")) {
		var e struct {
			Event, Node          string
			Step, Visit, Attempt int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e))
	}
	all = append(all, look("why", "one", "2"), look("why", "one", "13"), look("runs", "state", "one", "--at", "7"), look("runs", "state", "one"))
	return all
}

// TestAdopt: a run continues with another version of its graph as with the local engine, while it
// is paused and after it has ended, in its first workflow and in a later one. Commands report the
// same before and after, and its histories can be replayed.
func TestAdopt(t *testing.T) {
	for _, test := range []struct {
		name   string
		events int
		ends   bool // before it goes on
	}{{"paused", 10000, false}, {"moved", 60, false}, {"ended", 10000, true}} {
		t.Run(test.name, func(t *testing.T) {
			o := &engine.Options{Address: serverOf(t), Payloads: t.TempDir()}
			startWorker(t, *o, engine.WorkerOptions{MaxEvents: test.events})
			dir := t.TempDir()
			t.Chdir(dir)
			first, fits, other := versions()
			for name, text := range map[string]string{"first.yaml": first, "fits.yaml": fits, "other.yaml": other} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			drive := func(o *engine.Options, where ...string) (said []string, texts []string) {
				add := func(args ...string) {
					stdout, stderr, code := command(o, append(append(args, "-o", "json"), where...)...)
					var out outcome
					if err := json.Unmarshal([]byte(stdout), &out); stdout != "" && err != nil {
						t.Fatalf("%v: %v\n%s\n%s", args, err, stdout, stderr)
					}
					out.Code = code
					text, err := json.Marshal(out)
					if err != nil {
						t.Fatal(err)
					}
					if stdout == "" {
						text = []byte(fmt.Sprintf("%d %s", code, stderr))
					}
					said = append(said, string(text))
				}
				add("run", "first.yaml", "--run-id", "one")
				add("resume", "one", "--with-file", "other.yaml", "--answer", "ask=yes")
				add("resume", "one", "--with-file", "fits.yaml", "--answer", "ask=yes")
				if test.ends {
					if _, stderr, code := command(o, append([]string{"runs", "cancel", "one"}, where...)...); code != 0 {
						t.Fatal(stderr)
					}
				}
				add("resume", "one", "--with-file", "fits.yaml")
				add("runs", "show", "one")
				add("resume", "one", "--answer", "ask=more")
				add("resume", "one", "--with-file", "first.yaml")
				return said, listOutputs(t, o, where...)
			}
			here, toldHere := drive(nil, "--store", filepath.Join(dir, "runs.db"))
			there, toldThere := drive(o)
			if diff := cmp.Diff(here, there); diff != "" {
				t.Errorf("on this machine (-), on the cluster (+):\n%s", diff)
			}
			if diff := cmp.Diff(toldHere, toldThere); diff != "" && test.events > 1000 {
				t.Errorf("told on this machine (-), on the cluster (+):\n%s", diff)
			}
			c, err := o.Dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.ReplayMoved(t.Context(), "one", test.events); err != nil {
				t.Error(err)
			}
		})
	}
}
