// Pieces of what programs and models said.

package store

import "time"

// LogChunk is a piece of what a program or a model said.
type LogChunk struct {
	// Seq is its place in the log of the run, from 1.
	Seq  int64
	Time time.Time
	// Node is the path of the node, Place that of the task; see runner.Task.Place.
	Node    string
	Place   string
	Visit   int
	Attempt int
	// Source is the tool or the server of tools that spoke; "": the node's own
	// program or model.
	Source string
	// Stream is "stdout", "stderr" or "text".
	Stream string
	// Call tells streams of the same name apart.
	Call int64
	// Offset is how many bytes of the stream came before. A chunk that does not
	// begin where the one before it ended says that what was between is not kept:
	// runner.Runner.Logs says in Cut how many bytes that is.
	Offset int64
	Cut    int64
	Text   string
	// End says that the stream has ended with this chunk, whose text may be empty.
	End bool
}
