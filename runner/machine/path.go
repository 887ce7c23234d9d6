// The path of a scope: its finished steps, packed.

package machine

import (
	"encoding/binary"
	"iter"
)

// PathStep is a finished step.
type PathStep struct {
	Node  int   `json:"n"`
	Rank  int   `json:"r"`
	Order []int `json:"o,omitempty"`
}

// stepList is a list of steps. Most take three bytes: the node, the rank as a difference to
// that of the step before, and the length of the order.
type stepList struct {
	Packed []byte `json:"packed"`
	Count  int    `json:"count"`
	Rank   int    `json:"rank"` // of the last step
}

func (l *stepList) add(step PathStep) {
	l.Packed = binary.AppendVarint(l.Packed, int64(step.Node))
	l.Packed = binary.AppendVarint(l.Packed, int64(step.Rank-l.Rank))
	l.Packed = binary.AppendVarint(l.Packed, int64(len(step.Order)))
	for _, at := range step.Order {
		l.Packed = binary.AppendVarint(l.Packed, int64(at))
	}
	l.Rank = step.Rank
	l.Count++
}

// all yields the steps in the order in which they were added.
func (l *stepList) all() iter.Seq[PathStep] {
	return func(yield func(PathStep) bool) {
		var room []int // of several orders
		for rest, step := l.Packed, (PathStep{}); len(rest) > 0; {
			number := func() int {
				n, size := binary.Varint(rest)
				rest = rest[min(max(1, size), len(rest)):]
				return int(n)
			}
			step.Node = number()
			step.Rank += number()
			depth := min(number(), len(rest))
			if len(room) < depth {
				room = make([]int, max(depth, 64))
			}
			step.Order, room = room[:depth:depth], room[depth:]
			for i := range step.Order {
				step.Order[i] = number()
			}
			if !yield(step) {
				return
			}
		}
	}
}
