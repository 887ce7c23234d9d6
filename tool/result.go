// Results for models: cut to max_result, with a note.

package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// Fit returns a tool's result for a model: the value, or the beginning of its text if it
// is larger than max_result, with a line that says so.
func (r *Registry) Fit(name string, result any) any {
	limit := maxResult
	if decl, _, err := r.find(name); err == nil {
		limit = decl.MaxResult
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
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", eval.Head(text, limit), limit, len(text))
}

// fitParts fits each text of a list of parts; a cut would break other parts.
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

// Text returns a result as text: a string as it is, anything else as JSON.
func Text(result any) string {
	if s, ok := result.(string); ok {
		return s
	}
	text, err := eval.AppendJSON(nil, result)
	if err != nil {
		return fmt.Sprint(result)
	}
	return string(text)
}
