// Results as a model gets them: bounded, and said so when they were cut.

package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fit returns the result of a call of the named tool as a model should get it:
// the value itself, or the beginning of its text when it is larger than the
// tool's max_result (256 KiB by default), with a line that says so.
func (r *Registry) Fit(name string, result any) any {
	limit := maxResult
	if decl, _, err := r.find(name); err == nil {
		limit = decl.maxResult
	}
	if fit, isParts := fitParts(result, limit); isParts {
		return fit
	}
	content, isText := result.(string)
	if !isText {
		content = Text(result)
	}
	if len(content) <= limit {
		return result
	}
	return cut(content, limit)
}

func cut(text string, limit int) string {
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", headBytes(text, limit), limit, len(text))
}

// fitParts is Fit for a list of parts as Parts makes it: the limit holds for each
// text of it; what is no text would be broken by a cut.
func fitParts(result any, limit int) (any, bool) {
	list, isList := result.([]any)
	media := false
	for _, item := range list {
		fields, _ := item.(map[string]any)
		for _, key := range []string{"audio", "file", "image"} {
			uri, _ := fields[key].(string)
			media = media || strings.HasPrefix(uri, "data:")
		}
	}
	if !isList || !media {
		return result, false
	}
	out := slices.Clone(list)
	for i, item := range list {
		fields, _ := item.(map[string]any)
		if text, isText := fields["text"].(string); isText && len(text) > limit {
			out[i] = map[string]any{"text": cut(text, limit)}
		}
	}
	return out, true
}

// Text is a result as text: texts as they are, anything else as JSON.
func Text(result any) string {
	if s, ok := result.(string); ok {
		return s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		return fmt.Sprint(result)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headBytes is the beginning of s, at most n bytes of whole characters.
func headBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// head is the beginning of a text in a message.
func head(s string, n int) string {
	if cut := headBytes(s, n); cut != s {
		return cut + "…"
	}
	return s
}
