// What a flow takes.

package inspect

import "github.com/graphrun/graphrun/spec"

// InputSchema is the JSON Schema of the object of a flow's inputs.
func InputSchema(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, k := range g.State {
		schema := map[string]any{}
		for key, value := range k.Schema {
			schema[key] = value
		}
		if k.Default != nil && !k.Secret {
			schema["default"] = k.Default.Data()
		}
		if k.Secret {
			schema["writeOnly"] = true
		}
		properties[k.Name.Value] = schema
		if k.Required {
			required = append(required, k.Name.Value)
		}
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if g.StrictState {
		out["additionalProperties"] = false
	}
	return out
}
