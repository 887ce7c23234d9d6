// Every example is run, and what happens is compared with what is
// kept in its folder `expected`.
package examples_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
		{dir: "diamond", name: "quoted"},
		{dir: "diamond", name: "later", inputs: []string{"article=chair", "amount=10"}},
		{dir: "list-fan-out", name: "all"},
		{dir: "list-fan-out", name: "some", inputs: []string{`pages:=["home","jobs","prices"]`}},
		{dir: "list-fan-out", name: "none", inputs: []string{`pages:=["jobs"]`}, code: 1},
		{dir: "mcp-research", name: "sum", server: true},
		{dir: "negotiation", name: "deal"},
		{dir: "negotiation", name: "walked", flags: []string{"--model", "default=scripted/stubborn.yaml"}, code: 1},
		{dir: "parallel-ci", name: "green", inputs: []string{"out=OUT"}},
		{dir: "parallel-ci", name: "red", inputs: []string{"out=OUT", "project=project-broken"}, code: 1},
		{dir: "parallel-ci", name: "all-red", inputs: []string{"out=OUT", "project=nowhere"}, code: 1},
		{dir: "plan-code-test", name: "second-try"},
		{dir: "polling", name: "done", inputs: []string{"server=SERVER"}},
		{dir: "polling", name: "lost", inputs: []string{"server=SERVER/elsewhere"}, code: 1},
		{dir: "race", name: "mirror"},
		{dir: "race", name: "main", inputs: []string{"mirror=gone", "delay=0.5"}},
		{dir: "race", name: "nobody", inputs: []string{"mirror=gone", "main=gone", "delay=0.5"}, code: 1},
		{dir: "retry-with-fallback", name: "fallback"},
		{dir: "review-board", name: "published"},
		{dir: "review-board", name: "rejected", inputs: []string{"draft=drafts/bad.txt"}},
		{dir: "review-board", name: "two", inputs: []string{"draft=drafts/empty.txt"}},
		{dir: "review-board", name: "adjourned", inputs: []string{"draft=nowhere.txt"}, code: 1},
		{dir: "rollout", name: "asked", code: 10},
		{
			dir: "rollout", name: "answered", resumes: [][]string{
				{"--answer", "notes:risk=low"},
				{"--answer", "notes:headline=Faster"},
				{"--answer", "region[1]/approve=ship", "--answer", "region[0]/approve=leave"},
			},
		},
		{
			dir: "rollout", name: "stopped", answers: []string{"notes:risk=high", "notes:headline=Bugs"},
			flags: []string{"--pause-before", "region"}, resumes: [][]string{
				{"--answer", "region/approve=ship", "--answer", "region/approve=ship", "--pause-after", "region/approve"}, {},
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
		{dir: "triage", name: "asked", code: 10},
		{dir: "triage", name: "woken", answers: []string{"decide=wake"}},
		{dir: "triage", name: "unnamed", inputs: []string{"report=the shop is broken"}, answers: []string{"decide=wait"}},
		{dir: "triage", name: "dismissed", inputs: []string{"report=search is broken"}, answers: []string{"decide=dismiss"}},
		{dir: "triage", name: "question", inputs: []string{"report=where is the invoice ?"}},
		{dir: "triage", name: "queued", inputs: []string{"report=thanks a lot"}},
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
		done.WriteString(inSteps(steady(text.String())))
		text.Reset()
		program.Args = args
		if output == "json" {
			program.Args = append(program.Args, "-o", "json", "--history")
		} else {
			text.WriteString("$ graphrun " + strings.Join(program.Args, " ") + "\n")
		}
		code = cli.Main(context.Background(), program)
	}
	done.WriteString(inSteps(steady(text.String())))
	return strings.NewReplacer(server.URL, "SERVER", out, "OUT").Replace(done.String()), code
}

// inSteps puts the lines of a trace into the order of their steps: tasks that
// run at once end in any order. A line that tells only where a step led, because
// others ended later, becomes part of the line that tells how it ended.
func inSteps(text string) string {
	line := regexp.MustCompile(`^\[(\d+)\] +(\S+(?: #\d+)?) .*`)
	ending := regexp.MustCompile(`^(\[\d+\] +\S+(?: #\d+)? +(?:ok|failed) +0ms)(.*)`)
	where := regexp.MustCompile(`^\[\d+\] +\S+(?: #\d+)? +(→.*)`)
	var steps, others []string
	first, ended := -1, map[string]int{}
	for _, l := range strings.Split(text, "\n") {
		match := line.FindStringSubmatch(l)
		if match == nil {
			others = append(others, l)
			continue
		}
		if first < 0 {
			first = len(others)
		}
		id := match[1] + " " + match[2]
		_, known := ended[id] // a fork begins with where its last step led
		if to := where.FindStringSubmatch(l); to != nil && known {
			parts := ending.FindStringSubmatch(steps[ended[id]])
			steps[ended[id]] = parts[1] + "  " + to[1] + parts[2]
			continue
		}
		if ending.MatchString(l) {
			ended[id] = len(steps)
		}
		steps = append(steps, l)
	}
	if first < 0 {
		return text
	}
	number := func(l string) int {
		n, _ := strconv.Atoi(line.FindStringSubmatch(l)[1])
		return n
	}
	slices.SortStableFunc(steps, func(a, b string) int { return number(a) - number(b) })
	return strings.Join(slices.Concat(others[:first], steps, others[first:]), "\n")
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
