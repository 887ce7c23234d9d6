// Package suggest finds the known name that is nearest to a misspelt one, and lists names.
package suggest

import (
	"strconv"
	"strings"
)

// Finder suggests from one list of names. It stops comparing when a budget of comparisons is used
// up, so that a large file full of wrong names stays cheap. A Finder belongs to one goroutine.
type Finder struct {
	names  []string
	budget int
}

// defaultBudget is the number of comparisons of a Finder: enough for 200 wrong names among 10,000.
const defaultBudget = 2_000_000

// New returns a Finder over names. Of equally close names the first wins.
func New(names []string) *Finder { return &Finder{names: names, budget: defaultBudget} }

// Closest returns the name nearest to word, or "". A name is near if it differs by at most one
// edit per three letters; an edit adds, drops, changes or swaps a letter. Case matters only
// between otherwise equal names. If no name is near, Closest returns the only name that starts
// with word.
func (f *Finder) Closest(word string) string {
	lower := strings.ToLower(word)
	limit := max(1, min(len(word)/3, 4))
	best, found := limit+1, ""
	for _, name := range f.names {
		if f.budget <= 0 {
			return found
		}
		f.budget--
		if len(word) == 1 && len(name) == 1 && !strings.EqualFold(word, name) {
			continue // any letter would do
		}
		if diff := len(name) - len(word); diff > limit || -diff > limit || name == word {
			continue
		}
		if d := Distance(lower, strings.ToLower(name), best); d < best && d < max(len(word), len(name)) {
			best, found = d, name
		}
	}
	if found == "" {
		found = uniqueCompletion(word, f.names)
	}
	return found
}

// uniqueCompletion returns the only name that starts with word, or "". One letter is too short.
func uniqueCompletion(word string, names []string) (found string) {
	for _, name := range names {
		if len(word) < 2 || !strings.HasPrefix(name, word) || name == word {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// Closest returns New(names).Closest(word).
func Closest(word string, names []string) string { return New(names).Closest(word) }

// DidYouMean returns the end of a message about an unknown word, or "" if no name is near.
func DidYouMean(word string, names []string) string {
	if near := Closest(word, names); near != "" {
		return "; did you mean " + strconv.Quote(near) + "?"
	}
	return ""
}

// Distance returns the optimal string alignment distance of a and b in bytes, at most limit.
func Distance(a, b string, limit int) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j-1]+cost, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least >= limit {
			return limit
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

// Or joins alternatives in a sentence: a, b or c.
func Or(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
