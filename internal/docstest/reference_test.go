// The generated pages of docs/reference, and the contracts of docs/cli.md.

package docstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphrun/graphrun/internal/templates"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

func TestKeys(t *testing.T) {
	page := keysPage{topics: spec.Topics(spec.Options{})}
	page.printf("# Keys of a graph file\n\nEvery key that the parser knows; `go test ./internal/docstest -update` writes this page. [The language](../language.md) says how they work together. Keys that begin with `x-` are yours, at any place where the language has keys of its own: graphrun ignores them.\n")
	var top []spec.Topic
	for _, t := range page.topics {
		if t.Path == t.Name {
			top = append(top, t)
		}
	}
	page.printf("\n## Top level\n")
	page.rows(top, nil, "")
	page.printf("\n## Every node\n")
	page.rows(page.find("nodes", "").Keys, nil, "")
	for _, t := range page.topics {
		if t.Path == "" {
			page.printf("\n## Kind `%s`\n\n%s\n", t.Name, t.Doc)
			page.rows(t.Keys, t.Choices, t.Kind)
		}
	}
	compareFile(t, "docs/reference/keys.md", page.text.String())
}

// keysPage is the page of keys under construction.
type keysPage struct {
	topics []spec.Topic
	text   strings.Builder
}

func (p *keysPage) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// find returns the topic of a key by its path, and by the kind of node that has it.
func (p *keysPage) find(path, kind string) *spec.Topic {
	i := slices.IndexFunc(p.topics, func(t spec.Topic) bool { return t.Path == path && t.Kind == kind })
	return &p.topics[i]
}

// rows writes the table of some keys, then those of the maps inside them.
func (p *keysPage) rows(keys []spec.Topic, choices []string, kind string) {
	if len(keys) > 0 {
		p.printf("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	}
	cell := strings.NewReplacer("|", `\|`)
	for _, k := range keys {
		if k.Required {
			k.Default = "required"
		}
		p.printf("| `%s` | %s | %s | %s |\n", k.Name, cell.Replace(k.Value), cell.Replace(k.Default), cell.Replace(k.Doc))
	}
	for _, c := range choices {
		how, names, _ := strings.Cut(c, " of ")
		what := map[string]string{"at most one": "allowed", "exactly one": "required"}[how]
		p.printf("\n%s%s of `%s` is %s.\n", strings.ToUpper(how[:1]), how[1:], strings.ReplaceAll(names, ", ", "`, `"), what)
	}
	for _, k := range keys {
		inner := p.find(k.Path, kind)
		if len(inner.Keys) == 0 || k.Path == "nodes" {
			continue
		}
		path := strings.TrimSuffix(inner.Keys[0].Path, "."+inner.Keys[0].Name)
		p.printf("\n### `%s`\n", path)
		if path == "state.*" {
			p.printf("\nA JSON Schema, and:\n")
		}
		p.rows(inner.Keys, inner.Choices, kind)
	}
}

// The schema that files name in their first line is the program's, and templates name it.
func TestSchema(t *testing.T) {
	want, code := call("", "schema")
	if code != 0 {
		t.Fatalf("schema: exit code %d", code)
	}
	compareFile(t, "docs/reference/"+filepath.Base(spec.SchemaID), want)
	for _, name := range templates.Names() {
		files, err := templates.Files(name)
		flow := slices.IndexFunc(files, func(f templates.File) bool { return f.Name == "flow.yaml" })
		if err != nil || flow < 0 || !strings.HasPrefix(string(files[flow].Text), "# yaml-language-server: $schema="+spec.SchemaID+"\n") {
			t.Errorf("template %s does not begin with the line that names the schema (%v)", name, err)
		}
	}
}

func TestRules(t *testing.T) {
	var out strings.Builder
	for _, rule := range lint.Rules() {
		severity := rule.Severity.String()
		if rule.Off {
			severity += ", off by default"
		}
		fmt.Fprintf(&out, "## %s\n\n%s: %s.\n\n%s\n\n", rule.Name, severity, rule.Summary, strings.TrimSpace(rule.Doc))
	}
	compareGenerated(t, "docs/reference/rules.md", out.String())
}

func TestCommands(t *testing.T) {
	help, code := call("", "help")
	if code != 0 {
		t.Fatalf("help: exit code %d", code)
	}
	_, list, _ := strings.Cut(help, "\nExamples:\n")
	_, list, _ = strings.Cut(list, "\n\n")
	list, _, _ = strings.Cut(list, "\nFlags:")
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^  (\w+)  `).FindAllStringSubmatch(list, -1) {
		if row[1] != "help" && row[1] != "completion" { // cobra's own
			names = append(names, row[1])
		}
	}
	if len(names) < 10 {
		t.Errorf("help lists only %q", names)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		writeCommand(t, &out, name)
	}
	compareGenerated(t, "docs/reference/commands.md", out.String())
}

// writeCommand writes the help of a command, then that of the commands below it.
func writeCommand(t *testing.T, out *strings.Builder, path ...string) {
	help, code := call("", append(path, "--help")...)
	if code != 0 {
		t.Errorf("%s --help: exit code %d", path, code)
	}
	text, _, _ := strings.Cut(help, "\nGlobal Flags:")
	text, list, below := strings.Cut(text, "\nAvailable Commands:\n")
	out.WriteString("## graphrun " + strings.Join(path, " ") + "\n\n```text\n" + strings.TrimSpace(text) + "\n```\n\n")
	if !below {
		return
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		writeCommand(t, out, append(slices.Clone(path), strings.Fields(line)[0])...)
	}
}

// exitCodes are the codes in the table of a page.
func exitCodes(p page) []string {
	var out []string
	for _, row := range p.rows() {
		if regexp.MustCompile(`^\d+$`).MatchString(row[0]) {
			out = append(out, row[0])
		}
	}
	return out
}

func TestExitCodeTables(t *testing.T) {
	want := []string{"0", "1", "2", "3", "4", "5", "10", "130"}
	for _, name := range []string{"README.md", "docs/cli.md"} {
		if diff := cmp.Diff(want, exitCodes(readPage(t, name))); diff != "" {
			t.Errorf("%s (-want +page):\n%s", name, diff)
		}
	}
}

const counter = `
graphrun: v1
name: count
start: one
state: {n: {type: integer, default: 0}}
nodes: {one: {kind: set, set: {n: n + 1}}}
edges: [{from: one, to: END}]
`

// The JSON result on the page is that of a run, times and run id apart.
func TestResult(t *testing.T) {
	var shown string
	for _, b := range readPage(t, "docs/cli.md").blocks() {
		if b.info == "json" && strings.Contains(b.text, `"run_id"`) {
			shown = b.text
		}
	}
	out, code := call(counter, "run", "-", "-o", "json", "--store", "memory")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	decode := func(text string) map[string]any {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		for _, key := range []string{"run_id", "started_at", "duration_ms"} {
			if v[key] == nil {
				t.Errorf("no %s in %s", key, text)
			}
			v[key] = nil
		}
		return v
	}
	// On a run that is no terminal's the JSON is the last line.
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if diff := cmp.Diff(decode(shown), decode(lines[len(lines)-1])); diff != "" {
		t.Errorf("docs/cli.md (-page +run):\n%s", diff)
	}
}

// Every event of a run that retries, fails and goes on is on the page.
func TestEvents(t *testing.T) {
	const flow = `
graphrun: v1
name: events
start: one
state: {n: {type: integer, default: 0}}
tools: {say: {exec: {command: [echo, hello]}}}
nodes:
  one:
    kind: exec
    script: 'echo "{\"event\":\"progress\",\"percent\":1}" >>"$GRAPHRUN_TASK_EVENTS"; echo "{\"event\":\"text\",\"text\":\"x\"}" >>"$GRAPHRUN_TASK_EVENTS"; exit 1'
    timeout: 1m
    retry: {max_attempts: 2, initial_interval: 1ms}
  two: {kind: set, set: {n: 1}}
  three: {kind: tool, tool: say, timeout: 1m}
  left: {kind: pass}
  right: {kind: pass}
  both: {kind: pass}
edges:
  - {from: one, to: two, condition: on_failure}
  - {from: two, to: three}
  - {from: three, to: [left, right]}
  - {from: [left, right], to: both}
  - {from: both, to: END}
`
	kept := filepath.Join(t.TempDir(), "runs.db")
	out, code := call(flow, "run", "-", "-o", "jsonl", "--store", kept, "--run-id", "one", "--pause-before", "two")
	if code != 10 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	rest, code := call("", "resume", "one", "-o", "jsonl", "--store", kept)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, rest)
	}
	out += rest
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		var event struct{ Event string }
		if json.Unmarshal([]byte(line), &event) == nil && event.Event != "" {
			seen[event.Event] = true
		}
	}
	var shown []string
	for _, row := range readPage(t, "docs/cli.md").rows() {
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[0], -1) {
			shown = append(shown, m[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if !slices.Contains(shown, name) {
			t.Errorf("docs/cli.md does not list the event %s", name)
		}
	}
	for _, name := range shown {
		if name == "run_waiting" || name == "node_thinking" {
			continue // they take another process, a model: concurrency.txtar and streams_broken.txtar in testdata/script
		}
		if strings.Contains(name, "_") && !seen[name] {
			t.Errorf("docs/cli.md lists %s, which this run has not", name)
		}
	}
}

// TestSessions runs the sessions of testdata, which show every exit code.
func TestSessions(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector holds each program for a second
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": commandCode},
	})
}
