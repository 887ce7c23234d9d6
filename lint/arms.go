// Sets of the branches that one node starts.

package lint

import "math/bits"

// armSet has a bit for each arm of one node.
type armSet []uint64

func (s armSet) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s armSet) addAll(t armSet) {
	for i := range t {
		s[i] |= t[i]
	}
}

func (s armSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s armSet) meets(t armSet) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

func (s armSet) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// side is the arms that lead to a child of a branching node: one, or a set.
type side struct {
	arm int // -1 when set holds them
	set armSet
}

func (k *forks) side(c, v int) side {
	if c >= k.first {
		return side{arm: c - k.armAt[v]}
	}
	return side{arm: -1, set: k.arms(c, v)}
}

func (s side) in(set armSet) bool {
	if s.arm >= 0 {
		return set.has(s.arm)
	}
	return set.meets(s.set)
}

func (s side) meets(t side) bool {
	switch {
	case s.arm >= 0 && t.arm >= 0:
		return s.arm == t.arm
	case s.arm >= 0:
		return t.set.has(s.arm)
	}
	return t.in(s.set)
}

