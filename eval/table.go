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

// find returns the program of that text in that scope, nil when there is none.
func (t *programTable) find(s *Scope, src string, want Want) *Program {
	if t.count == 0 {
		return nil
	}
	return *t.slot(s, src, want)
}

// slot is where a program stands or would stand.
func (t *programTable) slot(s *Scope, src string, want Want) **Program {
	mask := uint64(len(t.slots) - 1)
	for i := maphash.Comparable(t.seed, programKey{s, src, want}); ; i++ {
		p := &t.slots[i&mask]
		if *p == nil || (*p).scope == s && (*p).want == want && (*p).src == src {
			return p
		}
	}
}

// add puts in a program that find has not found.
func (t *programTable) add(p *Program) {
	if 2*(t.count+1) > len(t.slots) {
		old := t.slots
		if old == nil {
			t.seed = maphash.MakeSeed()
		}
		t.slots = make([]*Program, max(16, 2*len(old)))
		for _, p := range old {
			if p != nil {
				*t.slot(p.scope, p.src, p.want) = p
			}
		}
	}
	*t.slot(p.scope, p.src, p.want) = p
	t.count++
}
