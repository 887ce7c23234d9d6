// Graphs as tools.

package handler

// GraphCall is a call of a graph as a tool.
type GraphCall struct {
	// File is the graph, as the file's tools name it.
	File string
	// With is the graph's input, by state key.
	With map[string]any
	// Number identifies the call in its task, also in another run. Key is its idempotency key.
	Number int
	Key    string
}
