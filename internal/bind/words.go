// Advice on texts in place of expressions.

package bind

import (
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

var (
	// proseText matches several words.
	proseText = lazyregexp.New(`^\pL[\pL\pN_'’-]*[,;:]?( [\pL\pN_'’-]+[,;:.!?]?)+$|^\pL[\pL\pN_-]*[.!?]$`)
	wordText  = lazyregexp.New(`^\pL[\pL\pN_-]*$`)
)

// adviseQuotes adds to the error of an expression that looks like a text how to write a text.
func (b *binder) adviseQuotes(text spec.Text, d *spec.Diagnostic) {
	value, src := strings.TrimSpace(text.Value), b.graph.File.Src
	if d.Suggestion != "" || text.Span.From >= len(src) || strings.IndexByte("|>", src[text.Span.From]) >= 0 || strings.ContainsAny(value, "\"\\\n") {
		return
	}
	message := d.Message
	switch {
	case d.Rule == eval.RuleSyntax && proseText().MatchString(value):
		message = strconv.Quote(value) + " is read as an expression"
	case !strings.HasPrefix(message, "unknown name ") || d.Span != text.At(0, len(text.Value)) || !wordText().MatchString(value):
		return
	}
	d.Suggestion, d.Span = `"'`+value+`'"`, text.Span
	if strings.Contains(value, "'") {
		d.Suggestion = `'"` + strings.ReplaceAll(value, "'", "''") + `"'`
	}
	d.Message = message + "; a text is written " + d.Suggestion
}
