// Labels that fit beside an arrow: long expressions are wrapped, then elided.

package render

import (
	"strings"
	"unicode/utf8"
)

const (
	labelWidth = 28 // characters in a line of a label
	labelLines = 4
)

// wrap breaks a text into at most labelLines lines of about labelWidth
// characters, between words; what is left over becomes "…". Line breaks of the
// text itself are as good as spaces.
func wrap(s string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		word = elide(word, labelWidth+8)
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= labelWidth:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > labelLines {
		lines = lines[:labelLines]
		lines[labelLines-1] += " …"
	}
	return strings.Join(lines, "\n")
}

// elide cuts a text to at most n characters, the last being "…" when cut.
func elide(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
