// How far a node with each is.

package runview

import (
	"fmt"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
)

// elements counts the elements of a node that have ended.
type elements struct {
	done, failed, total int
	last                string // the element that ended last
}

const maxItem = 40 // columns of an element

// elementsOf is what a node says when an element of it has ended.
func elementsOf(s *runner.Said) *elements {
	data, _ := s.Data.(map[string]any)
	number := func(key string) int {
		n, _ := data[key].(int)
		return n
	}
	e := &elements{done: number("done"), failed: number("failed"), total: number("total")}
	e.last = ValueText(data["item"], maxItem)
	if data["outcome"] == "failure" {
		e.last += " failed"
	}
	return e
}

// String is the count for the end of a line: "4 elements, 1 failed".
func (e *elements) String() string {
	s := terminal.Count(e.total, "element")
	if e.done < e.total {
		s = fmt.Sprintf("%d of %s", e.done, s)
	}
	if e.failed > 0 {
		s += fmt.Sprintf(", %d failed", e.failed)
	}
	return s
}

// progress is the count while the node runs: `3 of 4, 1 failed; last "c" failed`.
func (e *elements) progress() string {
	s := fmt.Sprintf("%d of %d", e.done, e.total)
	if e.failed > 0 {
		s += fmt.Sprintf(", %d failed", e.failed)
	}
	return s + "; last " + e.last
}
