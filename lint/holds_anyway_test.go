package lint

import (
	"testing"

	"github.com/graphrun/graphrun/internal/bigflow"
	"github.com/graphrun/graphrun/spec"
)

// TestUsualConditionsAreCheap: conditions of which nothing tells on the ways to them do not
// have the states of a graph followed, which takes several times as long as all else.
func TestUsualConditionsAreCheap(t *testing.T) {
	for i := range 10 {
		g, found := spec.Parse("flow.yaml", []byte(bigflow.Mixed(50, i)), spec.Options{})
		if found.HasErrors() {
			t.Fatal(found)
		}
		f, _ := checkGraph(g, Options{})
		if f.theReached != nil {
			t.Errorf("flow %d: its states were followed", i)
		}
	}
}
