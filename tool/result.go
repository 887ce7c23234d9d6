// Results as a model gets them: bounded, and said so when they were cut.

package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	content, isText := result.(string)
	if !isText {
		content = Text(result)
	}
	if len(content) <= limit {
		return result
	}
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", headBytes(content, limit), limit, len(content))
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
