package flowtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/spec"
)

// An edge that seems within reach and never fires (n2 → n3, behind values that nothing
// gives) keeps the search from no other: the failures of n3 are tried, too.
func TestEdgeThatSeemsWithinReach(t *testing.T) {
	const flow = `graphrun: v1
name: around
start: n0
limits: {max_steps: 30}
state:
  n: {type: integer, minimum: 0, maximum: 5, default: 0}
  ok: {type: boolean, default: false}
  cat: {type: string, enum: [a, b, c], default: a}
  s: {type: string, default: ""}
  tags: {type: array, items: {type: string}, default: []}
  score: {type: number, minimum: 0, maximum: 1, default: 0}
  count: {type: integer, default: 0}
nodes:
  n0: {kind: exec, command: ["false"], writes: [ok], timeout: 1m}
  n1: {kind: exec, command: ["false"], writes: [s], timeout: 1m}
  n2: {kind: exec, command: ["false"], writes: [tags], timeout: 1m}
  n3: {kind: exec, command: ["false"], parse: json, writes: [n, cat], timeout: 1m, output: {type: object, properties: {n: {type: integer, minimum: 0, maximum: 5}, cat: {enum: [a, b, c]}}, required: [n, cat]}}
  n4: {kind: set, set: {ok: not ok}}
edges:
  - {from: n0, when: "n < 0", to: n2}
  - {from: n0, when: "len(tags) == 0 and score > 0.25", to: n1}
  - {from: n0, to: END}
  - {from: n1, to: n3}
  - {from: n2, when: "cat in ['a', 'c']", to: n3}
  - {from: n2, to: n3}
  - {from: n3, when: "cat != 'b' and cat in ['a', 'c']", to: n2}
  - {from: n3, to: n4}
  - {from: n3, condition: on_failure, when: "error.kind == 'timeout'", to: n4}
  - {from: n3, condition: on_failure, to: END}
  - {from: n4, when: "count < 1", to: END}
  - {from: n4, to: n3}
`
	g, found := spec.Parse("around.yaml", []byte(flow), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, line := range made.Missing {
		missing = append(missing, line[:len("n0 -> n2")])
	}
	if diff := cmp.Diff([]string{"n0 -> n2", "n2 -> n3"}, missing); diff != "" {
		t.Errorf("edges that no case covers (-want +got):\n%s%q", diff, made.Missing)
	}
}
