// Generated cases as a person would write them.

package flowtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/explore"
)

// testFile writes the test file of some runs.
func testFile(runs []*tried, flow string, missing []string) string {
	var b strings.Builder
	b.WriteString("graphrun-test: v1\n")
	if flow != "" {
		b.WriteString("flow: " + yamlText(flow) + "\n")
	}
	for _, line := range missing {
		b.WriteString("# no case covers " + line + "\n")
	}
	if len(runs) == 0 {
		b.WriteString("\ncases: []\n")
	} else {
		b.WriteString("\ncases:\n")
	}
	names := map[string]int{}
	for _, t := range runs {
		name := t.name()
		if names[name]++; names[name] > 1 {
			name += fmt.Sprintf(" (%d)", names[name])
		}
		fmt.Fprintf(&b, "  - name: %s\n", yamlText(name))
		t.write(&b, "    ")
		b.WriteString("    expect:\n")
		fmt.Fprintf(&b, "      status: %s\n", t.status)
		if t.failure != nil && t.failure.Node != "" {
			fmt.Fprintf(&b, "      error: {kind: %s, node: %s}\n", t.failure.Kind, yamlText(t.failure.Node))
		}
		fmt.Fprintf(&b, "      path: %s\n", yamlFlow(t.path))
	}
	return b.String()
}

// name lists the nodes on the path, each once, and which of them failed.
func (t *tried) name() string {
	var parts []string
	for i, node := range t.path {
		switch {
		case t.failed[i] && slices.ContainsFunc(t.choices, func(c choice) bool { return c.node == node && c.human && !c.decide }):
			node += " unanswered"
		case t.failed[i]:
			node += " fails"
		}
		if !slices.Contains(parts, node) {
			parts = append(parts, node)
		}
	}
	const most = 7
	if n := len(parts); n > most {
		parts = slices.Concat(parts[:3], []string{fmt.Sprintf("%d more", n-most+1)}, parts[n-most+4:])
	}
	if len(parts) == 0 {
		return t.status
	}
	return strings.Join(parts, ", ")
}

// write writes input, stubs, answers and decisions of a case.
func (t *tried) write(b *strings.Builder, indent string) {
	if len(t.input) > 0 {
		fmt.Fprintf(b, "%sinput: %s\n", indent, yamlFlow(t.input))
	}
	var order []string
	stubs, decide := map[string][]string{}, map[string][]string{}
	for _, c := range t.choices {
		switch {
		case c.decide:
			decide[c.node] = append(decide[c.node], yamlText(c.target))
		case !c.human:
			if stubs[c.node] == nil {
				order = append(order, c.node)
			}
			stubs[c.node] = append(stubs[c.node], c.entry())
		}
	}
	if len(order) > 0 {
		b.WriteString(indent + "stubs:\n")
	}
	for _, node := range order {
		if t.sameEachTime(stubs[node]) {
			fmt.Fprintf(b, "%s  %s: %s\n", indent, yamlText(node), stubs[node][0])
			continue
		}
		fmt.Fprintf(b, "%s  %s:\n", indent, yamlText(node))
		for _, entry := range stubs[node] {
			fmt.Fprintf(b, "%s    - %s\n", indent, strings.TrimSuffix(strings.TrimPrefix(entry, "{"), "}"))
		}
	}
	people := t.sittings()
	if text := people[0].text(t); text != "" {
		fmt.Fprintf(b, "%s%s\n", indent, text)
	}
	if len(decide) > 0 {
		fmt.Fprintf(b, "%sdecide: {%s}\n", indent, t.byNode(decide, nil))
	}
	if text := t.resumes(people); text != "" {
		fmt.Fprintf(b, "%sresume: [%s]\n", indent, text)
	}
}

// sameEachTime reports whether one entry can stand for all visits. A plan may not cover
// all of them.
func (t *tried) sameEachTime(list []string) bool {
	return t.resumed >= 0 && !slices.ContainsFunc(list, func(text string) bool { return text != list[0] })
}

// byNode writes a map from nodes to one value, or to a list of values by visit.
func (t *tried) byNode(by map[string][]string, lists map[string]bool) string {
	parts := make([]string, 0, len(by))
	for _, node := range sortedNames(by) {
		text := by[node][0]
		if lists[node] || !t.sameEachTime(by[node]) {
			text = "[" + strings.Join(by[node], ", ") + "]"
		}
		parts = append(parts, yamlText(node)+": "+text)
	}
	return strings.Join(parts, ", ")
}

// entry writes an option as a stub.
func (o option) entry() string {
	if e := o.failure; e != nil {
		text := "{error: {kind: " + e.Kind
		if e.Message != explore.AnyText {
			text += ", message: " + yamlText(e.Message)
		}
		if len(e.Details) > 0 {
			text += ", details: " + yamlFlow(e.Details)
		}
		return text + "}}"
	}
	return "{output: " + yamlFlow(o.output) + "}"
}

// sitting holds the answers of people until one of them lets the time pass.
type sitting struct {
	answers map[string][]string
	lists   map[string]bool // nodes whose answers must stand in a list
	after   time.Duration   // 0 if the run goes on to its end
}

func newSitting() sitting { return sitting{answers: map[string][]string{}, lists: map[string]bool{}} }

// sittings splits the answers of a run at the waits between them.
func (t *tried) sittings() []sitting {
	out := []sitting{newSitting()}
	for _, c := range t.choices {
		if !c.human || c.decide {
			continue
		}
		last := &out[len(out)-1]
		if c.absent > 0 {
			last.after, last.lists[c.node] = c.absent, true
			out = append(out, newSitting())
			continue
		}
		if _, isList := c.output.([]any); isList {
			last.lists[c.node] = true
		}
		last.answers[c.node] = append(last.answers[c.node], yamlFlow(c.output))
	}
	return out
}

// text writes the answers, or "" if nobody answers.
func (s *sitting) text(t *tried) string {
	if len(s.answers) == 0 {
		return ""
	}
	return "answers: {" + t.byNode(s.answers, s.lists) + "}"
}

// resumes writes how a run is resumed after people let the time pass; "" if nobody does.
func (t *tried) resumes(all []sitting) string {
	var parts []string
	for i, s := range all {
		if text := s.text(t); i > 0 && text != "" {
			parts = append(parts, "{"+text+"}")
		}
		if s.after > 0 {
			parts = append(parts, "{after: "+eval.DurationText(s.after)+"}")
		}
	}
	if t.resumed >= 0 { // the time of two people may have passed at once
		parts = parts[:min(len(parts), t.resumed)]
	}
	return strings.Join(parts, ", ")
}
