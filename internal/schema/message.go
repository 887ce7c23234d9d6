// Formatting values, schemas and paths for messages.

package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/internal/suggest"
)

const (
	maxShown = 6  // values that a message lists
	maxText  = 60 // bytes of a string that a message shows
	maxFlow  = 32 // levels of a schema that String writes
)

// formatValue returns a scalar as text, or the size of a list or object.
func formatValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool, int:
		return eval.Text(v)
	case float64: // 3.0, not 3
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return strconv.Quote(eval.Shorten(v, maxText))
	case []any:
		return "a list of " + eval.Count(len(v), "item")
	case map[string]any:
		return "an object of " + eval.Count(len(v), "property")
	}
	return fmt.Sprintf("a Go value of type %T", v)
}

func formatList(values []any) string {
	var parts []string
	for i, v := range values {
		if i == 2*maxShown {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		parts = append(parts, formatValue(v))
	}
	return strings.Join(parts, ", ")
}

// formatTypes lists the types for a message: an integer or null.
func (t typeSet) formatTypes() string {
	var names []string
	for i, one := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, one.phrase)
		}
	}
	return suggest.Or(names)
}

// plainName matches a name that needs no quotes in a path and in YAML.
var plainName = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// formatPath returns a path as text: properties.count.type, items[2].name, or ["a b"] for an unusual
// name.
func formatPath(path []string) string {
	out := ""
	for _, name := range path {
		switch _, err := strconv.ParseUint(name, 10, 64); {
		case err == nil:
			out += "[" + name + "]"
		case !plainName.Get().MatchString(name):
			out += "[" + strconv.Quote(name) + "]"
		case out == "":
			out = name
		default:
			out += "." + name
		}
	}
	return out
}

// formatFlow returns plain data as one line of YAML, with at most so many levels.
func formatFlow(v any, levels int) string {
	if levels < 0 {
		return "…"
	}
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if i := slices.Index(names, "type"); i > 0 {
			names = slices.Insert(slices.Delete(names, i, i+1), 0, "type")
		}
		for _, name := range names {
			parts = append(parts, formatFlowText(name)+": "+formatFlow(v[name], levels-1))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, formatFlow(item, levels-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return formatFlowText(v)
	}
	return formatValue(v)
}

// yamlWords are words that some YAML readers do not read as strings.
var yamlWords = strings.Fields("true false null yes no on off y n")

// formatFlowText quotes a string unless YAML reads it as the same string without quotes.
func formatFlowText(s string) string {
	if plainName.Get().MatchString(s) && !slices.Contains(yamlWords, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}
