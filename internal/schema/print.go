// How values, schemas and places are written in messages.

package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxShown bounds how many values a message lists.
	maxShown = 6
	// maxText bounds how many bytes of a string a message shows.
	maxText = 60
	// maxFlow bounds how deep String writes a schema out.
	maxFlow = 32
)

// show is a value in a message: scalars as they are, the rest by size.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return showFloat(v)
	case string:
		return strconv.Quote(cut(v))
	case []any:
		return "a list of " + plural(len(v), "item")
	case map[string]any:
		return "an object of " + plural(len(v), "property")
	}
	return fmt.Sprintf("a Go value of type %T", v)
}

// showFloat keeps a mark of the type: 3.0, not 3.
func showFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		text = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return text
}

func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func showAll(values []any) string {
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

func plural(n int, noun string) string {
	text := strconv.Itoa(n) + " "
	switch {
	case n == 1:
		return text + noun
	case noun == "property":
		return text + "properties"
	}
	return text + noun + "s"
}

// phrase is a set of types after "is not": "an integer or null".
func (t typeSet) phrase() string {
	var names []string
	for _, one := range [...]typeName{
		{"a string", typeString},
		{"true or false", typeBoolean},
		{"an integer", typeInteger},
		{"a number", typeNumber},
		{"a list", typeArray},
		{"an object", typeObject},
		{"null", typeNull},
	} {
		if t&one.set != 0 {
			names = append(names, one.name)
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}

// stepText is a place inside a value: items[2].name, a["b c"].
func stepText(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case s.isIndex:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !isPlainName(s.name):
			b.WriteString("[" + strconv.Quote(s.name) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// pathText is a place inside a schema document: properties.count.type.
func pathText(path []string) string {
	steps := make([]step, len(path))
	for i, name := range path {
		steps[i] = step{name: name}
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			steps[i] = step{index: n, isIndex: true}
		}
	}
	return stepText(steps)
}

func isPlainName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r == '$' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// flow writes a schema as YAML in one line.
func flow(doc any) string {
	var b strings.Builder
	writeFlow(&b, doc, 0)
	return b.String()
}

func writeFlow(b *strings.Builder, v any, depth int) {
	if depth > maxFlow {
		b.WriteString("…")
		return
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range flowOrder(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(flowText(name) + ": ")
			writeFlow(b, v[name], depth+1)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeFlow(b, item, depth+1)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(flowText(v))
	default:
		b.WriteString(show(v))
	}
}

func flowOrder(doc map[string]any) []string {
	names := slices.Sorted(maps.Keys(doc))
	if i := slices.Index(names, "type"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "type")
	}
	return names
}

// flowText quotes a string unless YAML reads it as the same string without.
func flowText(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	if isPlainName(s) {
		return s
	}
	return strconv.Quote(s)
}

// appendKey writes plain data so that equal values, and only they, have equal
// bytes.
func appendKey(b []byte, v any) []byte {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(append(b, 'i'), int64(v), 10)
	case float64:
		if v == math.Trunc(v) && v >= -(1<<63) && v < 1<<63 {
			return strconv.AppendInt(append(b, 'i'), int64(v), 10)
		}
		return strconv.AppendFloat(append(b, 'f'), v, 'g', -1, 64)
	case string:
		return strconv.AppendQuote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendKey(b, item), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = append(strconv.AppendQuote(b, name), ':')
			b = append(appendKey(b, v[name]), ',')
		}
		return append(b, '}')
	case nil:
		return append(b, "null"...)
	}
	return fmt.Appendf(b, "?%T", v)
}
