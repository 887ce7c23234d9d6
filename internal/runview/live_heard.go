// The latest line of a program, at the bottom of the live view.

package runview

import (
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// Listener is a view that shows the latest line of what programs say.
type Listener interface {
	// Heard shows a line, also from another goroutine.
	Heard(line store.LogChunk)
}

// Heard shows the latest line of a program beside its node. What models say comes
// as events.
func (v *Live) Heard(line store.LogChunk) {
	if line.Stream == "text" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range []string{line.Node, withoutElement(line.Place)} {
		if n := v.find(&runner.Event{Node: name}); n != nil {
			n.text, n.streams = line.Text, false
		}
	}
}

// withoutElement is the line that shows the element at a place: its node has one for
// all of them.
func withoutElement(place string) string {
	if at := strings.LastIndexByte(place, '['); at >= 0 && strings.HasSuffix(place, "]") {
		return place[:at]
	}
	return place
}
