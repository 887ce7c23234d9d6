// Frequencies of the features of random graphs.

package referencetest

// Weights holds how often random graphs have a feature, in per cent unless a comment says otherwise.
type Weights struct {
	// Least and Most bound the number of nodes of a graph; Depth bounds the nesting of subgraphs.
	Least, Most, Depth int
	FanOut, Guards     int // several plain edges; edges with a `when`
	Back               int // edges that may lead back
	Join, Quorum       int // nodes with a join; of these: any or a number
	Bypass             int // joins with on_bypass
	// QuorumBypass is for joins of a number with on_bypass, which spec.Check may refuse.
	QuorumBypass      int
	Explicit          int // graphs with parallel.join: explicit
	Graph, Each       int // nodes that run a subgraph; nodes with each
	Wait, Human, Goto int // nodes of these kinds
	Fail              int // of the kind fail
	Retry, MaxVisits  int
	FailureEdges      int
	Policies          int // parallel.on_failure and conflict, of the graph or a node
	Limits            int // low max_steps, timeouts
	Timeouts          int // of attempts, steps and branches
	MaxConcurrency    int
	Finally           int
	Watched           int // graphs with policies
	Breakpoints       int // graphs with pause_before or pause_after
	RoutingAll        int
	// Failing and Asking are the percentages of attempts that fail and ask. In a third of the graphs no
	// attempt does.
	Failing, Asking int
}

// MixedWeights gives graphs that contain every feature.
func MixedWeights() Weights {
	return Weights{
		Least: 3, Most: 9, Depth: 2, FanOut: 45, Guards: 35, Back: 25, Join: 30, Quorum: 25, Bypass: 50, Explicit: 25,
		Graph: 8, Each: 12, Wait: 8, Human: 5, Goto: 6, Fail: 3, Retry: 12, MaxVisits: 10, FailureEdges: 30, Policies: 50,
		Limits: 20, Timeouts: 8, MaxConcurrency: 25, Finally: 10, RoutingAll: 10, Failing: 25, Asking: 8, Watched: 8,
	}
}

// BrokenWeights gives graphs with many failures, failure edges, policies and joins.
func BrokenWeights() Weights {
	return Weights{
		Least: 4, Most: 9, Depth: 1, FanOut: 65, Guards: 20, Back: 10, Join: 45, Quorum: 10, Bypass: 70, QuorumBypass: 50,
		Explicit: 30, Graph: 6, Each: 10, Fail: 3, FailureEdges: 60, Policies: 70, MaxVisits: 5, Failing: 50,
	}
}

// UntimedWeights gives graphs whose results do not depend on timing: they have no quorums, limits,
// timeouts or cancellations.
func UntimedWeights() Weights {
	w := MixedWeights()
	w.Quorum, w.Limits, w.Timeouts, w.Failing, w.Fail = 0, 0, 0, 15, 2
	return w
}

// DeepWeights gives graphs with few nodes and three levels of subgraphs.
func DeepWeights() Weights {
	w := MixedWeights()
	w.Least, w.Most, w.Depth, w.Graph, w.Each = 2, 5, 3, 35, 20
	return w
}

// BranchyWeights gives graphs with many branches and joins, and no other feature.
func BranchyWeights() Weights {
	return Weights{Least: 4, Most: 9, FanOut: 70, Guards: 30, Back: 25, Join: 50, Bypass: 30, Explicit: 50, Policies: 40, Goto: 5, RoutingAll: 10}
}
