// Differences between two values or texts.

package flowtest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// difference compares lists and objects line by line, or returns nil if one line each says
// it better.
func difference(want, got any) []string {
	w, wok := linesOf(want)
	g, gok := linesOf(got)
	if !wok || !gok || len(w)+len(g) < 4 {
		return nil
	}
	same := sameLine
	if _, names := want.([]string); names {
		same = matchText
	}
	return append([]string{"- want, + got"}, edits(w, g, same)...)
}

// aligned returns what was wanted, with the parts of got that match it: matches of
// patterns, numbers of another type and, for subsets, the other keys.
func aligned(want, got any, subset bool) any {
	if compare(want, got, subset) {
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
				out[name] = aligned(value, own, subset)
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
			out[i] = aligned(w[i], g[i], subset)
		}
		return out
	}
	return want
}

// linesOf writes a list or object with one entry per line.
func linesOf(v any) ([]string, bool) {
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

func sameLine(a, b string) bool { return a == b }

// edits returns the lines of both, and marks those of one side only.
func edits(a, b []string, same func(want, got string) bool) []string {
	if len(a)*len(b) > maxCells {
		return append(marked("- ", a), marked("+ ", b)...)
	}
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same(a[i], b[j]) {
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
		case same(a[i], b[j]):
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
	return append(append(out, marked("- ", a[i:])...), marked("+ ", b[j:])...)
}

func marked(mark string, lines []string) []string {
	return collect(lines, func(line string) string { return mark + line })
}
