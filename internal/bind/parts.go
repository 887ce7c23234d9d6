// All that is wrong with a template: its expressions have nothing to do with
// each other.

package bind

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// maxParts bounds the findings in one template.
const maxParts = 20

// parts reports the first error of a template and those of the expressions
// behind it. What can't be read at all ends the search.
func (b *binder) parts(scope *eval.Scope, text spec.Text, err *eval.Error) {
	for range maxParts {
		b.report(text, err)
		end := err.To
		if !strings.HasSuffix(text.Value[:end], "}}") {
			shut := strings.Index(text.Value[end:], "}}")
			if err.Rule == "expr-syntax" || shut < 0 {
				return
			}
			end += shut + len("}}")
		}
		if _, err = scope.Template(strings.Repeat(" ", end) + text.Value[end:]); err == nil {
			return
		}
	}
}
