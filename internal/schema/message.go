// Values, schemas and positions in messages.

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

// show writes a scalar, or the size of a list or object.
func show(v any) string {
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

func showList(values []any) string {
	var parts []string
	for i, v := range values {
		if i == 2*maxShown {
			parts = append(parts, fmt.Sprintf("… (%d in all)", len(values)))
			break
		}
		parts = append(parts, show(v))
	}
	return strings.Join(parts, ", ")
}

// phrase lists the types for a message: an integer or null.
func (t typeSet) phrase() string {
	var names []string
	for i, one := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, one.phrase)
		}
	}
	return suggest.Or(names)
}

// plainName matches a name that needs no quotes in a path or in YAML.
var plainName = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// pathText writes a position: properties.count.type, items[2].name, or ["a b"] for an odd name.
func pathText(path []string) string {
	out := ""
	for _, name := range path {
		switch _, err := strconv.ParseUint(name, 10, 64); {
		case err == nil:
			out += "[" + name + "]"
		case !plainName().MatchString(name):
			out += "[" + strconv.Quote(name) + "]"
		case out == "":
			out = name
		default:
			out += "." + name
		}
	}
	return out
}

// formatFlow writes plain data as YAML in one line, of at most some levels.
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
	return show(v)
}

// yamlWords are words that some YAML readers take for other values than texts.
var yamlWords = strings.Fields("true false null yes no on off y n")

// formatFlowText quotes a string unless YAML reads it as the same string without.
func formatFlowText(s string) string {
	if plainName().MatchString(s) && !slices.Contains(yamlWords, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}
