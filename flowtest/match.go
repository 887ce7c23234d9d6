// Comparing expected with actual values.

package flowtest

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// isPattern reports whether a text stands for a regular expression: /…/.
func isPattern(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/")
}

// trimSlashes returns a pattern without its slashes.
func trimSlashes(text string) string {
	if isPattern(text) {
		return text[1 : len(text)-1]
	}
	return text
}

// matchText reports whether a text equals want, or matches /want/.
func matchText(want, got string) bool {
	if !isPattern(want) {
		return want == got
	}
	pattern, err := regexp.Compile(trimSlashes(want))
	return err == nil && (pattern.MatchString(got) || want == got)
}

// matchSubset is matchValue where objects may have more keys.
func matchSubset(want, got any) bool { return matchValue(want, got, true) }

// matchValue reports whether a value matches. A text may be a /pattern/, and numbers of different
// types can be equal. With subset, objects may have more keys.
func matchValue(want, got any, subset bool) bool {
	switch w := want.(type) {
	case string:
		if text, ok := got.(string); ok {
			return matchText(w, text)
		}
		return isPattern(w) && got != nil && matchText(w, eval.Text(got))
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || !subset && len(g) != len(w) {
			return false
		}
		for name, value := range w {
			own, there := g[name]
			if !there && value != nil || !there && !subset || !matchValue(value, own, subset) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !matchValue(w[i], g[i], subset) {
				return false
			}
		}
		return true
	case int, float64:
		g, isNumber := eval.Number(got)
		own, _ := eval.Number(want)
		return isNumber && own == g
	}
	return want == got
}

// formatValue writes a value for a message.
func formatValue(v any) string {
	if text, ok := v.(string); ok && !strings.Contains(text, "\n") {
		return text
	}
	if list, ok := v.([]string); ok {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return jsonText(v)
}

// diffValues compares lists and objects line by line. It returns nil for short values.
func diffValues(want, got any) []string {
	w, wok := splitLines(want)
	g, gok := splitLines(got)
	if !wok || !gok || len(w)+len(g) < 4 {
		return nil
	}
	return append([]string{"- want, + got"}, diffLines(w, g)...)
}

// alignValue replaces the parts of want that match got by those of got, so that a difference
// does not show them. With subset, it adds the keys that only got has.
func alignValue(want, got any, subset bool) any {
	if matchValue(want, got, subset) {
		return got
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return want
		}
		out := map[string]any{}
		for name, value := range w {
			out[name] = value
			if own, there := g[name]; there {
				out[name] = alignValue(value, own, subset)
			}
		}
		for name, value := range g {
			if _, named := w[name]; !named && subset {
				out[name] = value
			}
		}
		return out
	case []any:
		g, _ := got.([]any)
		out := slices.Clone(w)
		for i := range min(len(w), len(g)) {
			out[i] = alignValue(w[i], g[i], subset)
		}
		return out
	}
	return want
}

// splitLines writes a list or object with one entry per line.
func splitLines(v any) ([]string, bool) {
	if list, isList := v.([]string); isList {
		return slices.Clone(list), true
	}
	if kind := reflect.ValueOf(v).Kind(); kind != reflect.Map && kind != reflect.Slice {
		return nil, false
	}
	text, err := json.MarshalIndent(v, "", "  ")
	return strings.Split(string(text), "\n"), err == nil
}

// maxCells bounds the table of the longest common subsequence.
const maxCells = 1 << 20

// diffLines marks the lines that only one list has. Lines of the first may be patterns.
func diffLines(a, b []string) []string {
	if len(a)*len(b) > maxCells {
		return append(prefixLines("- ", a), prefixLines("+ ", b)...)
	}
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if matchText(a[i], b[j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case matchText(a[i], b[j]):
			out = append(out, "  "+b[j])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return append(append(out, prefixLines("- ", a[i:])...), prefixLines("+ ", b[j:])...)
}

func prefixLines(mark string, lines []string) []string {
	return collect(lines, func(line string) string { return mark + line })
}
