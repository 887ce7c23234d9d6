// Texts that stand where an expression is expected.

package bind

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

var (
	// proseText matches several words, which are no expression.
	proseText = lazyregexp.New(`^\pL[\pL\pN_'’-]*[,;:]?( [\pL\pN_'’-]+[,;:.!?]?)+$|^\pL[\pL\pN_-]*[.!?]$`)
	wordText  = lazyregexp.New(`^\pL[\pL\pN_-]*$`)
)

// adviseQuotes returns a message about a value that is likely to be meant as a text, and the text
// as an expression; the message is "" for other values.
func (b *binder) adviseQuotes(text spec.Text, err *eval.Error) (message, quoted string) {
	value, src := strings.TrimSpace(text.Value), b.graph.File.Src
	if err.Suggestion != "" || text.Span.From >= len(src) || strings.IndexByte("|>", src[text.Span.From]) >= 0 || strings.ContainsAny(value, "\"\\\n") {
		return "", ""
	}
	quoted = `"'` + value + `'"`
	if strings.Contains(value, "'") {
		quoted = `'"` + strings.ReplaceAll(value, "'", "''") + `"'`
	}
	hint := "; a text is written " + quoted
	switch {
	case err.Rule == eval.RuleSyntax && proseText().MatchString(value):
		return fmt.Sprintf("%q is read as an expression%s", value, hint), quoted
	case strings.HasPrefix(err.Message, "unknown name ") && err.From == 0 && err.To == len(text.Value) && wordText().MatchString(value):
		return err.Message + hint, quoted
	}
	return "", ""
}
