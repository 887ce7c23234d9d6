// Roles and types in words.

package bind

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

// textRole returns the role of texts where several forms are allowed.
func textRole(forms []spec.Key) spec.Role {
	for i := range forms {
		if forms[i].Type == spec.TypeString {
			return forms[i].Role
		}
	}
	return spec.RolePlain
}

func isTemplate(text string) bool { return strings.Contains(text, "{{") }

// plural names several values of a type: strings, numbers, lists.
func plural(t eval.Type) string {
	if t.IsAny() {
		return "values"
	}
	return t.String() + "s"
}
