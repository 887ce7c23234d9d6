// Structured output: which schemas the provider can be held to.

package openai

import "github.com/graphrun/graphrun/model/wire"

// responseFormat asks for JSON of a schema. The protocol takes objects only; for
// other values nothing is asked, and the instructions and the caller's check
// have to do.
func responseFormat(schema map[string]any) map[string]any {
	if schema["type"] != "object" {
		return nil
	}
	closed, strict := wire.Strict(schema)
	if !strict {
		closed = schema
	}
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "output", "schema": closed, "strict": strict}}
}
