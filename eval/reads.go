// The paths that a program or a template may read.

package eval

import (
	"cmp"
	"slices"
	"strings"
)

// Read is a path that an evaluation may read: a top-level name and the members
// under it. Elements of lists count as the list: items[0].id reads items.
type Read struct {
	Path []string
	// Dynamic marks a path whose members are read by a computed key.
	Dynamic bool
}

// String joins the path by dots, with a star at the end for a computed key.
func (r Read) String() string {
	out := strings.Join(r.Path, ".")
	if r.Dynamic {
		out += ".*"
	}
	return out
}

// sortReads sorts reads and drops repeats.
func sortReads(reads []Read) []Read {
	compare := func(a, b Read) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), strings.Compare(a.String(), b.String()))
	}
	slices.SortFunc(reads, compare)
	return slices.CompactFunc(reads, func(a, b Read) bool { return compare(a, b) == 0 })
}

// ReadSet holds the paths that an evaluation may read.
type ReadSet struct {
	// Reads are the paths, sorted. They must not be changed.
	Reads []Read
	roots []string // of the scope
}

// Uses reports whether the top-level name may be read, alone or by a whole root.
func (s *ReadSet) Uses(name string) bool {
	return slices.ContainsFunc(s.Reads, func(r Read) bool { return r.Path[0] == name }) || s.UsesWhole(name)
}

// UsesWhole reports whether all of the top-level name may be read.
func (s *ReadSet) UsesWhole(name string) bool {
	return slices.ContainsFunc(s.Reads, func(r Read) bool {
		return len(r.Path) == 1 && (r.Path[0] == name || slices.Contains(s.roots, r.Path[0]))
	})
}
