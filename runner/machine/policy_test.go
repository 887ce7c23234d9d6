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
