// Values for people and models to read as a text: without bytes that say nothing there.

package eval

import (
	"fmt"
	"strings"
)

// shortURI is up to how many bytes a data URI stays as it is.
const shortURI = 200

// Brief is a value in which long data URIs, as images and files of tools are, have
// given way to a word on them: [image/png, 12.3 kB].
func Brief(v any) any {
	switch v := v.(type) {
	case string:
		return briefText(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Brief(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = Brief(value)
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
