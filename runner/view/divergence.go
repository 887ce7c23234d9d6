// Differences between a record and another walk.

package view

// Divergence is the first place where a walk leaves the record.
type Divergence struct {
	// Step and Node are the execution that led elsewhere, if there is one.
	Step int    `json:"step,omitempty"`
	Node string `json:"node,omitempty"`
	// Recorded and Now are the nodes that followed then, and follow now.
	Recorded []string `json:"recorded"`
	Now      []string `json:"now"`
	// RecordedEdges and NowEdges are the indexes of the fired edges in each graph; -1 is a label of ends.
	RecordedEdges []int `json:"recorded_edges,omitempty"`
	NowEdges      []int `json:"now_edges,omitempty"`
	// Why gives the reasons now, with values from conditions, RecordedWhy the recorded ones.
	Why         []string `json:"why"`
	RecordedWhy []string `json:"recorded_why,omitempty"`
	// NeverRan are the nodes of Now that the recorded run never ran.
	NeverRan []string `json:"never_ran,omitempty"`
}
