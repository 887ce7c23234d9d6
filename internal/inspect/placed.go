// Telling apart what runs at once in subgraphs of the elements of a list.

package inspect

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner"
)

// Placed is an event whose nodes are named with the elements that they are inside,
// s[1]/write: the same subgraph runs for several elements at once. The event itself
// stays as it is.
func Placed(e *runner.Event) *runner.Event {
	if e.Place == "" {
		return e
	}
	own := *e
	around := e.Place
	if e.Node != "" {
		own.Node, around = e.Place, e.Place[:max(0, strings.LastIndexByte(e.Place, '/'))]
	}
	inside := func(names []string) []string {
		names = slices.Clone(names)
		for i, name := range names {
			if at := strings.LastIndexByte(name, '/'); at >= 0 {
				names[i] = around + name[at:]
			}
		}
		return names
	}
	own.From, own.Next = inside(e.From), inside(e.Next)
	return &own
}
