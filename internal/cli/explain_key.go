// What a key of the language or a kind of node means, from the table of keys.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/spec"
)

const explainColumns = 88

// topicsNamed are the kinds and keys of a name: of exec the kind, of timeout every
// key that is called so, of limits.timeout, join.wait or exec.command that one.
func topicsNamed(name string) []spec.Topic {
	var out []spec.Topic
	for _, t := range spec.Topics(spec.Options{}) {
		if name == t.Name || name == t.Path || strings.HasSuffix("."+plainPath(&t), "."+name) {
			out = append(out, t)
		}
	}
	return out
}

// plainPath is a key's path without the places that names and lists take, and of
// a kind's key with the kind in the place of the node.
func plainPath(t *spec.Topic) string {
	path := strings.NewReplacer(".*", "", "[]", "").Replace(t.Path)
	if t.Kind != "" {
		path = strings.Replace(path, "nodes", t.Kind, 1)
	}
	return path
}

// topicNames are the names that explain takes besides rules, each once.
func topicNames() []string {
	var out []string
	for _, t := range spec.Topics(spec.Options{}) {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// explainTopics explains keys and kinds, and the kind of error that has their name.
func (a *app) explainTopics(topics []spec.Topic, failures []spec.FailureKind, format string) error {
	if format == "json" {
		return printJSON(a.Stdout, topics)
	}
	var b strings.Builder
	if len(failures) > 0 {
		writeFailures(&b, failures)
		b.WriteString("\n")
	}
	for i := range topics {
		if i > 0 {
			b.WriteString("\n")
		}
		writeTopic(&b, &topics[i])
	}
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}

func writeTopic(b *strings.Builder, t *spec.Topic) {
	switch {
	case t.Path == "":
		fmt.Fprintf(b, "kind %s\n", t.Name)
	case t.Kind != "":
		fmt.Fprintf(b, "%s (kind %s): %s\n", t.Path, t.Kind, t.Value)
	default:
		fmt.Fprintf(b, "%s: %s\n", t.Path, t.Value)
	}
	writeWrapped(b, 2, 2, t.Doc+absence(t))
	if len(t.Keys) == 0 {
		return
	}
	width := 0
	for i := range t.Keys {
		width = max(width, terminal.Width(t.Keys[i].Name))
	}
	b.WriteString("\n")
	for i := range t.Keys {
		k := &t.Keys[i]
		text := k.Value
		if k.Doc != "" {
			text += ". " + k.Doc
		}
		writeWrapped(b, 2, width+4, terminal.Pad(k.Name, width+2)+text+absence(k))
	}
	for _, choice := range t.Choices {
		writeWrapped(b, 2, 4, choice)
	}
	if t.Path == "" {
		b.WriteString("\n  and the keys of every node: graphrun explain nodes\n")
	}
}

// absence says what a key's absence means.
func absence(t *spec.Topic) string {
	switch {
	case t.Required:
		return " (required)"
	case t.Default != "":
		return " (default: " + t.Default + ")"
	}
	return ""
}

// writeWrapped writes a text from a column on, its further lines from another.
func writeWrapped(b *strings.Builder, first, others int, text string) {
	for _, line := range terminal.Wrap(strings.Repeat(" ", first)+text, explainColumns, others) {
		b.WriteString(line + "\n")
	}
}
