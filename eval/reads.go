// What a program may read.

package eval

import (
	"slices"
	"strings"
)

// Read is a path that an evaluation may read: a top-level name and the members
// under it. Elements of lists are not told apart: items[0].id reads items.
type Read struct {
	Path []string
	// Dynamic says that some member of the path's end is read by a computed key.
	Dynamic bool
}

// readSet collects reads without repeats.
type readSet []Read

func (s *readSet) add(r Read) {
	for _, have := range *s {
		if have.Dynamic == r.Dynamic && slices.Equal(have.Path, r.Path) {
			return
		}
	}
	*s = append(*s, r)
}

// sorted leaves what is sorted untouched: a program's reads may be those of a
// template too.
func (s readSet) sorted() []Read {
	if !slices.IsSortedFunc(s, compareReads) {
		slices.SortFunc(s, compareReads)
	}
	return s
}

func compareReads(a, b Read) int {
	if n := slices.Compare(a.Path, b.Path); n != 0 {
		return n
	}
	switch {
	case a.Dynamic == b.Dynamic:
		return 0
	case b.Dynamic:
		return -1
	}
	return 1
}

// String joins the path by dots, with a star at the end for a computed key.
func (r Read) String() string {
	out := strings.Join(r.Path, ".")
	if r.Dynamic {
		out += ".*"
	}
	return out
}

// uses reports whether a top-level name is read; a root read as a whole reads
// every name.
func uses(reads []Read, roots []string, name string) bool {
	return slices.ContainsFunc(reads, func(r Read) bool {
		return r.Path[0] == name || len(r.Path) == 1 && slices.Contains(roots, r.Path[0])
	})
}

// whole reports whether a top-level name is read as a whole or by a computed key.
func whole(reads []Read, roots []string, name string) bool {
	return slices.ContainsFunc(reads, func(r Read) bool {
		return len(r.Path) == 1 && (r.Path[0] == name || slices.Contains(roots, r.Path[0]))
	})
}
