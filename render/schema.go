// The JSON Schema of drawings as JSON.

package render

// Schema is the JSON Schema (draft 2020-12) of a Document, as plain data.
func Schema() map[string]any {
	drawing := object("a graph as it is drawn; what a run or tests say is null where none is painted",
		field{"graph", typed("name of the graph", "string")},
		field{"start", typed("id of the node that the graph begins with", "string")},
		field{"nodes", listOf("in the order of the file", "#/$defs/node")},
		field{"edges", listOf("edges in the order of the file, then the targets of goto, then the order of finally", "#/$defs/edge")},
		field{"run", typed("the run that is painted, as run -o json prints it; null in subgraphs", "object", "null")},
		field{"subgraphs", map[string]any{
			"description": "what nodes of kind graph run, by their ids", "type": "object",
			"additionalProperties": map[string]any{"$ref": "#"},
		}},
	)
	drawing["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	drawing["title"] = "graphrun drawing"
	drawing["$defs"] = map[string]any{"node": nodeSchema(), "edge": edgeSchema(), "error": errorSchema()}
	return drawing
}

func nodeSchema() map[string]any {
	status := typed("how the node stands: untouched, running, waiting (for people), completed or failed; with coverage covered or missed", "string", "null")
	status["enum"] = []any{"untouched", "running", "waiting", "completed", "failed", "covered", "missed", nil}
	return object("a node",
		field{"id", typed("id of the node", "string")},
		field{"kind", typed("kind of the node, such as exec", "string")},
		field{"label", typed("what stands in the box", "string")},
		field{"description", typed("the file's word on the node; empty: none", "string")},
		field{"status", status},
		field{"visits", number("how often it ran; with coverage 1 or 0", 0, "null")},
		field{"duration_ms", number("time of all visits together", 0, "null")},
		field{"error", map[string]any{
			"description": "why its latest visit failed; null when it did not",
			"anyOf":       []any{map[string]any{"$ref": "#/$defs/error"}, map[string]any{"type": "null"}},
		}},
		field{"line", number("line of the file that declares it, from 1", 0)},
	)
}

func edgeSchema() map[string]any {
	condition := typed("when it is taken: a condition of edges, or goto or finally", "string")
	condition["enum"] = []any{"always", "on_success", "on_failure", "conditional", "llm_decide", "goto", "finally"}
	return object("an edge, a target of a goto, or the order of two nodes of finally",
		field{"index", number("place among the graph's edges, from 0; -1: it is none of them", -1)},
		field{"id", typed("id of the edge", "string", "null")},
		field{"from", typed("id of a node", "string")},
		field{"to", typed("id of a node, or END", "string")},
		field{"condition", condition},
		field{"when", typed("the expression", "string", "null")},
		field{"label", typed("label of the edge; of a goto the names that choose it", "string", "null")},
		field{"priority", typed("priority of the edge", "integer")},
		field{"fired", number("how often it was taken; with coverage 1 or 0, and null where no edge is", 0, "null")},
		field{"line", number("line of the file that declares it, from 1; 0: none does", 0)},
	)
}

func errorSchema() map[string]any {
	return map[string]any{
		"description": "an error as runs print it", "type": "object", "required": []any{"kind", "message"},
		"properties": map[string]any{"kind": typed("kind of the failure", "string"), "message": typed("what went wrong", "string")},
	}
}

// field is a key that an object always has.
type field struct {
	name   string
	schema map[string]any
}

// object describes an object that has these keys and no others.
func object(description string, fields ...field) map[string]any {
	properties, required := map[string]any{}, make([]any, len(fields))
	for i, f := range fields {
		properties[f.name], required[i] = f.schema, f.name
	}
	return map[string]any{
		"description": description, "type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

func typed(description string, types ...string) map[string]any {
	if len(types) == 1 {
		return map[string]any{"description": description, "type": types[0]}
	}
	all := make([]any, len(types))
	for i, t := range types {
		all[i] = t
	}
	return map[string]any{"description": description, "type": all}
}

func number(description string, least int, more ...string) map[string]any {
	s := typed(description, append([]string{"integer"}, more...)...)
	s["minimum"] = least
	return s
}

func listOf(description, ref string) map[string]any {
	return map[string]any{"description": description, "type": "array", "items": map[string]any{"$ref": ref}}
}
