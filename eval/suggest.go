// Suggestions for misspelt names.

package eval

import (
	"fmt"
	"slices"
	"strings"
)

// nearest returns the known name closest to name, or "" when none is close: at
// most one edit per three characters. Of equally close names the first wins.
func nearest(name string, known []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return k
		}
		if len(name) == 1 && len(k) == 1 {
			continue // any letter would do
		}
		if d := distance(name, k, bestDistance); d < bestDistance || d == bestDistance && best == "" && d <= max(1, len(name)/3) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (the optimal string alignment distance); it is over limit if it exceeds it.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit || len(a) > 100 || len(b) > 100 {
		return limit + 1
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// list names the known names, if they are few.
func list(what string, known []string) string {
	const most = 12
	if len(known) == 0 || len(known) > most {
		return ""
	}
	return fmt.Sprintf("; %s: %s", what, strings.Join(slices.Sorted(slices.Values(known)), ", "))
}
