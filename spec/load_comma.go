// Texts without quotes that a comma of a map in { } cuts off.

package spec

import (
	"fmt"
	"strings"
)

// rejoin reports the values of a map in brackets that a comma has cut off, as in
// {delay: min(delay * 2, 5)}, and puts them together again, so that nothing is
// reported as a consequence.
func (c *converter) rejoin(fields []Field) []Field {
	for i := 0; i+1 < len(fields); i++ {
		f := &fields[i]
		if f.Value.Kind != String || !c.isPlain(f.Value.Text) || openBrackets(f.Value.Text.Value) <= 0 {
			continue
		}
		end := i + 1
		for open := openBrackets(f.Value.Text.Value); end < len(fields) && open > 0 && isRemnant(&fields[end]); end++ {
			open += openBrackets(fields[end].Key.Value)
		}
		if end == i+1 {
			continue
		}
		span := Span{f.Value.Span.From, fields[end-1].Key.Span.To}
		whole := string(c.file.Src[span.From:span.To])
		if strings.ContainsAny(whole, "\r\n") {
			continue
		}
		quoted := quotedScalar(whole)
		c.diags = append(c.diags, Diagnostic{
			File: c.file, Rule: "syntax", Severity: Error, Span: span, Suggestion: quoted,
			Message: fmt.Sprintf("a comma ends a text between { and }; put the text in quotes: %s", quoted),
		})
		f.Value = Value{Kind: String, Text: Text{Value: whole, Span: span, source: c.source}}
		fields = append(fields[:i+1], fields[end:]...)
	}
	return fields
}

// isPlain reports whether a text stands in the file without quotes.
func (c *converter) isPlain(t Text) bool {
	at := t.Span.From
	return at < len(c.file.Src) && strings.IndexByte(`"'|>`, c.file.Src[at]) < 0
}

// isRemnant reports whether an entry is only a key: what stands between commas.
func isRemnant(f *Field) bool {
	return f.Value.Kind == Null && f.Value.Text.Value == "" && f.Key.Span.To > f.Key.Span.From
}

// openBrackets counts the round and square brackets that a text leaves open.
func openBrackets(text string) int {
	return strings.Count(text, "(") + strings.Count(text, "[") - strings.Count(text, ")") - strings.Count(text, "]")
}

// quotedScalar is a text in quotes of YAML.
func quotedScalar(text string) string {
	if !strings.ContainsAny(text, `"\`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
