// The schemas of what nodes yield.

package domain

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// OutputSchema returns the schema that a node declares for its output, or nil. A model with
// tools declares only its content.
func OutputSchema(n *spec.Node) map[string]any {
	if n.Kind.Value == "llm" && n.Field("tools") != nil {
		return nil
	}
	return n.Output
}

// Part returns the schema of the part at a path, or nil.
func Part(doc map[string]any, path []string) map[string]any {
	for _, part := range path {
		doc = Subschema(doc, part)
	}
	return doc
}

// Yields returns the schema of a part of a node's output, as the node or its kind declares it,
// or nil.
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

// answers returns the schema of a person's answer, or nil if only the run knows it.
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
