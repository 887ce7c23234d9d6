// Cutting what programs and servers say down to what fits into a message.

package node

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// detailBytes is how much of a stream goes into a failure's details.
const detailBytes = 4 << 10

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	keep int
	buf  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > t.keep {
		p = p[n-t.keep:]
	}
	t.buf = append(t.buf, p...)
	// Moving down only when twice full keeps the cost per byte constant.
	if len(t.buf) > 2*t.keep {
		t.buf = t.buf[:copy(t.buf, t.buf[len(t.buf)-t.keep:])]
	}
	return n, nil
}

func (t *tail) String() string { return tailText(t.buf, t.keep) }

// tailText is the end of b, at most size bytes of valid UTF-8.
func tailText(b []byte, size int) string {
	if len(b) > size {
		b = b[len(b)-size:]
		for i := 0; i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
			b = b[1:]
		}
	}
	return shrink(validText(b), size, false)
}

// headText is the beginning of b, at most size bytes of valid UTF-8.
func headText(b []byte, size int) string {
	if len(b) > size {
		b = b[:size]
		for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
			if c := b[len(b)-i]; utf8.RuneStart(c) {
				if !utf8.FullRune(b[len(b)-i:]) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	return shrink(validText(b), size, true)
}

// shrink cuts s, which replaced bytes may have made longer, to size bytes.
func shrink(s string, size int, front bool) string {
	for len(s) > size {
		if front {
			_, n := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-n]
		} else {
			_, n := utf8.DecodeRuneInString(s)
			s = s[n:]
		}
	}
	return s
}

// validText is b with bytes that are no UTF-8 replaced, so that it survives JSON.
func validText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// head is the beginning of s, at most size characters, with … if it was cut.
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

// lastLine is the last line of s that has visible text, fit for a message: no
// escape sequences or control characters, at most 200 characters.
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

// plain drops terminal escape sequences and control characters; a tab becomes
// a space.
func plain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			i += escapeLen(s[i:])
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case !unicode.IsControl(r):
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// escapeLen is the length of the escape sequence that s begins with: ESC [ …
// up to its final byte, or ESC and one more byte.
func escapeLen(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return min(2, len(s))
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
	}
	return len(s)
}
