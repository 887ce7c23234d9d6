package graphalg

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func build(n int, edges ...[2]int) *Digraph {
	var from, to []int
	for _, e := range edges {
		from, to = append(from, e[0]), append(to, e[1])
	}
	return New(n, from, to)
}

func TestNextKeepsOrder(t *testing.T) {
	g := build(3, [2]int{2, 1}, [2]int{0, 2}, [2]int{2, 0}, [2]int{0, 1}, [2]int{0, 0})
	if got, want := [][]int{g.Next(0), g.Next(1), g.Next(2)}, [][]int{{2, 1, 0}, {}, {1, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := g.Reverse().Next(0), []int{0, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("reversed: got %v, want %v", got, want)
	}
}

func TestReach(t *testing.T) {
	g := build(5, [2]int{0, 1}, [2]int{1, 0}, [2]int{1, 2}, [2]int{3, 4})
	if got, want := g.Reach(1), []bool{true, true, true, false, false}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := g.Reach(), make([]bool, 5); !reflect.DeepEqual(got, want) {
		t.Errorf("from nowhere: got %v", got)
	}
}

func TestLongPath(t *testing.T) {
	const n = 200_000
	from, to := make([]int, n), make([]int, n)
	for i := range n {
		from[i], to[i] = i, (i+1)%n
	}
	if _, count := New(n, from, to).SCC(); count != 1 {
		t.Errorf("%d components of a ring", count)
	}
}

// On random graphs, two vertices share a component exactly when each reaches the other, and
// numbers fall along edges.
func TestSCC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(9)
		var edges [][2]int
		for range r.IntN(2 * n) {
			edges = append(edges, [2]int{r.IntN(n), r.IntN(n)})
		}
		g := build(n, edges...)
		of, count := g.SCC()
		used := make([]bool, count)
		for v := range n {
			used[of[v]] = true
			for w := range n {
				if same, mutual := of[v] == of[w], g.Reach(v)[w] && g.Reach(w)[v]; same != mutual {
					t.Fatalf("%v: %d and %d: same %v, mutual %v", edges, v, w, same, mutual)
				}
			}
			for _, w := range g.Next(v) {
				if of[w] > of[v] {
					t.Fatalf("%v: component %d leads to %d", edges, of[v], of[w])
				}
			}
		}
		for i, u := range used {
			if !u {
				t.Fatalf("%v: nothing in component %d", edges, i)
			}
		}
	}
}
