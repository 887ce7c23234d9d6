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
	// Onward is how the other flow goes on with what is recorded; nil: there is none.
	Onward *Onward `json:"onward,omitempty"`
}

// Onward is how another version of a graph goes on with what is recorded: what an
// execution gave then is what the same visit gives now.
type Onward struct {
	// Path are the nodes in the order of their executions, from the beginning.
	Path []string `json:"path"`
	// End is the status and reason that it comes to; empty: it comes to no end,
	// because nothing is recorded of Needs.
	End string `json:"end,omitempty"`
	// Needs are the executions, as "node #visit", that it would need.
	Needs []string `json:"needs,omitempty"`
	// Renamed are nodes whose recordings another node takes that is defined alike.
	Renamed map[string]string `json:"renamed,omitempty"`
}
