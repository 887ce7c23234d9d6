// Texts that a pattern matches.

package solve

import (
	"regexp/syntax"
	"strings"
)

// Matching returns a short text that a pattern probably matches. It ignores anchors and other
// conditions on the text around. It returns an invalid pattern itself.
func Matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return pattern
	}
	var b strings.Builder
	writeMatch(&b, re.Simplify(), 0)
	return b.String()
}

// maxMatch bounds the texts that patterns match.
const maxMatch = 200

// writeMatch writes a short text that a pattern matches.
func writeMatch(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > 50 || b.Len() > maxMatch {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(usualRune(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		writeMatch(b, re.Sub[0], depth+1)
	case syntax.OpRepeat:
		for range re.Min {
			writeMatch(b, re.Sub[0], depth+1)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			writeMatch(b, sub, depth+1)
		}
	}
}

// usualRune returns a member of a class of characters, preferably a common one.
func usualRune(class []rune) rune {
	for _, r := range "a0A _-" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return r
			}
		}
	}
	return class[0]
}
