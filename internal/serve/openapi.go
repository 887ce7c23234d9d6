// The OpenAPI 3.1 description, generated from the types of the operations.

package serve

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/view"
)

type object = map[string]any

func (s *Server) buildDescription() []byte {
	d := &describer{schemas: object{}, names: map[reflect.Type]string{}}
	paths := object{}
	for _, o := range s.operations {
		address := strings.ReplaceAll(o.pattern(), "...}", "}")
		if paths[address] == nil {
			paths[address] = object{}
		}
		paths[address].(object)[strings.ToLower(o.method)] = d.describeOperation(&o)
	}
	out, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "graphrun", "version": s.cfg.Version, "license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
			"description": "Runs of graphs: start them, watch them, answer what they ask, stop them, and look at what they did. Runs are the objects that graphrun run -o json prints.",
		},
		"servers":  []any{object{"url": "/", "description": "this server"}},
		"security": []any{object{"token": []any{}}},
		"tags": []any{
			object{"name": "flows", "description": "Flows below the folder that is served"},
			object{"name": "runs", "description": "Runs of the store"},
			object{"name": "server", "description": "The server itself"},
		},
		"paths": paths,
		"components": object{
			"schemas":         d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "The token that graphrun serve prints, or that of --token-file"}},
		},
	}, "", " ")
	if err != nil {
		panic(err) // maps, lists and texts only
	}
	return out
}

// describer collects the schemas of types.
type describer struct {
	schemas object
	names   map[reflect.Type]string
}

func (d *describer) describeOperation(o *operation) object {
	out := object{"operationId": o.id, "summary": o.summary, "tags": []any{o.tag}}
	if o.open {
		out["security"] = []any{}
	}
	var params []any
	for _, field := range listInputFields(o.in) {
		if field.Name == "Body" {
			out["requestBody"] = object{"content": object{"application/json": object{"schema": d.describeType(field.Type)}}}
		} else {
			params = append(params, d.describeParameter(field))
		}
	}
	if params != nil {
		out["parameters"] = params
	}
	success := object{"description": "Done"}
	switch {
	case o.media != "":
		success["content"] = object{o.media: object{"schema": object{"type": "string"}}}
	case o.out != reflect.TypeFor[none]():
		success["content"] = object{"application/json": object{"schema": d.describeType(o.out)}}
	}
	failure := object{"application/problem+json": object{"schema": d.describeType(reflect.TypeFor[problem]())}}
	responses := object{
		strconv.Itoa(o.status): success,
		"4XX":                  object{"description": "The request is wrong or can't be done now", "content": failure},
		"5XX":                  object{"description": "The server could not do it", "content": failure},
	}
	for _, status := range sortKeys(o.also) {
		other := object{"description": o.also[status]}
		if status != http.StatusNoContent {
			other["content"] = success["content"]
		}
		responses[strconv.Itoa(status)] = other
	}
	out["responses"] = responses
	return out
}

// describeParameter describes a field whose tag says where its value comes from.
func (d *describer) describeParameter(field reflect.StructField) object {
	in := "query"
	for _, other := range []string{"path", "header"} {
		if field.Tag.Get(other) != "" {
			in = other
		}
	}
	out := object{"name": field.Tag.Get(in), "in": in, "description": field.Tag.Get("doc"), "schema": d.describeType(field.Type)}
	if in == "path" {
		out["required"] = true
	}
	return out
}

// special holds the schemas of types that have their own JSON form.
var special = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():         {"type": "string", "format": "date-time"},
	reflect.TypeFor[json.RawMessage]():   {},
	reflect.TypeFor[view.Milliseconds](): {"type": "integer", "minimum": 0, "description": "milliseconds"},
	reflect.TypeFor[machine.Quality]():   {"type": []any{"string", "null"}, "description": "null while a run is paused"},
}

// simpleTypes are the JSON types of scalars.
var simpleTypes = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int32: "integer", reflect.Int64: "integer", reflect.Float64: "number",
}

// nullable lists fields that are written as null instead of omitted.
var nullable = map[reflect.Type][]string{
	reflect.TypeFor[machine.Failure]():   {"node", "attempt", "details"},
	reflect.TypeFor[machine.Candidate](): {"when"},
}

func (d *describer) describeType(t reflect.Type) object {
	if known := special[t]; known != nil {
		return maps.Clone(known)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.describeType(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": d.describeType(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.describeType(t.Elem())}
	case reflect.Struct:
		return d.referenceType(t)
	}
	if name := simpleTypes[t.Kind()]; name != "" {
		return object{"type": name}
	}
	return object{} // any value
}

func (d *describer) referenceType(t reflect.Type) object {
	name, known := d.names[t]
	if !known {
		name = capitalize(t.Name())
		if d.schemas[name] != nil { // a type of another package has the name
			name = capitalize(path.Base(t.PkgPath())) + name
		}
		d.names[t] = name
		d.schemas[name] = object{} // a type may contain itself
		d.schemas[name] = d.describeStruct(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func capitalize(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func (d *describer) describeStruct(t reflect.Type) object {
	properties, required := object{}, map[string]bool{}
	for _, field := range reflect.VisibleFields(t) { // also those of embedded structs
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" || !field.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, field.Name)
		schema := d.describeType(field.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		mayBeNil := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Map, reflect.Slice}, field.Type.Kind())
		if mayBeNil && !optional && len(schema) > 0 && special[field.Type] == nil {
			schema = allowNull(schema)
		}
		if doc := field.Tag.Get("doc"); doc != "" {
			schema["description"] = doc // OpenAPI 3.1 allows it next to a $ref
		}
		properties[name] = schema
		if !optional {
			required[name] = true
		}
	}
	for _, name := range nullable[t] {
		properties[name] = allowNull(properties[name])
		required[name] = true
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = sortKeys(required)
	}
	return out
}

func allowNull(schema any) object { return object{"anyOf": []any{schema, object{"type": "null"}}} }
