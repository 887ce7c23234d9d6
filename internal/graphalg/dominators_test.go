package graphalg

import (
	"math/rand"
	"testing"
)

// A vertex covers another if the root does not reach the other without it. The test computes
// this definition on random graphs.
func TestDominatorsAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 2000 {
		n := 1 + rng.Intn(9)
		var from, to []int
		for range rng.Intn(3 * n) {
			from, to = append(from, rng.Intn(n)), append(to, rng.Intn(n))
		}
		g := New(n, from, to)
		tree := g.Dominators(0)
		reach := g.Reach(0)
		for v := range n {
			if (tree.index[v] >= 0) != reach[v] {
				t.Fatalf("%v→%v: reached(%d) = %v", from, to, v, !reach[v])
			}
			var f, o []int
			for i := range from {
				if from[i] != v && to[i] != v {
					f, o = append(f, from[i]), append(o, to[i])
				}
			}
			without := New(n, f, o).Reach(0)
			for w := range n {
				want := reach[v] && reach[w] && (v == w || v == 0 || !without[w])
				if got := tree.Dominates(v, w); got != want {
					t.Fatalf("%v→%v: covers(%d, %d) = %v, want %v", from, to, v, w, got, want)
				}
			}
		}
		for v := range n {
			for w := range n {
				if reach[v] && reach[w] {
					checkCommon(t, tree, v, w)
				}
			}
		}
		if len(tree.Order) > 0 && tree.Order[0] != 0 {
			t.Fatalf("the root is not first: %v", tree.Order)
		}
	}
}

func TestDominatorsOfLongChain(t *testing.T) {
	const n = 100_000
	var from, to []int
	for v := range n - 1 {
		from, to = append(from, v, v), append(to, v+1, n-1)
	}
	tree := New(n, from, to).Dominators(0)
	if tree.Parent[n-1] != 0 || tree.Parent[n-2] != n-3 {
		t.Errorf("parents %d, %d", tree.Parent[n-1], tree.Parent[n-2])
	}
}

// checkCommon compares the fast walks with those from parent to parent.
func checkCommon(t *testing.T, tree *Tree, v, w int) {
	t.Helper()
	x := v
	for !tree.Dominates(x, w) {
		x = tree.Parent[x]
	}
	if got := tree.CommonDominator(v, w); got != x {
		t.Fatalf("common(%d, %d) = %d, want %d", v, w, got, x)
	}
}
