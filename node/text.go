// Texts of programs and servers: parsing them as data, shortening them for messages.

package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// detailBytes bounds the output of a program or server in the details of a failure.
const detailBytes = 4 << 10

// tailText returns the end of b, at most size bytes of valid UTF-8.
func tailText(b []byte, size int) string {
	text := validText(b[max(0, len(b)-size-utf8.UTFMax):])
	start := max(0, len(text)-size)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// headText returns the beginning of b, at most size bytes of valid UTF-8.
func headText(b []byte, size int) string {
	return eval.Head(validText(b[:min(len(b), size+utf8.UTFMax)]), size)
}

// validText replaces bytes that are not UTF-8, which JSON can't hold.
func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// lastLine returns the last line with visible text, shortened and without control characters.
func lastLine(s string) string {
	for _, line := range slices.Backward(strings.FieldsFunc(s, func(r rune) bool { return r == '\r' || r == '\n' })) {
		if line = strings.TrimSpace(stripControls(line)); line != "" {
			return eval.Shorten(line, 200)
		}
	}
	return ""
}

// stripControls removes escape sequences and control characters; a tab becomes a space.
func stripControls(s string) string {
	escape := regexp.MustCompile("\x1b(\\[[^@-~]*[@-~]?|(?s:.)?)")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, escape.ReplaceAllString(s, ""))
}

// parseOutput parses the output of a program. mode is auto, json, text or lines; in auto,
// wantsText decides about JSON.
func parseOutput(mode, program string, out []byte, wantsText func(data any, text string) bool) (any, error) {
	switch mode {
	case "text":
		return trimLineBreak(validText(out)), nil
	case "lines":
		lines := []any{}
		for line := range strings.Lines(validText(out)) {
			lines = append(lines, trimLineBreak(line))
		}
		return lines, nil
	case "json":
		v, err := decodeJSON(out)
		if err != nil {
			return nil, newFailure("invalid_output", "the output of %q is not one JSON value: %v%s", program, err, quotedHead(out))
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

func quotedHead(out []byte) string {
	text := strings.TrimSpace(stripControls(strings.ReplaceAll(headText(out, 400), "\n", " ")))
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (it begins %q)", eval.Shorten(text, 80))
}

func trimLineBreak(s string) string {
	if cut, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.TrimSuffix(cut, "\r")
	}
	return s
}

// decodeJSON reads one JSON value as canonical data. Errors say line and column, in bytes from 1.
func decodeJSON(src []byte) (any, error) {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	if len(bytes.TrimSpace(src)) == 0 {
		return nil, errors.New("it is empty")
	}
	v, err := eval.ParseJSON(src)
	if err == nil {
		return v, nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(src, new(json.RawMessage))); ok {
		before := src[:syntax.Offset]
		return nil, fmt.Errorf("line %d, column %d: %w", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')-1, syntax)
	}
	return nil, err
}
