// Package machine is the core: it decides what a run does next, and has no effects itself. Plan.Apply
// takes a recorded event, changes the State and returns the commands that follow. A driver appends the
// event to the journal, applies it, and executes the commands. The package uses no I/O, clock,
// goroutine or randomness, so the same events always give the same states and commands.
//
// # How a run works
//
// A Task is the end of a branch. It is at a node: it is ready to run, runs, or waits for other
// branches. The steps that led to a task are its past. State keys, visits, history and conversation are
// functions of that past (GraphSpec §5), and a View holds them. A task outside of any fan-out uses the
// root view of its scope. A fan-out gives each of its branches a copy of the view at the split, which
// also keeps the steps of the branch since then. A join takes the steps of all branches that arrived,
// sorts them into merge order and applies their writes to a new view (§7).
//
// A step without effects (set, pass, fail) runs within Apply. All others become commands, and end with
// an event. A step waits only for its own past. A subgraph is a Scope: it has its own tasks, views and
// limits, in the same State.
//
// The end of a run is a status. Tasks and views stay as they are, and Resumed continues with them.
package machine
