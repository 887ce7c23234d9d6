// The latest line of a program, at the bottom of the live view.

package cli

import "github.com/graphrun/graphrun/runner"

// listener is a view that shows the latest line of what programs say.
type listener interface {
	heard(line runner.LogChunk)
}

// heard shows the latest line of a program beside its node. What models say comes
// as events.
func (v *liveView) heard(line runner.LogChunk) {
	if line.Stream == "text" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := v.find(&runner.Event{Node: line.Node}); n != nil {
		n.text = line.Text
	}
}
