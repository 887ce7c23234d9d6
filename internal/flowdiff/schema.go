// Changes of schemas: whether they accept fewer values.

package flowdiff

import (
	"reflect"
	"slices"
	"strings"
)

// schemaChange is one difference between schemas. Narrower says that the new schema may
// refuse accepted values, wider that it may accept refused ones.
type schemaChange struct {
	text            string
	narrower, wider bool
}

// schemaChanges compares two schemas keyword by keyword. Changes of unknown keywords count
// as narrower.
func schemaChanges(before, after map[string]any, where string) []schemaChange {
	var out []schemaChange
	for _, key := range keysOf(before, after) {
		old, had := before[key]
		now, has := after[key]
		if reflect.DeepEqual(old, now) && had == has {
			continue
		}
		switch {
		case strings.HasPrefix(key, "x-"):
		case key == "properties":
			out = append(out, propertyChanges(old, now, where)...)
		case key == "items" && isMap(old) && isMap(now):
			out = append(out, schemaChanges(old.(map[string]any), now.(map[string]any), where+"[]")...)
		default:
			out = append(out, schemaChange{
				text:     keywordText(where, key, old, now, had, has),
				narrower: isNarrower(key, old, now, had, has),
				wider:    key != "additionalProperties" && isNarrower(key, now, old, has, had),
			})
		}
	}
	return out
}

func isMap(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func propertyChanges(old, now any, where string) []schemaChange {
	before, _ := old.(map[string]any)
	after, _ := now.(map[string]any)
	var out []schemaChange
	for _, name := range keysOf(before, after) {
		a, had := before[name].(map[string]any)
		b, has := after[name].(map[string]any)
		at := where + "." + name
		switch {
		case !has:
			out = append(out, schemaChange{at + " is no longer declared", true, true})
		case !had:
			out = append(out, schemaChange{text: at + " is declared now"})
		default:
			out = append(out, schemaChanges(a, b, at)...)
		}
	}
	return out
}

func keywordText(where, key string, old, now any, had, has bool) string {
	if where != "" {
		key = where + ": " + key
	}
	switch {
	case !had:
		return key + " is now " + text(now)
	case !has:
		return key + " is gone, it was " + text(old)
	}
	return key + " " + text(old) + " is now " + text(now)
}

// isNarrower reports whether a change of a keyword makes the schema narrower.
func isNarrower(key string, old, now any, had, has bool) bool {
	switch key {
	case "title", "description", "examples", "$comment", "deprecated", "format", "default":
		return false
	}
	if !has { // a removed constraint
		return false
	}
	switch key {
	case "type":
		return !had || !widerTypes(old, now)
	case "enum":
		return !had || !subset(old, now)
	case "required":
		return !subset(now, old)
	case "additionalProperties":
		return now != any(true)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return !had || number(now) > number(old)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return !had || number(now) < number(old)
	}
	return true
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// widerTypes reports whether every old type is among the new ones.
func widerTypes(old, now any) bool {
	types := func(v any) []any {
		if list, ok := v.([]any); ok {
			return list
		}
		return []any{v}
	}
	is := types(now)
	for _, t := range types(old) {
		if !slices.Contains(is, t) && (t != any("integer") || !slices.Contains(is, any("number"))) {
			return false
		}
	}
	return true
}

// subset reports whether every item of one list is in the other.
func subset(some, all any) bool {
	a, _ := some.([]any)
	b, _ := all.([]any)
	for _, v := range a {
		if !containsData(b, v) {
			return false
		}
	}
	return true
}

func containsData(list []any, v any) bool {
	return slices.ContainsFunc(list, func(w any) bool { return reflect.DeepEqual(v, w) })
}
