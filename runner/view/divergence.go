// Where another walk leaves what is recorded.

package view

// Divergence is the first place where a walk leaves what is recorded.
type Divergence struct {
	// Step and Node are the execution that led elsewhere; zero when it was not
	// one that did.
	Step int    `json:"step,omitempty"`
	Node string `json:"node,omitempty"`
	// Recorded and Now are where it led, or the nodes that were to run.
	Recorded []string `json:"recorded"`
	Now      []string `json:"now"`
	// RecordedEdges and NowEdges are the edges that fired, by their index in the
	// graph of either walk; -1: a label of ends.
	RecordedEdges []int `json:"recorded_edges,omitempty"`
	NowEdges      []int `json:"now_edges,omitempty"`
	// Why says what happened, with the values that conditions read now;
	// RecordedWhy, what happened then.
	Why         []string `json:"why"`
	RecordedWhy []string `json:"recorded_why,omitempty"`
	// NeverRan are those of Now that no part of the record ran: what they would
	// give is not known.
	NeverRan []string `json:"never_ran,omitempty"`
}
