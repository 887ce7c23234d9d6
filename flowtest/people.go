// People in generated cases: what they answer, and those who do not.

package flowtest

import (
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
)

// sitting is what people answer until somebody lets his time pass.
type sitting struct {
	answers map[string][]string
	// lists are the nodes whose answers have to stand in a list: a single one would be
	// given to every visit.
	lists map[string]bool
	after time.Duration // 0: the run goes on to its end
}

// sittings are the answers of a run, by the waits between them.
func (t *tried) sittings() []sitting {
	out := []sitting{{answers: map[string][]string{}, lists: map[string]bool{}}}
	for _, c := range t.choices {
		if c.kind != stubKind || c.input || c.decide {
			continue
		}
		last := &out[len(out)-1]
		if c.taken.absent > 0 {
			last.after, last.lists[c.node] = c.taken.absent, true
			out = append(out, sitting{answers: map[string][]string{}, lists: map[string]bool{}})
			continue
		}
		if _, isList := c.taken.output.([]any); isList {
			last.lists[c.node] = true
		}
		last.answers[c.node] = append(last.answers[c.node], yamlFlow(c.taken.output))
	}
	return out
}

// text is the map of the answers; empty: nobody answers.
func (s *sitting) text() string {
	if len(s.answers) == 0 {
		return ""
	}
	return "answers: {" + strings.Join(byNode(s.answers, s.lists), ", ") + "}"
}

// goesOn is how a run goes on after those who let their time pass; empty: nobody did.
func (t *tried) goesOn(all []sitting) string {
	var parts []string
	for i, s := range all {
		if i > 0 && s.text() != "" {
			parts = append(parts, "{"+s.text()+"}")
		}
		if s.after > 0 {
			parts = append(parts, "{after: "+eval.DurationText(s.after)+"}")
		}
	}
	if t.told { // two may have let theirs pass at once
		parts = parts[:min(len(parts), t.resumed)]
	}
	return strings.Join(parts, ", ")
}

// byNode are the entries of a map from nodes to what they come to by visit: all of it,
// or what they come to each time.
func byNode(by map[string][]string, lists map[string]bool) []string {
	parts := make([]string, 0, len(by))
	for _, node := range sortedNames(by) {
		text := by[node][0]
		if lists[node] || !same(by[node]) {
			text = "[" + strings.Join(by[node], ", ") + "]"
		}
		parts = append(parts, yamlText(node)+": "+text)
	}
	return parts
}

// asks reports whether a node asks a person.
func (t *tried) asks(node string) bool {
	return slices.ContainsFunc(t.choices, func(c choice) bool { return c.node == node && c.kind == stubKind })
}
