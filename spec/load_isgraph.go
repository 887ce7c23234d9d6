// Whether a file is a graph file, without parsing it.

package spec

import (
	"bytes"
	"regexp"
)

var (
	blockKey = regexp.MustCompile(`(?m)^([ \t]*)(?:graphrun[ \t]*:(?:\s|$)|(?:"graphrun"|'graphrun')[ \t]*:)`)
	flowKey  = regexp.MustCompile(`[{,]\s*(?:graphrun\s*:(?:\s|$)|(?:"graphrun"|'graphrun')\s*:)`)
	noKey    = regexp.MustCompile(`"(?:\\.|[^"\\])*"?|'[^']*'?|#.*`)
)

// IsGraph reports whether a text has "graphrun" among its top-level keys. It
// reads broken text too, so that a graph file with a syntax error is still
// reported as one, and looks at no value.
func IsGraph(src []byte) bool {
	src = bytes.TrimPrefix(src, []byte(byteOrderMark))
	if !bytes.Contains(src, []byte("graphrun")) {
		return false
	}
	for line := range bytes.Lines(src) {
		text := bytes.TrimLeft(line, " \t\r\n")
		switch {
		case len(text) == 0, text[0] == '#', text[0] == '%', bytes.HasPrefix(line, []byte("---")):
			continue
		case text[0] == '{':
			return flowHasKey(src)
		}
		for _, at := range blockKey.FindAllSubmatchIndex(src, -1) {
			if at[3]-at[2] == len(line)-len(text) {
				return true
			}
		}
		return false
	}
	return false
}

// flowHasKey looks for the key inside the outermost braces of a map in flow style, such
// as JSON.
func flowHasKey(src []byte) bool {
	bare := noKey.ReplaceAllFunc(src, func(s []byte) []byte {
		if string(s) == `"graphrun"` || string(s) == `'graphrun'` {
			return s
		}
		return nil
	})
	for _, at := range flowKey.FindAllIndex(bare, -1) {
		before := string(bare[:at[0]+1])
		depth := 0
		for _, c := range before {
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
		}
		if depth == 1 {
			return true
		}
	}
	return false
}
