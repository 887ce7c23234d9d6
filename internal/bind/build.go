// Small constructors of bound values.

package bind

import (
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/spec"
)

func find(keys []spec.Key, name string) *spec.Key {
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

// textRole is what a text is where several forms are allowed.
func textRole(forms []spec.Key) spec.Role {
	for i := range forms {
		if forms[i].Type == spec.TypeString {
			return forms[i].Role
		}
	}
	return spec.RolePlain
}

func isTemplate(text string) bool { return strings.Contains(text, "{{") }

// isMisspelt reports whether a reducer is a single word that names none, which
// spec.Parse reports: an expression has more to it, but for current and update.
func isMisspelt(reducer string) bool {
	return reducer != "current" && reducer != "update" && !strings.ContainsFunc(reducer, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// listOf is a list of values, or a constant when all of them are.
func listOf(items []Value) Value {
	for i := range items {
		if !items[i].IsConst() {
			return Value{parts: &parts{items: items}}
		}
	}
	data := make([]any, len(items))
	for i := range items {
		data[i] = items[i].constant
	}
	return Value{constant: data}
}

// mapOf is a map of values, or a constant when all of them are.
func mapOf(fields []Field) Value {
	for i := range fields {
		if !fields[i].Value.IsConst() {
			return Value{parts: &parts{fields: fields, isMap: true}}
		}
	}
	data := make(map[string]any, len(fields))
	for i := range fields {
		data[fields[i].Name] = fields[i].Value.constant
	}
	return Value{constant: data}
}

// withArticle puts "a" or "an" before the name of a type.
func withArticle(name string) string {
	if strings.ContainsRune("aio", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// plural names several values of a type: strings, numbers, lists.
func plural(t eval.Type) string {
	if t.IsAny() {
		return "values"
	}
	return t.String() + "s"
}
