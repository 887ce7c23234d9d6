package machine_test

import (
	"fmt"
	"testing"

	"github.com/graphrun/graphrun/runner/machine"
)

// max_concurrency on a node bounds the elements of its each, and leaves the room to
// others.
func TestEachAtOnce(t *testing.T) {
	for _, c := range []struct {
		node, run int
		most      map[string]int // tasks that run at once, by node
		took      float64
	}{
		{node: 2, run: 16, most: map[string]int{"a": 2, "b": 5}, took: 3},
		{node: 2, run: 3, most: map[string]int{"a": 2, "b": 3}, took: 4},
		{node: 9, run: 4, most: map[string]int{"a": 4, "b": 4}, took: 3},
		{node: 1, run: 16, most: map[string]int{"a": 1, "b": 5}, took: 6},
	} {
		t.Run(fmt.Sprint(c.node, " of ", c.run), func(t *testing.T) {
			plan := build(t, head+fmt.Sprintf(`limits: {max_concurrency: %d}
nodes:
  a: {kind: pass}
  e: {kind: exec, command: [x], each: '1..6', max_concurrency: %d, retry: {max_attempts: 2, initial_interval: 0s}}
  b: {kind: exec, command: [x], each: '1..5'}
edges: [{from: a, to: [e, b]}, {from: [e, b], to: END}]
`, c.run, c.node))
			live, most := map[string]int{}, map[string]int{}
			s := newSim(t, plan, func(machine.TaskID, int) reply { return after(1, nil) })
			s.told = func(cmd machine.Command) { // of the one that begins; those that run are in live
				clear(live)
				live[cmd.Task.Node]++
				for id := range s.live {
					if id != cmd.Task {
						live[id.Node]++
					}
				}
				for node, n := range live {
					most[node] = max(most[node], n)
				}
			}
			s.run(machine.RunInfo{}, nil)
			s.replay(true)
			throughSnapshots(t, plan, s.events)
			if most["e"] != c.most["a"] || most["b"] > c.most["b"] || most["b"] == 0 || s.now.Seconds() != c.took {
				t.Errorf("at once %v, took %v; want %v, %v s", most, s.now, c.most, c.took)
			}
		})
	}
}
