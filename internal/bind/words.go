// Texts that stand where an expression is expected.

package bind

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// words is what to say of a value that is meant as a text and read as an
// expression, and how the text is written; not ok when it isn't likely to be one.
func (b *binder) words(text spec.Text, err *eval.Error) (message, quoted string, ok bool) {
	value := strings.TrimSpace(text.Value)
	quoted, can := b.asText(text, value)
	hint := ""
	if can {
		hint = "; a text is written " + quoted
	}
	switch {
	case !can:
		return "", "", false
	case err.Rule == eval.RuleSyntax && err.Suggestion == "" && prose(value):
		return fmt.Sprintf("%q is read as an expression%s", value, hint), quoted, true
	case strings.HasPrefix(err.Message, "unknown name ") && err.Suggestion == "" && err.From == 0 && err.To == len(text.Value) && word(value):
		return err.Message + hint, quoted, true
	}
	return "", "", false
}

// prose reports whether a text is several words, as no expression is.
func prose(text string) bool {
	return regexp.MustCompile(`^\pL[\pL\pN_'’-]*[,;:]?( [\pL\pN_'’-]+[,;:.!?]?)+$|^\pL[\pL\pN_-]*[.!?]$`).MatchString(text)
}

func word(text string) bool { return regexp.MustCompile(`^\pL[\pL\pN_-]*$`).MatchString(text) }

// asText is a text as an expression in quotes of YAML; not ok in a block.
func (b *binder) asText(at spec.Text, text string) (quoted string, ok bool) {
	src := b.graph.File.Src
	if at.Span.From >= len(src) || strings.IndexByte("|>", src[at.Span.From]) >= 0 || strings.ContainsAny(text, "\"\\\n") {
		return "", false
	}
	if !strings.Contains(text, "'") {
		return `"'` + text + `'"`, true
	}
	return `'"` + strings.ReplaceAll(text, "'", "''") + `"'`, true
}
