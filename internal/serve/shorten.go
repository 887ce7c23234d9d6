// Short responses: JSON with shortened texts, for the page.

package serve

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// longText and longOutput bound the bytes of a text as JSON and of a piece of output. An eighth
// of a longer text is kept.
const (
	longText   = 64 << 10
	longOutput = 4 << 10
)

// shorten shortens long texts in JSON and appends the number of missing bytes. It returns the
// same slice if nothing is too long.
func shorten(text []byte, long int) []byte {
	if len(text) <= long {
		return text
	}
	var out []byte
	from := 0
	for at := 0; ; {
		open := bytes.IndexByte(text[at:], '"')
		if open < 0 {
			break
		}
		begin := at + open + 1
		end := endOfText(text, begin)
		if end-begin > long {
			cut := begin
			for cut < begin+long/8 {
				cut += characterSize(text[cut:])
			}
			out = append(out, text[from:cut]...)
			out = fmt.Appendf(out, "… (%d more bytes)", end-cut)
			from = end
		}
		at = min(end+1, len(text))
	}
	if out == nil {
		return text
	}
	return append(out, text[from:]...)
}

// endOfText returns the offset of the closing quote of a text.
func endOfText(text []byte, at int) int {
	for at < len(text) {
		next := bytes.IndexAny(text[at:], `"\`)
		if next < 0 {
			break
		}
		at += next
		if text[at] == '"' {
			return at
		}
		at += 2
	}
	return len(text)
}

// characterSize returns the bytes of the first character of a JSON text.
func characterSize(text []byte) int {
	switch {
	case text[0] != '\\':
		_, n := utf8.DecodeRune(text)
		return n
	case text[1] == 'u':
		return 6
	}
	return 2
}
