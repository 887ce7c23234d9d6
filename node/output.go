// Turning bytes into data: the parse modes of exec, and JSON in general.

package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// decodeJSON reads exactly one JSON value as canonical data. The error names the position,
// in bytes from 1.
func decodeJSON(src []byte) (any, error) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, errors.New("it is empty")
	}
	v, err := eval.ParseJSON(src)
	var raw json.RawMessage
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(src, &raw), &syntax) {
		before := src[:syntax.Offset]
		return nil, fmt.Errorf("line %d, column %d: %w", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')-1, syntax)
	}
	return v, err
}
