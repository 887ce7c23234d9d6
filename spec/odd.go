// Characters that are invisible or look like others.

package spec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// oddRunes are characters that people do not see or mistake, and their replacements.
var oddRunes = []struct{ runes, name, write string }{
	{"\u00a0", "a no-break space", " "},
	{"\u200b", "a zero-width space", ""},
	{"\ufeff", "a byte order mark", ""},
	{"‘’‚", "a typographic quote", "'"},
	{"“”„«»", "a typographic quote", `"`},
	{"–—", "a dash", "-"},
	{"−", "a minus sign that is not a hyphen", "-"},
	{"：", "a wide colon", ":"},
}

// findOdd returns the name and the replacement of an odd character, or "".
func findOdd(r rune) (name, write string) {
	for _, row := range oddRunes {
		if strings.ContainsRune(row.runes, r) {
			return row.name, row.write
		}
	}
	switch {
	case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp) && r != ' ':
		return "an odd space", " "
	case unicode.Is(unicode.Cf, r):
		return "an invisible character", ""
	}
	return "", ""
}

func isOdd(r rune) bool {
	name, _ := findOdd(r)
	return name != ""
}

// isUnseen reports whether people do not see a character.
func isUnseen(r rune) bool {
	_, write := findOdd(r)
	return isOdd(r) && (write == "" || write == " ")
}

func dropUnseen(r rune) rune {
	if isUnseen(r) {
		return -1
	}
	return r
}

// blamesText lists the rules whose findings are about the characters of their text.
const blamesText = "syntax invalid-value unknown-key unknown-node unknown-state-key reserved-name " +
	"expr-syntax expr-unknown-name unknown-tool unknown-model-provider type-mismatch"

// NameOdd adds to findings the odd character that causes them, and moves them to its place:
// nobody sees a no-break space in the source line.
func (ds Diagnostics) NameOdd() Diagnostics {
	ds.Locate()
	for i := range ds {
		d := &ds[i]
		if hasWord(blamesText, d.Rule) {
			d.nameOdd()
		}
		d.Message = visible(d.Message)
	}
	return ds
}

func (d *Diagnostic) nameOdd() {
	line, _, _ := strings.Cut(string(d.File.Src[d.Span.From:d.Span.To]), "\n")
	at := strings.IndexFunc(line, isOdd)
	if at < 0 {
		return
	}
	r, size := utf8.DecodeRuneInString(line[at:])
	name, write := findOdd(r)
	before := strings.TrimRight(line[:at], " ")
	if d.Rule == "syntax" && !isUnseen(r) && (write == "-" || before != "" && strings.IndexByte(":-,[{", before[len(before)-1]) < 0) {
		return // it may stand in a text
	}
	say := "write " + write
	switch {
	case write == "":
		say = "leave it out"
	case write == " ":
		say = "write a plain space"
	case write == `"` && strings.HasPrefix(d.Rule, "expr-"):
		write, say = "'", "write '" // expressions often stand in double quotes themselves
	}
	from := d.Span.From + at
	d.Span, d.Suggestion = Span{from, from + size}, write
	d.Message += fmt.Sprintf("; there is %s (U+%04X) here: %s", name, r, say)
}

var escapedRune = lazyregexp.New(`\\u([0-9a-f]{4})|[^\x00-\x7f]`)

// visible writes characters that nobody sees as <U+00A0>.
func visible(text string) string {
	return escapedRune().ReplaceAllStringFunc(text, func(s string) string {
		r, _ := utf8.DecodeRuneInString(s)
		if s[0] == '\\' {
			n, _ := strconv.ParseUint(s[2:], 16, 32)
			r = rune(n)
		}
		if isUnseen(r) {
			return fmt.Sprintf("<U+%04X>", r)
		}
		return s
	})
}
