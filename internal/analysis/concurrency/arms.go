// Sets of the branches that one node starts.

package concurrency

import "math/bits"

// ArmSet has a bit for each arm of one node.
type ArmSet []uint64

// Add puts an arm in.
func (s ArmSet) Add(i int) { s[i/64] |= 1 << (i % 64) }

// AddAll puts in those of another set of the same node.
func (s ArmSet) AddAll(t ArmSet) {
	for i := range t {
		s[i] |= t[i]
	}
}

// Has reports whether an arm is in.
func (s ArmSet) Has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s ArmSet) meets(t ArmSet) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

func (s ArmSet) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Side is the arms that lead to a child of a fan-out in the tree: one, or a set.
type Side struct {
	Arm int // -1 when Set holds them
	Set ArmSet
}

// Side tells which arms of v lead to its child c.
func (k *Branches) Side(c, v int) Side {
	if c >= k.first {
		return Side{Arm: c - k.armAt[v]}
	}
	return Side{Arm: -1, Set: k.arms(c, v)}
}

// In reports whether one of the arms is in a set.
func (s Side) In(set ArmSet) bool {
	if s.Arm >= 0 {
		return set.Has(s.Arm)
	}
	return set.meets(s.Set)
}

func (s Side) meets(t Side) bool {
	switch {
	case s.Arm >= 0 && t.Arm >= 0:
		return s.Arm == t.Arm
	case s.Arm >= 0:
		return t.Set.Has(s.Arm)
	}
	return t.In(s.Set)
}
