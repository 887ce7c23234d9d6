// The programs that a compiler has made, to be found by their texts.

package eval

import "hash/maphash"

// programTable is a hash table of programs with linear probing. The programs
// hold their keys themselves, which a map would hold again.
type programTable struct {
	seed  maphash.Seed
	slots []*Program // a power of two, at most half of them taken
	count int
}

// programKey identifies a compiled program.
type programKey struct {
	scope *Scope
	src   string
	want  Want
}

// find returns the program of that text in that scope, nil when there is none,
// and the hash that add wants to find in it.
func (t *programTable) find(s *Scope, src string, want Want) (*Program, uint64) {
	if t.slots == nil {
		t.seed, t.slots = maphash.MakeSeed(), make([]*Program, 16)
	}
	hash := maphash.Comparable(t.seed, programKey{s, src, want})
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; t.slots[i] != nil; i = (i + 1) & mask {
		if p := t.slots[i]; p.hash == hash && p.scope == s && p.want == want && p.src == src {
			return p, hash
		}
	}
	return nil, hash
}

// add puts in a program that find has not found.
func (t *programTable) add(p *Program) {
	if 2*(t.count+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]*Program, 2*len(old))
		for _, p := range old {
			if p != nil {
				t.put(p)
			}
		}
	}
	t.put(p)
	t.count++
}

// put takes the first free slot from where the program belongs.
func (t *programTable) put(p *Program) {
	mask := uint64(len(t.slots) - 1)
	i := p.hash & mask
	for t.slots[i] != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = p
}
