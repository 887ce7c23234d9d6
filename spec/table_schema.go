// The table's keywords of JSON Schema, and those that state keys add.

package spec

import (
	"slices"
	"strings"
	"sync"
)

// reducers are the named ways to fold a write into a state key, sorted.
var reducers = []string{"append", "max", "merge", "messages", "min", "prepend", "replace", "sum", "union"}

// stateKeywords are the keys of a state key besides JSON Schema.
var stateKeywords = []Key{
	{Name: "default", Type: TypeAny, Doc: "The value at the start of a run."},
	{Name: "schema", Type: TypeSchema, Doc: "The JSON Schema of the key, instead of its keywords beside the others: needed where it has a `required` of its own."},
	{Name: "required", Type: TypeOneOf, Forms: []Key{{Type: TypeBool}, listOf(Key{Type: TypeString})}, Default: "false", Doc: "Whether the key must be an input; a list is JSON Schema's `required`."},
	{Name: "secret", Type: TypeBool, Default: "false", Doc: "Whether the value is masked in every output."},
	{Name: "once", Type: TypeBool, Default: "false", Doc: "Whether the key goes back to its default after a model node has read it."},
	{Name: "scope", Type: TypeEnum, Enum: []string{"run", "session"}, Default: "run", Doc: "How long the value lives."},
	{Name: "reducer", Type: TypeString, Role: RoleExpr, Default: "replace", Doc: "How a write changes the value: append, max, merge, messages, min, prepend, replace, sum, union, or an expression over `current` and `update`."},
}

// stateSchemaKeywords returns the keywords of a state key.
var stateSchemaKeywords = sync.OnceValue(func() []Key { return slices.Concat(stateKeywords, schemaKeywords()) })

// schemaTypes are the types of JSON Schema, sorted.
var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// schemaKeywords returns the keywords of JSON Schema.
var schemaKeywords = sync.OnceValue(func() []Key {
	schema := Key{Type: TypeSchema}
	var keys []Key
	add := func(k Key, names string) {
		for _, name := range strings.Fields(names) {
			k.Name = name
			keys = append(keys, k)
		}
	}
	add(Key{Type: TypeOneOf, Forms: oneOrSome(Key{Type: TypeEnum, Enum: schemaTypes})}, "type")
	add(Key{Type: TypeList, Elem: &Key{Type: TypeAny}}, "enum")
	add(Key{Type: TypeList, Elem: &Key{Type: TypeString}}, "required")
	add(schema, "items additionalItems additionalProperties propertyNames contains not if then else contentSchema")
	add(Key{Type: TypeMap, Elem: &schema}, "properties patternProperties $defs definitions")
	add(Key{Type: TypeList, Elem: &schema}, "allOf anyOf oneOf prefixItems")
	add(Key{Type: TypeNumber}, "minimum maximum exclusiveMinimum exclusiveMaximum")
	add(Key{Type: TypeNumber, Positive: true}, "multipleOf")
	add(Key{Type: TypeInt, Min: new(0.0)}, "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains")
	add(Key{Type: TypeBool}, "uniqueItems deprecated readOnly writeOnly")
	add(Key{Type: TypeString}, "title description format pattern contentEncoding contentMediaType $ref $id $schema $anchor $comment $dynamicRef $dynamicAnchor")
	add(Key{Type: TypeAny}, "const default examples $vocabulary")
	return keys
})
