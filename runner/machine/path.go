// The path of a scope: its finished steps.

package machine

import "iter"

// PathStep is a finished step.
type PathStep struct {
	Node  int   `json:"n"`
	Rank  int   `json:"r"`
	Order []int `json:"o,omitempty"`
}

// stepList is a list of steps. A step is stored as its node, its rank minus the previous rank,
// and its order after its length.
type stepList struct {
	Flat []int `json:"flat"`
	Rank int   `json:"rank"` // of the last step
}

func (l *stepList) addStep(node, rank int, order []int) {
	l.Flat = append(append(l.Flat, node, rank-l.Rank, len(order)), order...)
	l.Rank = rank
}

// all yields the steps in the order in which they were added.
func (l *stepList) all() iter.Seq[PathStep] {
	return func(yield func(PathStep) bool) {
		rank := 0
		for rest := l.Flat; len(rest) > 0; {
			end := 3 + rest[2]
			rank += rest[1]
			if !yield(PathStep{rest[0], rank, rest[3:end:end]}) {
				return
			}
			rest = rest[end:]
		}
	}
}
