// Errors of expressions, before and during a run.

package eval

import "fmt"

// The rules that an Error may name.
const (
	RuleSyntax     = "expr-syntax"
	RuleType       = "expr-type"
	RuleName       = "expr-unknown-name"
	RuleNotBoolean = "expr-not-boolean"
)

// Error says why a source doesn't compile, or why its evaluation failed. From and To are the
// bytes of the offending token, operand or operation in the source.
type Error struct {
	Rule       string // "" if an evaluation failed
	From, To   int
	Message    string // lower case, one line
	Suggestion string // replacement for the marked text, or ""
}

// Error returns the message alone.
func (e *Error) Error() string { return e.Message }

func errorAt(rule string, from, to int, format string, args ...any) *Error {
	return &Error{Rule: rule, From: from, To: to, Message: fmt.Sprintf(format, args...)}
}

func syntaxAt(from, to int, format string, args ...any) *Error {
	return errorAt(RuleSyntax, from, to, format, args...)
}

func (e *Error) withSuggestion(text string) *Error {
	e.Suggestion = text
	return e
}
