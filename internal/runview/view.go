// Package runview shows people what a run does: a trace with a line per step, a live view
// on a terminal, plain lines where there is none, and what programs said.
package runview

import "github.com/graphrun/graphrun/runner"

// View shows a run to a person while it goes on. Its methods may be called from several
// goroutines.
type View interface {
	// Event takes what happens in the run.
	Event(e *runner.Event)
	// Note shows a remark of the program itself.
	Note(text string)
	// Hold keeps the view from writing until release is called.
	Hold() (release func())
	// Close shows what is left and leaves the terminal as it was.
	Close()
}
