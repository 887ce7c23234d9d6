// JSON on a stream.

package cli

import (
	"encoding/json"
	"io"
)

// writeJSON prints a value as JSON and a line break: indented for a person,
// else in one line. Characters such as < stay as they are.
func writeJSON(w io.Writer, v any, indent bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if indent {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}
