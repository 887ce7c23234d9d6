// JSON on a stream.

package cli

import (
	"bytes"
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

// jsonArray writes an array item by item, as writeJSON writes it whole.
type jsonArray struct {
	w      io.Writer
	indent bool
	some   bool
}

func (a *jsonArray) add(v any) error {
	before := ","
	if !a.some {
		before, a.some = "[", true
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if a.indent {
		before += "\n  "
		enc.SetIndent("  ", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.w.Write(append([]byte(before), bytes.TrimSuffix(text.Bytes(), []byte("\n"))...))
	return err
}

func (a *jsonArray) close() error {
	end := "]\n"
	switch {
	case !a.some:
		end = "[]\n"
	case a.indent:
		end = "\n]\n"
	}
	_, err := io.WriteString(a.w, end)
	return err
}
