// Generated cases as a person would write them.

package flowtest

import (
	"fmt"
	"slices"
	"strings"
)

// write is the test file of some runs.
func (s *search) write(runs []*tried, flow string, missing []string) string {
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
		t.given(&b)
		b.WriteString("    expect:\n")
		fmt.Fprintf(&b, "      status: %s\n", t.status)
		if t.failure != nil && t.failure.Node != "" {
			fmt.Fprintf(&b, "      error: {kind: %s, node: %s}\n", t.failure.Kind, yamlText(t.failure.Node))
		}
		fmt.Fprintf(&b, "      path: %s\n", yamlFlow(t.path))
	}
	return b.String()
}

// name says what a case shows: the nodes on its path, each once, and which failed.
func (t *tried) name() string {
	var parts []string
	for i, node := range t.path {
		switch {
		case t.failed[i] && t.asks(node):
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

// given writes input, stubs, answers and decisions of a case.
func (t *tried) given(b *strings.Builder) {
	var order []string
	stubs, decide := map[string][]string{}, map[string][]string{}
	for _, c := range t.choices {
		switch {
		case c.input:
			fmt.Fprintf(b, "    input: %s\n", yamlFlow(c.taken.output))
		case c.decide:
			decide[c.node] = append(decide[c.node], yamlText(c.taken.target))
		case c.kind == stubKind: // a person's
		default:
			if stubs[c.node] == nil {
				order = append(order, c.node)
			}
			stubs[c.node] = append(stubs[c.node], c.taken.entry())
		}
	}
	if len(order) > 0 {
		b.WriteString("    stubs:\n")
	}
	for _, node := range order {
		list := stubs[node]
		if same(list) {
			fmt.Fprintf(b, "      %s: %s\n", yamlText(node), list[0])
			continue
		}
		fmt.Fprintf(b, "      %s:\n", yamlText(node))
		for _, entry := range list {
			fmt.Fprintf(b, "        - %s\n", strings.TrimSuffix(strings.TrimPrefix(entry, "{"), "}"))
		}
	}
	people := t.sittings()
	if text := people[0].text(); text != "" {
		fmt.Fprintf(b, "    %s\n", text)
	}
	if len(decide) > 0 {
		fmt.Fprintf(b, "    decide: {%s}\n", strings.Join(byNode(decide, nil), ", "))
	}
	if text := t.goesOn(people); text != "" {
		fmt.Fprintf(b, "    resume: [%s]\n", text)
	}
}

func same(list []string) bool {
	return !slices.ContainsFunc(list, func(text string) bool { return text != list[0] })
}

// entry is an option as a stub.
func (o option) entry() string {
	if e := o.failure; e != nil {
		text := "{error: {kind: " + e.Kind
		if e.Message != madeUpText {
			text += ", message: " + yamlText(e.Message)
		}
		if len(e.Details) > 0 {
			text += ", details: " + yamlFlow(e.Details)
		}
		return text + "}}"
	}
	return "{output: " + yamlFlow(o.output) + "}"
}
