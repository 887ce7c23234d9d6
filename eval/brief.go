// Values without long data URIs, for people and models.

package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shortURI bounds the data URIs that stay, in bytes.
const shortURI = 200

// Brief replaces long data URIs in a value by a note such as [image/png, 12.3 kB].
func Brief(v any) any { return MapTexts(v, briefText) }

// MapTexts returns a copy of plain data with changed texts. Keys stay.
func MapTexts(v any, change func(string) string) any {
	return rewrite(v, func(v any) (any, bool) {
		text, isText := v.(string)
		return change(text), isText
	})
}

// rewrite returns a copy of plain data with the replacements of parts. It asks replace about each
// part before its own parts, in the order of keys.
func rewrite(v any, replace func(v any) (any, bool)) any {
	if out, replaced := replace(v); replaced {
		return out
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = rewrite(v[i], replace)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = rewrite(v[key], replace)
		}
		return out
	}
	return v
}

func briefText(text string) string {
	if len(text) <= shortURI || !strings.HasPrefix(text, "data:") {
		return text
	}
	head, data, found := strings.Cut(text[len("data:"):], ",")
	kind, coded := strings.CutSuffix(head, ";base64")
	if !found || !coded || len(head) > shortURI {
		return text
	}
	return fmt.Sprintf("[%s, %.1f kB]", kind, float64(len(data))*3/4/1000)
}
