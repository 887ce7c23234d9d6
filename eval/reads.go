// The paths that a program may read.

package eval

import (
	"slices"
	"strings"
)

// Read is a path that an evaluation may read: a top-level name and the members
// under it. Elements of lists are not told apart: items[0].id reads items.
type Read struct {
	Path []string
	// Dynamic marks a path whose members are read by a computed key.
	Dynamic bool
}

// sortReads sorts reads and drops repeats.
func sortReads(reads []Read) []Read {
	slices.SortFunc(reads, func(a, b Read) int {
		if n := slices.Compare(a.Path, b.Path); n != 0 || a.Dynamic == b.Dynamic {
			return n
		}
		if b.Dynamic {
			return -1
		}
		return 1
	})
	return slices.CompactFunc(reads, func(a, b Read) bool { return a.Dynamic == b.Dynamic && slices.Equal(a.Path, b.Path) })
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
