package machine_test

import (
	"fmt"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// A node that is still at work, or waits for a person, has approved nothing.
func TestRequiredNodeHasEnded(t *testing.T) {
	const flow = `policies: [{require: b, before: d}]
nodes:
  a: {kind: pass}
  b: {kind: %s}
  c: {kind: exec, command: [x]}
  d: {kind: pass%s}
edges:
  - {from: a, to: [b, c]}
  - {from: b, to: %s}
  - {from: c, to: d}
  - {from: d, to: END}`
	violated := simCase{status: machine.Failed, quality: machine.FailedQuality, reason: "policy", path: "a c", kind: "policy", at: "d", says: "only after"}
	for name, c := range map[string]struct {
		flow string
		want simCase
	}{
		"parked beside it": {fmt.Sprintf(flow, `human, prompt: "?"`, "", "END"), violated},
		"taken away":       {fmt.Sprintf(flow, `human, prompt: "?"`, ", join: {wait: any}", "d"), violated},
		"waited for":       {fmt.Sprintf(flow, `human, prompt: "?"`, ", join: {wait: all}", "d"), simCase{quality: machine.Clean, path: "a c b d"}},
	} {
		c.want.name, c.want.flow = name, c.flow
		c.want.answers = map[string]reply{"b": after(5, "yes")}
		t.Run(name, c.want.run)
	}
}

// Only a visit that ended well counts: a failed one has approved nothing.
func TestRequiredNodeHasSucceeded(t *testing.T) {
	const flow = `policies: [{require: b, before: %s}]
nodes:
  a: {kind: pass}
  b: {kind: exec, command: [x], retry: {max_attempts: 1}%s}
  d: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: %s}
  - {from: b, to: %s, condition: on_failure}
  - {from: d, to: END}`
	bad := simCase{status: machine.Failed, quality: machine.FailedQuality, reason: "policy", path: "a b", kind: "policy", says: "has succeeded"}
	good := simCase{quality: machine.Degraded}
	red, mended := once(fails(1)), once(fails(1), after(1, nil))
	for name, c := range map[string]struct {
		flow string
		b    []reply
		path string
		want simCase
	}{
		"failed before a node":   {fmt.Sprintf(flow, "d", "", "d", "d"), red, "a b", bad},
		"failed before END":      {fmt.Sprintf(flow, "END", "", "END", "d"), red, "a b d", bad},
		"failed, then succeeded": {fmt.Sprintf(flow, "d", "", "d", "a"), mended, "a b a b d", good},
		"succeeded at last":      {fmt.Sprintf(flow, "END", "", "END", "a"), mended, "a b a b", good},
		"skipped": {
			fmt.Sprintf(flow, "d", ", max_visits: 1, on_max_visits: skip", "d", "a"), red, "a b a b", bad,
		},
	} {
		c.want.name, c.want.flow, c.want.path = name, c.flow, c.path
		c.want.replies = replies{"b": c.b}
		t.Run(name, c.want.run)
	}
}

// A visit that max_visits refuses does not take place: what may never hold at its node is
// not asked, and its step is that of the visit before it.
func TestRefusedVisitHasNoStep(t *testing.T) {
	simCase{
		name: "refused", path: "a b b c", quality: machine.Degraded,
		flow: `policies: [{never: "step < 2", at: b}]
nodes:
  a: {kind: pass}
  b: {kind: pass, max_visits: 2}
  c: {kind: pass}
  d: {kind: pass}
edges:
  - {from: a, to: b}
  - {from: b, to: c, condition: on_failure, when: "step == 3"}
  - {from: b, to: d, condition: on_failure}
  - {from: b, to: b}
  - {from: [c, d], to: END}`,
	}.run(t)
}
