// Package machine is the core: it decides what a run does next, and does nothing
// itself. Plan.Apply takes a recorded event, changes the State and returns the commands
// that follow. A driver appends the event to the journal, applies it, and carries out
// the commands. There is no input or output here, no clock, goroutine or chance: the
// same events always give the same states and commands.
//
// # How a run goes
//
// A Task is the end of a branch: it stands at a node, is ready to run it, runs it, or
// waits there for others. What led to a task is its past; state keys, visits, history
// and conversation are functions of that past (GraphSpec §5). A View holds them. A task
// outside of any fan-out stands on the root view of its scope. A fan-out gives each of
// its branches a view of its own, a copy of the one at the split, which also keeps the
// steps of the branch since then. A join takes the steps of all branches that arrived,
// sorts them into merge order and folds what they wrote into a new view (§7).
//
// A step without effects (set, pass, fail) runs within Apply. All others become
// commands, and end with an event: nothing waits for anything but its own past.
// A subgraph is a Scope: it has tasks, views and limits of its own, in the same State.
//
// The end of a run is a status. Tasks and views stay as they are, so that Resumed goes
// on with them.
//
// # Files
//
//	apply               from an event to a transition: the table to begin with
//	event, command      input and output; note: facts for observers
//	plan, build         the graph compiled; graph: what its edges alone tell
//	state, scope, task  the data of a run
//	view, conflict      the state and results of a past, merging (§5, §7)
//	context             what expressions see (§8); write, reduce: changes of the state (§3)
//	step, attempt, each executions, tries, elements (§4, §5)
//	route, goto         which edges fire (§6); explain: why one did not
//	join, branch        barriers; what a failing branch does (§7)
//	people              questions and answers (§4)
//	retry, cache        another attempt; none at all (§4)
//	conversation        the messages that models see (§9)
//	policy              properties that every path keeps (§10)
//	limit, usage        time, steps, size, calls of models (§2)
//	ending, finally     how a run ends; pause: how it rests and goes on
//	snapshot            the state as JSON, and back
package machine
