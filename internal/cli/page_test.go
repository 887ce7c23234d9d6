package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The flows of pages that a browser opens: a correct one, one with findings, a run
// that loops, enters a subgraph, retries and fails, and a large one.
const pagedFlow = `graphrun: v1
name: paged
description: Counts, looks inside and fails.
start: count
state:
  n: {type: integer, default: 0, description: how often}
  text: {type: string, default: "<img src=x onerror=alert(1)> </script><script>alert(2)</script>"}
  log: {type: array, items: {type: integer}, reducer: append, default: []}
limits: {max_steps: 50, node_timeout: 10s, max_visits: 9}
nodes:
  count: {kind: set, set: {n: n + 1, log: "[n]"}, description: "Adds <b>one</b>."}
  inner: {kind: graph, graph: "#leafs"}
  left: {kind: pass}
  right: {kind: pass}
  meet: {kind: pass, join: {wait: all}}
  work: {kind: exec, command: [sh, -c, "echo 'it <i>fails</i>' >&2; exit 3"], retry: {max_attempts: 2, initial_interval: 10ms}}
  unused: {kind: human, prompt: "Well?"}
edges:
  - {from: count, to: count, when: n < 3, label: once more}
  - {from: count, to: inner}
  - {from: inner, to: [left, right], condition: always}
  - {from: [left, right], to: meet}
  - {from: meet, to: work}
  - {from: work, to: unused, condition: on_failure, when: "error.kind == 'timeout'"}
  - {from: work, to: END}
  - {from: unused, to: END}
graphs:
  leafs:
    start: leaf
    nodes: {leaf: {kind: pass}}
    edges: [{from: leaf, to: END}]
`

const pagedFindings = `graphrun: v1
name: found
start: idle
state: {never: {type: string}}
nodes:
  idle: {kind: exec, command: [sh, -c, "true"]}
edges:
  - {from: idle, to: END}
`

// largeFlow returns a flow with a line of n nodes, and loops between them.
func largeFlow(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graphrun: v1\nname: large\nstart: n0\nstate: {k: {type: integer, default: 0}}\nlimits: {max_steps: 100000, max_visits: 1000}\nnodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  n%d: {kind: set, set: {k: k + 1}}\n", i)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		if i%7 == 3 {
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d, when: k %% 5 == 0 and visits.n%d < 4}\n", i, max(0, i-5), i)
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
	}
	fmt.Fprintf(&b, "  - {from: n%d, to: n0, when: visits.n0 < 12}\n  - {from: n%d, to: END}\n", n-1, n-1)
	return b.String()
}

// writePages writes the pages into a folder of the test.
func writePages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	graphrun := func(code int, args ...string) {
		t.Helper()
		var said bytes.Buffer
		args = append(args, "--store", filepath.Join(dir, "runs.db"))
		p := Program{Args: args, Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}
		if got := Main(context.Background(), p); got != code {
			t.Fatalf("%q: exit code %d, want %d\n%s", args, got, code, said.String())
		}
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flow, found, large := file("flow.yaml", pagedFlow), file("found.yaml", pagedFindings), file("large.yaml", largeFlow(200))
	graphrun(1, "run", flow, "--run-id", "one", "--durability", "off")
	graphrun(0, "run", large, "--run-id", "two", "--durability", "off", "-q")
	graphrun(0, "render", flow, "-O", filepath.Join(dir, "flow.html"))
	graphrun(0, "render", found, "-O", filepath.Join(dir, "invalid.html"))
	graphrun(0, "render", flow, "--run", "one", "-O", filepath.Join(dir, "run.html"))
	graphrun(0, "render", large, "--run", "two", "-O", filepath.Join(dir, "big.html"))
	return dir
}

// TestPages bounds the size of the page of a large run, and has a browser look at the
// pages; see web/test/page.mjs.
func TestPages(t *testing.T) {
	pages := writePages(t)
	info, err := os.Stat(filepath.Join(pages, "big.html"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 2_000_000 {
		t.Errorf("the page of a large run has %d bytes", info.Size())
	}
	web := os.Getenv("GRAPHRUN_TEST_WEB")
	if web == "" {
		t.Skip("GRAPHRUN_TEST_WEB does not name the folder web with its packages (.ci/browser makes them): no browser looks at the page")
	}
	look := exec.Command("node", filepath.Join(web, "test", "page.mjs"), pages)
	if out, err := look.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
