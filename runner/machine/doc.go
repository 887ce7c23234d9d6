// Package machine is the core: it decides what a run does next, and does nothing
// itself. Plan.Apply takes a recorded event, changes the State and returns the commands
// that follow. A driver appends the event to the journal, applies it, and carries out
// the commands. There is no input or output here, no clock, goroutine or randomness: the
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
// The end of a run is a status. Tasks and views stay as they are, and Resumed
// continues with them.
package machine
