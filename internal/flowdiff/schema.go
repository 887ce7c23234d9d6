// Changes of schemas: whether they accept fewer values.

package flowdiff

import (
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// schemaChange is one difference between schemas. Narrower says that the new schema may
// refuse accepted values, wider that it may accept refused ones.
type schemaChange struct {
	text            string
	narrower, wider bool
}

// compareSchemas compares schemas by keyword. Changes of unknown keywords count as narrower.
func compareSchemas(before, after map[string]any, where string) []schemaChange {
	var out []schemaChange
	for _, key := range mergeKeys(before, after) {
		old, now := lookUp(before, key), lookUp(after, key)
		oldMap, oldIsMap := old.(map[string]any)
		nowMap, nowIsMap := now.(map[string]any)
		name := key
		if where != "" {
			name = where + ": " + key
		}
		switch {
		case reflect.DeepEqual(old, now) || strings.HasPrefix(key, "x-"):
		case key == "properties":
			out = append(out, compareProperties(oldMap, nowMap, where)...)
		case key == "items" && oldIsMap && nowIsMap:
			out = append(out, compareSchemas(oldMap, nowMap, where+"[]")...)
		default:
			out = append(out, schemaChange{
				text:     describeDifference(name, old, now),
				narrower: isNarrower(key, old, now),
				wider:    key != "additionalProperties" && isNarrower(key, now, old),
			})
		}
	}
	return out
}

func compareProperties(before, after map[string]any, where string) []schemaChange {
	var out []schemaChange
	for _, name := range mergeKeys(before, after) {
		a, had := before[name].(map[string]any)
		b, has := after[name].(map[string]any)
		at := where + "." + name
		switch {
		case !has:
			out = append(out, schemaChange{at + " is no longer declared", true, true})
		case !had:
			out = append(out, schemaChange{text: at + " is declared now"})
		default:
			out = append(out, compareSchemas(a, b, at)...)
		}
	}
	return out
}

// describeDifference describes the change of a value, which may be absent.
func describeDifference(name string, old, now any) string {
	switch {
	case old == any(absent{}):
		return name + " is now " + formatData(now)
	case now == any(absent{}):
		return name + " is gone, it was " + formatData(old)
	}
	return name + " " + formatData(old) + " is now " + formatData(now)
}

func isNarrower(key string, old, now any) bool {
	added := old == any(absent{})
	if now == any(absent{}) {
		return false
	}
	switch key {
	case "title", "description", "examples", "$comment", "deprecated", "format", "default":
		return false
	case "type":
		return added || !includesTypes(old, now)
	case "enum":
		return added || !isSubset(old, now)
	case "required":
		return !isSubset(now, old)
	case "additionalProperties":
		return now != any(true)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return added || isLess(old, now)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return added || isLess(now, old)
	}
	return true
}

func isLess(v, w any) bool {
	a, _ := eval.Number(v)
	b, _ := eval.Number(w)
	return a < b
}

// includesTypes reports whether every old type is among the new ones.
func includesTypes(old, now any) bool {
	is := toList(now)
	if slices.Contains(is, any("number")) {
		is = append(is, "integer")
	}
	return isSubset(toList(old), is)
}

// toList returns a list, or a list of a single type.
func toList(types any) []any {
	if list, ok := types.([]any); ok {
		return slices.Clone(list)
	}
	return []any{types}
}

func isSubset(some, all any) bool {
	a, _ := some.([]any)
	b, _ := all.([]any)
	return !slices.ContainsFunc(a, func(v any) bool { return !containsData(b, v) })
}

func containsData(list []any, v any) bool {
	return slices.ContainsFunc(list, func(w any) bool { return reflect.DeepEqual(v, w) })
}
