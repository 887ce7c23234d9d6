// Turning bytes into data: the parse modes of exec, and JSON in general.

package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
)

// parseOutput parses the output of a program. mode is auto, json, text or lines; wantsText
// decides in auto about output that is both text and JSON.
func parseOutput(mode, program string, out []byte, wantsText func(data any, text string) bool) (any, error) {
	switch mode {
	case "text":
		return trimLineBreak(validText(out)), nil
	case "lines":
		return splitLines(validText(out)), nil
	case "json":
		v, err := decodeJSON(out)
		if err != nil {
			return nil, &runner.Failure{
				Kind:    "invalid_output",
				Message: fmt.Sprintf("the output of %q is not one JSON value: %v%s", program, err, quotedHead(out)),
			}
		}
		return v, nil
	default:
		text := trimLineBreak(validText(out))
		if v, err := decodeJSON(out); err == nil && (wantsText == nil || !wantsText(v, text)) {
			return v, nil
		}
		return text, nil
	}
}

// quotedHead quotes the beginning of unreadable output.
func quotedHead(out []byte) string {
	text := strings.TrimSpace(plain(strings.ReplaceAll(headText(out, 400), "\n", " ")))
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (it begins %q)", head(text, 80))
}

// trimLineBreak drops one "\n" or "\r\n" at the end.
func trimLineBreak(s string) string {
	if cut, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(cut, "\r")
	}
	return s
}

func splitLines(s string) []any {
	lines := []any{}
	for line := range strings.Lines(s) {
		lines = append(lines, trimLineBreak(line))
	}
	return lines
}

// decodeJSON reads exactly one JSON value as canonical data. The error names the position.
func decodeJSON(src []byte) (any, error) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, errors.New("it is empty")
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, describeJSON(src, err)
	}
	rest := src[dec.InputOffset():]
	if more := bytes.TrimLeft(rest, " \t\r\n"); len(more) > 0 {
		return nil, fmt.Errorf("%s: more text after the value", linePosition(src, len(src)-len(more)))
	}
	return eval.Canonical(v)
}

func describeJSON(src []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		// Offset counts the bytes read, the offending one included.
		return fmt.Errorf("%s: %s", linePosition(src, int(syntax.Offset)-1), syntax.Error())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: it ends in the middle of a value", linePosition(src, len(src)))
	}
	return err
}

// linePosition names the line and column (in bytes, from 1) of an offset.
func linePosition(src []byte, offset int) string {
	before := src[:max(0, min(offset, len(src)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// encodeJSON writes a value as one line of JSON with its line break.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
