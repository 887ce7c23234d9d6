// Every example is run, and what happens is compared with what is
// kept in its folder `expected`.
package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/examples/polling/server/jobs"
	"github.com/graphrun/graphrun/internal/cli"
)

// example is one run of a flow. Inputs may hold SERVER, the address of a job
// server, and OUT, a folder for what the run makes.
type example struct {
	dir, name string
	inputs    []string
	// answers are what a person says, in advance: node=value.
	answers []string
	// flags are further arguments.
	flags []string
	// resumes are the arguments with which the run is taken up again.
	resumes [][]string
	// forks are the arguments with which it is forked, one after the other.
	forks [][]string
	// branches says that steps run at once, and end in any order.
	branches bool
	// server says that the flow drives the MCP server of GRAPHRUN_TEST_MCP.
	server bool
	code   int
}

func all() []example {
	return []example{
		{dir: "approval", name: "manager"},
		{dir: "approval", name: "rule", inputs: []string{"amount=80"}},
		{dir: "approval", name: "refused", inputs: []string{"amount=5000"}},
		{dir: "approval", name: "blocked", inputs: []string{"payee=Shady"}},
		{dir: "approval", name: "undecided", inputs: []string{"blocklist=nowhere.txt"}, code: 1},
		{dir: "ci-pipeline", name: "green", inputs: []string{"out=OUT"}},
		{dir: "ci-pipeline", name: "broken", inputs: []string{"out=OUT", "project=project-broken"}, code: 1},
		{dir: "diamond", name: "quoted", branches: true},
		{dir: "diamond", name: "later", branches: true, inputs: []string{"article=chair", "amount=10"}},
		{dir: "list-fan-out", name: "all", branches: true},
		{dir: "list-fan-out", name: "some", branches: true, inputs: []string{`pages:=["home","jobs","prices"]`}},
		{dir: "list-fan-out", name: "none", branches: true, inputs: []string{`pages:=["jobs"]`}, code: 1},
		{dir: "mcp-research", name: "sum", server: true},
		{dir: "negotiation", name: "deal"},
		{dir: "negotiation", name: "walked", flags: []string{"--model", "default=scripted/stubborn.yaml"}, code: 1},
		{dir: "parallel-ci", name: "green", branches: true, inputs: []string{"out=OUT"}},
		{dir: "parallel-ci", name: "red", branches: true, inputs: []string{"out=OUT", "project=project-broken"}, code: 1},
		{dir: "parallel-ci", name: "all-red", branches: true, inputs: []string{"out=OUT", "project=nowhere"}, code: 1},
		{dir: "plan-code-test", name: "second-try"},
		{dir: "polling", name: "done", inputs: []string{"server=SERVER"}},
		{dir: "polling", name: "lost", inputs: []string{"server=SERVER/elsewhere"}, code: 1},
		{dir: "race", name: "mirror", branches: true},
		{dir: "race", name: "main", branches: true, inputs: []string{"mirror=gone", "delay=0.5"}},
		{dir: "race", name: "nobody", branches: true, inputs: []string{"mirror=gone", "main=gone", "delay=0.5"}, code: 1},
		{dir: "retry-with-fallback", name: "fallback"},
		{dir: "review-board", name: "published", branches: true},
		{dir: "review-board", name: "rejected", branches: true, inputs: []string{"draft=drafts/bad.txt"}},
		{dir: "review-board", name: "two", branches: true, inputs: []string{"draft=drafts/empty.txt"}},
		{dir: "review-board", name: "adjourned", branches: true, inputs: []string{"draft=nowhere.txt"}, code: 1},
		{dir: "rollout", name: "asked", branches: true, code: 10},
		{
			dir: "rollout", name: "answered", branches: true, resumes: [][]string{
				{"--answer", "notes:risk=low"},
				{"--answer", "notes:headline=Faster"},
				{"--answer", "region[1]/approve=ship", "--answer", "region[0]/approve=leave"},
			},
		},
		{
			dir: "rollout", name: "stopped", branches: true, answers: []string{"notes:risk=high", "notes:headline=Bugs"},
			flags: []string{"--pause-before", "region"}, resumes: [][]string{
				{"--answer", "region[0]/approve=ship", "--pause-after", "region/approve"},
				{"--answer", "region[1]/approve=leave"},
				{},
			},
		},
		{dir: "selective-feedback", name: "accepted"},
		{dir: "selective-feedback", name: "shelved", inputs: []string{"max_words=3"}, code: 1},
		{dir: "subgraph", name: "taxed"},
		{dir: "subgraph", name: "untaxed", inputs: []string{"article=screw"}},
		{dir: "subgraph", name: "unpriced", inputs: []string{"article=piano"}},
		{dir: "supervisor", name: "done"},
		{dir: "support-triage", name: "routed"},
		{dir: "support-triage", name: "unsure", flags: []string{"--model", "default=scripted/unsure.yaml"}, code: 10},
		{dir: "swarm", name: "handed"},
		{dir: "tool-agent", name: "accepted"},
		{dir: "tool-agent", name: "escalated", flags: []string{"--model", "judge=scripted/strict-judge.yaml"}, answers: []string{"person=3.50"}},
		{dir: "tool-loop", name: "answered"},
		{dir: "tool-router", name: "default"},
		{dir: "tool-router", name: "one", inputs: []string{`questions:=["1 + 1"]`}},
		{dir: "triage", name: "asked", branches: true, code: 10},
		{dir: "triage", name: "woken", branches: true, answers: []string{"decide=wake"}},
		{dir: "triage", name: "unnamed", branches: true, inputs: []string{"report=the shop is broken"}, answers: []string{"decide=wait"}},
		{dir: "triage", name: "dismissed", branches: true, inputs: []string{"report=search is broken"}, answers: []string{"decide=dismiss"}},
		{dir: "triage", name: "question", branches: true, inputs: []string{"report=where is the invoice ?"}},
		{dir: "triage", name: "queued", branches: true, inputs: []string{"report=thanks a lot"}},
		{dir: "what-if", name: "turned-down"},
		{dir: "what-if", name: "shipped", inputs: []string{"customer=known"}},
		{dir: "what-if", name: "forked", forks: [][]string{{"--at", "1", "--set", "score=0.5"}, {"--at", "0", "--set", "customer=known"}}},
		{dir: "writer-critic", name: "accepted"},
	}
}

var update = flag.Bool("update", false, "rewrite the expected files; read the difference")

func TestExamples(t *testing.T) {
	for _, e := range all() {
		t.Run(e.dir+"/"+e.name, func(t *testing.T) {
			if e.server {
				main := os.Getenv("GRAPHRUN_TEST_MCP")
				if main == "" {
					t.Skip("GRAPHRUN_TEST_MCP does not name an MCP server; .ci/run installs one")
				}
				t.Setenv("MCP_SERVER", main)
			}
			t.Chdir(e.dir)
			trace, code := e.run(t, "text")
			if code != e.code {
				t.Fatalf("exit code %d, want %d\n%s", code, e.code, trace)
			}
			result, _ := e.run(t, "json")
			again, _ := e.run(t, "json")
			if diff := cmp.Diff(result, again); diff != "" {
				t.Errorf("a second run differs (-first +second):\n%s", diff)
			}
			compare(t, filepath.Join("expected", e.name+".trace"), trace)
			compare(t, filepath.Join("expected", e.name+".json"), result)
		})
	}
}

// run runs the example in its folder and returns what it prints with all that
// changes from run to run replaced, and the exit code.
func (e *example) run(t *testing.T, output string) (string, int) {
	t.Helper()
	server := httptest.NewServer(jobs.New())
	defer server.Close()
	out := t.TempDir()
	args, shown := []string{"run", "flow.yaml"}, "$ graphrun run flow.yaml"
	for _, in := range e.inputs {
		shown += " -i '" + in + "'"
		args = append(args, "-i", strings.NewReplacer("SERVER", server.URL, "OUT", out).Replace(in))
	}
	for _, answer := range e.answers {
		shown += " --answer '" + answer + "'"
		args = append(args, "--answer", answer)
	}
	for _, flag := range e.flags {
		shown += " " + flag
	}
	args = append(args, e.flags...)
	var text, done bytes.Buffer
	program := cli.Program{Args: args, Stdin: strings.NewReader(""), Stdout: &text, Stderr: &text}
	if output == "json" {
		program.Args = append(args, "-o", "json", "--history")
		program.Stderr = &bytes.Buffer{}
	} else {
		text.WriteString(shown + "\n")
	}
	if len(e.resumes)+len(e.forks) > 0 {
		program.Args = append(program.Args, "--run-id", "ID")
		program.StateDir = t.TempDir()
	} else {
		program.Args = append(slices.Clone(program.Args), "--store", "memory")
	}
	code := cli.Main(context.Background(), program)
	var more [][]string
	for _, args := range e.resumes {
		more = append(more, append([]string{"resume", "ID"}, args...))
	}
	for _, args := range e.forks {
		more = append(more, append([]string{"fork", "ID"}, args...))
	}
	for _, args := range more {
		done.WriteString(e.settled(text.String()))
		text.Reset()
		program.Args = args
		if output == "json" {
			program.Args = append(program.Args, "-o", "json", "--history")
		} else {
			text.WriteString("$ graphrun " + strings.Join(program.Args, " ") + "\n")
		}
		code = cli.Main(context.Background(), program)
	}
	done.WriteString(e.settled(text.String()))
	return strings.NewReplacer(server.URL, "SERVER", out, "OUT").Replace(done.String()), code
}

// settled is text without what differs from run to run.
func (e *example) settled(text string) string {
	text = steady(text)
	if !e.branches {
		return text
	}
	lines := strings.Split(text, "\n")
	for from := 0; from < len(lines); from++ {
		if at := strings.Index(lines[from], `"history":[`); at >= 0 {
			lines[from] = sortedHistory(lines[from], at+len(`"history":`))
		}
		to := from
		for ; to < len(lines) && step.MatchString(lines[to]); to++ {
			lines[to] = step.ReplaceAllString(lines[to], "[-] $2")
		}
		slices.Sort(lines[from:to])
		from = max(from, to-1)
	}
	return strings.Join(lines, "\n")
}

// step is a line of the trace that tells of a step.
var step = regexp.MustCompile(`^(\[\d+\]|   ) +(\S+ .*(?:ok|failed|stopped|warning|dropped|said) .*)`)

// sortedHistory sorts the records of the history that begins at a byte of a line, without
// their numbers.
func sortedHistory(line string, at int) string {
	var records []json.RawMessage
	reader := json.NewDecoder(strings.NewReader(line[at:]))
	if err := reader.Decode(&records); err != nil {
		return line
	}
	number := regexp.MustCompile(`^\{"step":\d+`)
	texts := make([]string, len(records))
	for i, record := range records {
		texts[i] = number.ReplaceAllString(string(record), `{"step":0`)
	}
	slices.Sort(texts)
	return line[:at] + "[" + strings.Join(texts, ",") + "]" + line[at+int(reader.InputOffset()):]
}

// steady replaces run ids and times; columns stay where they are.
func steady(text string) string {
	for _, r := range []struct{ pattern, with string }{
		{`"run_id":"[^"]*"`, `"run_id":"ID"`},
		{`"started_at":"[^"]*"`, `"started_at":"TIME"`},
		{`"duration_ms":\d+`, `"duration_ms":0`},
		{`(?m)^run \S+ (of|resumes)`, `run ID $1`},
		{`\b(graphrun (?:logs|why|resume|answer)) [0-9a-f]+-[0-9a-f-]+`, `$1 ID`},
		{`\bin (\d+ms|\d+\.\ds)\b`, `in 0ms`},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return regexp.MustCompile(` +(\d+ms|\d+\.\ds)\b`).ReplaceAllStringFunc(text, func(match string) string {
		return fmt.Sprintf("%*s", len(match), "0ms")
	})
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// Every flow here is run above, has a page, and leaves validate nothing to say.
func TestExamplesAreComplete(t *testing.T) {
	flows, err := filepath.Glob("*/flow.yaml")
	if err != nil || len(flows) == 0 {
		t.Fatalf("no flows: %v", err)
	}
	for _, flow := range flows {
		dir := filepath.Dir(flow)
		if !slices.ContainsFunc(all(), func(e example) bool { return e.dir == dir }) {
			t.Errorf("%s is not run by a test", flow)
		}
		if _, err := os.Stat(filepath.Join(dir, "README.md")); err != nil {
			t.Error(err)
		}
		var text bytes.Buffer
		program := cli.Program{Args: []string{"validate", "--strict", flow}, Stdin: strings.NewReader(""), Stdout: &text, Stderr: &text}
		if code := cli.Main(context.Background(), program); code != 0 {
			t.Errorf("%s: exit code %d\n%s", flow, code, text.String())
		}
	}
}
