// Package machine is the core: it decides what a run does next, and does nothing
// itself. Plan.Apply takes a recorded event, changes the State and returns the
// commands that follow; a driver appends the event first and carries the commands
// out after. There is no input or output here, no clock, goroutine or chance, so
// that the same events always give the same states and commands.
//
// The files follow GraphSpec, an idea each; what belongs to one idea shares the
// beginning of its name. Where an idea has data of its own, it stands in a file
// ending in _state.go, beside the form that it takes in snapshots.
//
//	apply          from an event to a transition: the table to begin with
//	event, command what goes in, what comes out; note: what a watcher is told
//	begin, ending  the ends of a run; failure: what a failed node says
//	plan           the graph compiled for walking, and how it is built
//	state          what a run holds: context of expressions, memory, writes (§3)
//	step           supersteps: enter, execute, close, move on to the next (§5)
//	edge           which edges fire, dynamic routing, and why one did not (§6)
//	fanout         branches: how they begin, fail, run out of time (§7)
//	join           barriers, branches that bypass them (§7)
//	each           a node once per element of a list (§7)
//	wait           what parks, until when
//	people         questions and answers (§4); pause: breakpoints, going on
//	retry          another attempt; cache: none is needed (§4)
//	conversation   the messages that models see (§9)
//	policy         properties that every path keeps (§10)
//	limit          time, visits, steps, and what calls of models came to (§2)
//	finally        the nodes that run when the end is decided (§2)
//	snapshot       the whole state as JSON, and back
package machine
