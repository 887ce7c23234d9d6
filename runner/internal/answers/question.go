// Questions: their names, and whether an answer fits.

package answers

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner/machine"
)

// WithoutIndexes names the node of a target instead of an element of it.
func WithoutIndexes(target string) string {
	path, key, hasKey := strings.Cut(target, ":")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i], _, _ = strings.Cut(part, "[")
	}
	if path = strings.Join(parts, "/"); hasKey {
		return path + ":" + key
	}
	return path
}

// Find is the index of the question that an answer is for: the one of that name, or that of
// the first element; -1: nobody asks it.
func Find(open []machine.Question, target string) int {
	i := slices.IndexFunc(open, func(q machine.Question) bool { return q.Target() == target })
	if i < 0 {
		i = slices.IndexFunc(open, func(q machine.Question) bool { return WithoutIndexes(q.Target()) == target })
	}
	return i
}

// Check reports the first answer that a question does not take.
func Check(q *machine.Question, answers []string) error {
	for _, text := range answers {
		if _, err := q.Parse(text); err != nil {
			return err
		}
	}
	return nil
}
