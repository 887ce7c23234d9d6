// Generated cases against all runs of small graphs.

package flowtest_test

import (
	"context"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// everyRun fires what it fires of a small graph: all sets of edges of all runs with
// the values of domains. ok is false when there are too many.
func (m *guarded) everyRun(t *testing.T, g *spec.Graph) (sets map[uint64]bool, ok bool) {
	t.Helper()
	all := domains()
	var prefix, taken, widths []int
	choose := func(options int) int {
		at := 0
		if len(taken) < len(prefix) {
			at = prefix[len(taken)]
		}
		taken, widths = append(taken, at), append(widths, options)
		return at
	}
	kind := func(name string) runner.Kind {
		return runner.Kind{Spec: spec.Kind{Name: name, Keys: keysOfKind(name)}, Handler: runner.HandlerFunc(func(_ context.Context, task *runner.Task) (any, error) {
			if name == "stub" { // a person
				return all["cat"][choose(2)], nil
			}
			values := all[strings.TrimPrefix(m.kinds[task.Node], "exec ")]
			at := choose(len(values) + 2)
			switch at - len(values) {
			case 0:
				return nil, &runner.Failure{Kind: "exit_status", Message: "no", Details: map[string]any{"exit_code": 2}}
			case 1:
				return nil, &runner.Failure{Kind: "timeout", Message: "no", Details: map[string]any{"exit_code": 0}}
			}
			return values[at], nil
		})}
	}
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{kind("exec"), kind("stub")}})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := r.Prepare(g)
	if err != nil {
		t.Fatal(err)
	}
	sets = map[uint64]bool{}
	for range 6000 {
		taken, widths = taken[:0], widths[:0]
		input := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			input[key] = all[key][choose(len(all[key]))]
		}
		result, err := flow.Run(t.Context(), runner.Options{Input: input})
		if err != nil {
			t.Fatal(err)
		}
		var set uint64
		for _, e := range result.Edges.All() {
			if e.Fired > 0 {
				set |= 1 << e.Index
			}
		}
		if result.Error == nil || result.Error.Kind != "expression" {
			sets[set] = true
		}
		at := len(taken) - 1
		for at >= 0 && taken[at]+1 == widths[at] {
			at--
		}
		if at < 0 {
			return sets, true
		}
		prefix = append(append(prefix[:0], taken[:at]...), taken[at]+1)
	}
	return nil, false
}

func keysOfKind(name string) []spec.Key {
	for _, k := range spec.BuiltinKinds() {
		if k.Name == name {
			return k.Keys
		}
	}
	return nil
}

// fewest is how many of some sets have all that they have together.
func fewest(sets map[uint64]bool) (count int, all uint64) {
	for set := range sets {
		all |= set
	}
	reached := map[uint64]bool{0: true}
	for !reached[all] {
		next := map[uint64]bool{}
		for have := range reached {
			for set := range sets {
				next[have|set] = true
			}
		}
		reached = next
		count++
	}
	return count, all
}

// On small graphs the set is a smallest one of all that runs allow.
func TestGeneratedCasesAreFewest(t *testing.T) {
	count, seed := graphs(25)
	flows, more, cases, edges := 0, 0, 0, 0
	for i := 0; flows < count; i++ {
		m := &guarded{Rand: rand.New(rand.NewPCG(seed+1, uint64(i)))}
		m.graph(2+m.IntN(3), 4, true)
		text := m.plain()
		g, found := spec.Parse("random.yaml", []byte(text), spec.Options{})
		if found = append(found, spec.Check(g)...); found.HasErrors() {
			continue
		}
		asked, _ := spec.Parse("random.yaml", []byte(strings.ReplaceAll(text, "kind: human, prompt: go on?, choices: [a, b]", "kind: stub")), spec.Options{Kinds: []spec.Kind{{Name: "stub"}}})
		sets, ok := m.everyRun(t, asked)
		if !ok {
			continue
		}
		flows++
		want, all := fewest(sets)
		made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
		if err != nil {
			t.Fatal(err)
		}
		if made.Edges != bits.OnesCount64(all) || made.Cases > want {
			t.Errorf("graph %d: %d cases fire %d edges, all runs together fire %d, %d of them are enough\n%s\n%s", i, made.Cases, made.Edges, bits.OnesCount64(all), want, text, made.Text)
		}
		if made.Cases < want {
			more++
		}
		cases, edges = cases+made.Cases, edges+made.Edges
	}
	t.Logf("%d cases fire %d edges of %d graphs, all that can fire; fewer are not enough", cases, edges, flows)
	if more > 0 {
		t.Errorf("%d sets are smaller than all runs allow", more)
	}
}
