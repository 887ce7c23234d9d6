// Graphs as tools.

package handler

// GraphCall is a call of a graph as a tool.
type GraphCall struct {
	// File is the graph, as the file's tools name it.
	File string
	// With is the graph's input, by state key.
	With map[string]any
	// Number tells the calls of a task apart, and stays the same when the task
	// runs again; Key is the call's idempotency key.
	Number int
	Key    string
}
