// Any test file is either read, or its problems are reported.

package flowtest_test

import (
	"path/filepath"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
)

// fuzzFlow is a flow with all parts that test files refer to.
const fuzzFlow = `graphrun: v1
name: flow
start: a
state: {n: {type: integer, default: 0}, xs: {type: array, default: []}}
tools: {look: {exec: {command: [look]}, parameters: {type: object}}}
nodes:
  a: {kind: exec, command: [work], writes: [n], timeout: 1m}
  ask: {kind: human, prompt: "go?", choices: ["yes", "no"]}
  b: {kind: set, set: {n: n + 1}}
edges:
  - {id: on, from: a, to: ask, when: n > 0}
  - {from: a, to: END}
  - {from: ask, to: b}
  - {from: b, to: END}
`

func FuzzParse(f *testing.F) {
	const whole = `graphrun-test: v1
flow: flow.yaml
defaults: {input: {n: 1}, stubs: {a: {output: 1}}}
cases:
  - name: one
    stubs: {a: [{attempts: [{error: {kind: timeout, details: {x: 1}}}, {expr: n + 1, delay: 2s}]}], b: {items: [{real: true}]}}
    answers: {ask: ["yes"]}
    decide: {a: [b]}
    models: none.yaml
    tools: {look: {output: 1, events: [{event: text, text: x}]}}
    run: {max_steps: 3, pause_before: [a], session: {n: 1}, labels: {a: b}}
    resume: [{answers: {ask: "no"}, after: 1h}]
    expect: {status: completed, path: {order: [a, b], matches: "^a"}, edges: {fired: on}, where: "n > 0", error: {kind: timeout}, visits: {a: 1}}
    each: [{name: x, input: {n: 2}}, {expect: update}]
`
	f.Add([]byte(whole))
	for _, wrong := range []string{
		"", "a", "graphrun-test: v1", "graphrun-test: v1\ncases: [{}]", "graphrun-test: v1\ncases: [{each: [{}], expect: {}}]",
		"graphrun-test: v1\ncases: 3\ndefaults: []", "graphrun-test: v1\ncases: [{name: {a: b}, stubs: {a: 3, b: {error: {}}, ask: {}}, expect: 3}]",
		"graphrun-test: v1\ncases:\n  - name: a\n    stubs: {a: {error: {kind: 3}}}\n    expect: {path: {a: b}, error: [], edges: {fired: {}}}",
	} {
		f.Add([]byte(wrong))
	}
	dir := writeFolder(f, map[string]string{"flow.yaml": fuzzFlow})
	f.Fuzz(func(t *testing.T, src []byte) {
		file, found, err := flowtest.Parse(flowtest.Config{}, filepath.Join(dir, "flow.test.yaml"), src)
		if err == nil && file == nil && !found.HasErrors() {
			t.Fatal("neither a file nor what is wrong with it")
		}
		for _, d := range found {
			if d.Message == "" || d.Span.From < 0 || d.File == nil || d.Span.From > len(d.File.Src) {
				t.Fatalf("a finding without its place: %+v", d)
			}
		}
	})
}
