// Cutting what programs and servers say down to what fits into a message.

package node

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
)

// detailBytes bounds a stream in the details of a failure.
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

// head returns the first size characters of s, with … if it was cut.
func head(s string, size int) string {
	n := 0
	for i := range s {
		if n == size {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// lastLine returns the last line with visible text, cut and cleaned for a message.
func lastLine(s string) string {
	for len(s) > 0 {
		s = strings.TrimRight(s, "\r\n")
		i := strings.LastIndexAny(s, "\r\n") + 1
		if line := strings.TrimSpace(plain(s[i:])); line != "" {
			return head(line, 200)
		}
		s = s[:i]
	}
	return ""
}

// plain removes escape sequences and control characters; a tab becomes a space.
func plain(s string) string {
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
