// What can go wrong with an expression, before and during a run.

package eval

// The rules that an Error may name.
const (
	RuleSyntax     = "expr-syntax"
	RuleType       = "expr-type"
	RuleName       = "expr-unknown-name"
	RuleNotBoolean = "expr-not-boolean"
)

// Error says why a source doesn't compile. From and To are byte offsets into
// the source that was given to Compile or Template and mark the offending
// token or operand.
type Error struct {
	Rule       string
	From, To   int
	Message    string // lower case, one line
	Suggestion string // replacement for the marked text, or ""
}

// Error is the message alone; the place is for those who know the file.
func (e *Error) Error() string { return e.Message }

// RunError says why an expression failed on the values of one evaluation.
// From and To mark the operation in the source, as bytes.
type RunError struct {
	From, To int
	Message  string
}

// Error is the message alone.
func (e *RunError) Error() string { return e.Message }
