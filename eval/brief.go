// Values without long data URIs, for people and models.

package eval

import (
	"fmt"
	"strings"
)

// shortURI bounds the data URIs that stay, in bytes.
const shortURI = 200

// Brief replaces long data URIs in a value by a note such as [image/png, 12.3 kB].
func Brief(v any) any { return MapTexts(v, briefText) }

// MapTexts returns a copy of plain data whose texts, other than keys, are changed.
func MapTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = MapTexts(v[i], change)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = MapTexts(value, change)
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
