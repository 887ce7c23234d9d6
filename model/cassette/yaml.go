// JSON data as YAML for people: texts of several lines as blocks, small maps
// and lists on one line, keys sorted.

package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineWidth is up to how many bytes a map or list stands on one line.
const lineWidth = 100

// writeField writes a key and its value, indented by so many blanks.
func writeField(out *bytes.Buffer, indent int, name string, v any) {
	fmt.Fprintf(out, "%*s%s:", indent, "", key(name))
	writeValue(out, indent+2, v)
}

// writeValue writes a value behind a key or a dash, and the line's end.
func writeValue(out *bytes.Buffer, indent int, v any) {
	if text, ok := v.(string); ok && isBlock(text) {
		writeBlock(out, indent, text)
		return
	}
	if line := flow(v); len(line) <= lineWidth || !isNested(v) {
		out.WriteString(" " + line + "\n")
		return
	}
	out.WriteString("\n")
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeField(out, indent, name, v[name])
		}
	case []any:
		for _, item := range v {
			fmt.Fprintf(out, "%*s-", indent, "")
			writeItem(out, indent+2, item)
		}
	}
}

// writeItem writes an item behind its dash: the first field of a map stands on
// the dash's line.
func writeItem(out *bytes.Buffer, indent int, v any) {
	fields, ok := v.(map[string]any)
	if !ok || len(flow(v)) <= lineWidth {
		writeValue(out, indent, v)
		return
	}
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i == 0 {
			out.WriteString(" " + key(name) + ":")
			writeValue(out, indent+2, fields[name])
			continue
		}
		writeField(out, indent, name, fields[name])
	}
}

// isNested reports whether a value can stand on lines of its own.
func isNested(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// flow is a value on one line. Texts with several lines make it long enough
// for their parent to be broken up.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		if isBlock(v) {
			return quoted(v) + strings.Repeat(" ", lineWidth)
		}
		return quoted(v)
	case json.Number:
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = flow(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key(name)+": "+flow(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	text, _ := json.Marshal(v) // true, false or null
	return string(text)
}

// key writes a key, quoted where YAML could take it for something else.
func key(name string) string {
	plain := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z')
	}) < 0
	switch name {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		plain = false
	}
	if plain {
		return name
	}
	return quoted(name)
}

// isBlock reports whether a text reads better as a block and can be one: it
// has several lines, no letter that needs an escape, no blanks where a block
// would lose or misread them.
func isBlock(text string) bool {
	if !strings.Contains(strings.TrimSuffix(text, "\n"), "\n") || strings.HasSuffix(text, "\n\n") || strings.HasPrefix(text, "\n") ||
		strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\t") {
		return false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && strings.Trim(line, " \t") == "" {
			return false
		}
		if strings.IndexFunc(line, func(r rune) bool { return r != '\t' && !isPlain(r) }) >= 0 {
			return false
		}
	}
	return true
}

func writeBlock(out *bytes.Buffer, indent int, text string) {
	out.WriteString(" |")
	if !strings.HasSuffix(text, "\n") {
		out.WriteString("-")
	}
	out.WriteString("\n")
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			fmt.Fprintf(out, "%*s%s", indent, "", line)
		}
		out.WriteString("\n")
	}
}

// isPlain reports whether a letter can stand in a file as it is.
func isPlain(r rune) bool {
	return r == ' ' || unicode.IsPrint(r) && r != utf8.RuneError && r != 0xFEFF
}

// quoted writes a text in double quotes, in escapes that JSON and YAML share
// where JSON has them.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case isPlain(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&out, `\U%08X`, r)
		default:
			fmt.Fprintf(&out, `\u%04X`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
