package solve

import (
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// The length of what is not known is not known, whatever stands in its place.
func TestPartialLength(t *testing.T) {
	w := newWorld()
	p, err := w.scope.Compile("len(list) <= 1", eval.Condition)
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []bool{false, true} {
		value, decided := Partial(p.Tree(), func([]string) (any, bool) { return "three", known })
		if decided != known || known && value != false {
			t.Errorf("known %v: %v, %v", known, value, decided)
		}
	}
}
