// What nodes yield.

package domain

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// OutputSchema is the schema of what a node yields; nil when it declares none.
// That of a model with tools is about the content only.
func OutputSchema(n *spec.Node) map[string]any {
	if n.Kind.Value == "llm" && n.Field("tools") != nil {
		return nil
	}
	return n.Output
}

// Part is the part of a schema for a path; nil when none is declared.
func Part(doc map[string]any, path []string) map[string]any {
	for _, part := range path {
		doc = Subschema(doc, part)
	}
	return doc
}

// Yields is the schema of a part of what a node yields, as the node declares it, or its
// kind has it; nil when nobody says.
func Yields(n *spec.Node, path []string) map[string]any {
	if doc := OutputSchema(n); doc != nil {
		return Part(doc, path)
	}
	switch n.Kind.Value + "." + strings.Join(path, ".") {
	case "human.":
		return answers(n)
	case "http.status":
		if expect := n.Field("expect"); expect != nil && expect.Kind == spec.List {
			return map[string]any{"enum": expect.Data()}
		}
		return map[string]any{"type": "integer", "minimum": 200, "maximum": 299}
	case "graph.status":
		return map[string]any{"enum": []any{"completed"}}
	case "graph.quality":
		return map[string]any{"enum": []any{"clean", "degraded"}}
	}
	return nil
}

// answers is the schema of what a person may say; nil where that is known at run time only.
func answers(n *spec.Node) map[string]any {
	if choices := n.Field("choices"); choices != nil && choices.Kind == spec.List {
		values := choices.Data().([]any)
		if d := n.Field("default"); d != nil && !slices.Contains(values, d.Data()) {
			values = append(values, d.Data())
		}
		return map[string]any{"enum": values}
	}
	if schema := n.Field("schema"); schema != nil {
		doc, _ := schema.Data().(map[string]any)
		return doc
	}
	return nil
}
