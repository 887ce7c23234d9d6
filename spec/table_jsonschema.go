// The JSON Schema of the language, generated from the table of keys.

package spec

import (
	"maps"
	"slices"
)

// durationPattern matches durations in a JSON Schema.
const durationPattern = `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$|^[+-]?0$`

// SchemaID is the address of the schema of graph files for editors.
const SchemaID = "https://raw.githubusercontent.com/graphrun/graphrun/main/docs/reference/graphrun.v1.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of graph files with the kinds of opts, for encoding/json. It
// accepts every file that Parse accepts. It does not check references and expressions.
func Schema(opts Options) map[string]any {
	root := SchemaOf("GraphSpec v1", "A graph file that graphrun runs.", TopKeys)
	jsonSchema := objectSchema(schemaKeywords(), nil)
	jsonSchema["type"] = []string{"object", "boolean"}
	stateKey := objectSchema(slices.Concat(schemaKeywords(), stateKeywords), nil) // a later key replaces an earlier one
	defs := object{"json_schema": jsonSchema, "state_key": stateKey, "graph": objectSchema(innerKeys(), nil)}
	var choose []any
	kinds := mergeKinds(opts.Kinds)
	for _, kind := range kinds {
		keys := append([]Key{{Name: "kind", Type: TypeEnum, Enum: []string{kind.Name}, Required: true, Doc: "The kind of the node."}}, kind.Keys...)
		def := objectSchema(append(keys, NodeKeys...), kind.Choices)
		if kind.Name == "agent" {
			delete(def["properties"].(object), "retry")
		}
		def["description"] = kind.Doc
		defs["node_"+kind.Name] = def
		choose = append(choose, object{
			"if":   object{"properties": object{"kind": object{"const": kind.Name}}, "required": []string{"kind"}},
			"then": refTo("node_" + kind.Name),
		})
	}
	defs["node"] = object{
		"type": "object", "required": []string{"kind"}, "allOf": choose,
		"properties": object{"kind": object{"enum": listKindNames(kinds), "description": "The kind of the node."}},
	}
	root["$id"], root["$defs"] = SchemaID, defs
	return root
}

// SchemaOf returns the JSON Schema of files that Read reads with these keys.
func SchemaOf(title, description string, keys []Key) map[string]any {
	root := objectSchema(keys, nil)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"], root["description"] = title, description
	return root
}

type object = map[string]any

func refTo(name string) object { return object{"$ref": "#/$defs/" + name} }

// objectSchema returns the schema of a map with the given keys.
func objectSchema(keys []Key, choices []Choice) object {
	properties := object{}
	var required []string
	for i := range keys {
		k := &keys[i]
		value, doc := valueSchema(k), k.Doc
		if k.Default != "" {
			doc += " Default: " + k.Default + "."
		}
		if doc != "" {
			value["description"] = doc
		}
		properties[k.Name] = value
		if k.Required {
			required = append(required, k.Name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false, "patternProperties": object{"^x-": true}}
	if required != nil {
		out["required"] = required
	}
	for _, c := range choices {
		var one []any
		for _, name := range c.Keys {
			one = append(one, object{"required": []string{name}})
		}
		if !c.Required {
			one = append(one, object{"not": anyOf(slices.Clone(one)...)})
		}
		out["oneOf"] = one
	}
	return out
}

// valueSchema returns a new schema of a key's value.
func valueSchema(k *Key) object {
	switch k.Type {
	case TypeDuration:
		if k.Role == RoleExpr {
			return anyOf(object{"type": "number", "minimum": 0}, object{"type": "string"})
		}
		return anyOf(object{"const": 0}, object{"type": "string", "pattern": durationPattern})
	case TypeEnum:
		return object{"enum": k.Enum}
	case TypeSchema:
		if len(k.Keys) > 0 {
			return refTo("state_key")
		}
	case TypeList:
		out := object{"type": "array", "items": valueSchema(k.Elem)}
		if k.NonEmpty {
			out["minItems"] = 1
		}
		return out
	case TypeMap:
		out := object{"type": "object", "additionalProperties": valueSchema(k.Elem)}
		if pattern := map[Names]string{NamesID: idPattern, NamesState: identifierPattern}[k.Names]; pattern != "" {
			out["patternProperties"] = object{"^x-": true}
			out["propertyNames"] = anyOf(object{"pattern": pattern}, object{"pattern": "^x-"})
		}
		return out
	case TypeObject:
		return objectSchema(k.Keys, k.Choices)
	case TypeText:
		forms := []any{valueSchema(&Key{Type: TypeString, Role: k.Role}), objectSchema(textFileKeys, nil)}
		if k.Elem != nil {
			forms = append(forms, valueSchema(k.Elem), valueSchema(&Key{Type: TypeList, Elem: k.Elem, NonEmpty: k.NonEmpty}))
		}
		return anyOf(forms...)
	case TypeOneOf:
		var forms []any
		for i := range k.Forms {
			forms = append(forms, valueSchema(&k.Forms[i]))
		}
		return anyOf(forms...)
	case TypeString:
		if k.Role != RolePlain && k.Role != RoleState {
			return object{"type": []string{"string", "number", "boolean"}}
		}
	}
	out := object{}
	maps.Copy(out, types[k.Type].schema)
	if k.Positive {
		out["exclusiveMinimum"] = 0
	}
	if k.Min != nil {
		out["minimum"] = *k.Min
	}
	if k.Max != nil {
		out["maximum"] = *k.Max
	}
	return out
}

func anyOf(forms ...any) object { return object{"anyOf": forms} }
