// Descriptions of the values of keys for messages and reference pages.

package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/suggest"
)

// describeKey returns a description of the values that a key accepts.
func describeKey(k *Key) string {
	switch {
	case k.Type == TypeEnum:
		return listNames(k.Enum)
	case k.Type == TypeList:
		return "a list of " + pluralOf(k.Elem)
	case k.Type == TypeOneOf:
		return describeForms(k.Forms)
	case k.Type == TypeText && k.Elem != nil:
		return "a text, {file: path} or a list of parts"
	case k.Type == TypeName && k.Role == RoleNode:
		return "the name of a node"
	case k.Type == TypeString && k.Role == RoleState:
		return "the name of a state key"
	case k.Type == TypeString && k.Role == RoleExpr:
		return "an expression"
	case k.Type == TypeDuration && k.Role == RoleExpr:
		return types[k.Type].words + ", or an expression that gives such a text or seconds"
	}
	return types[k.Type].words + describeBounds(k)
}

// describeForms returns a description of the values of all forms, without repeated words.
func describeForms(forms []Key) string {
	var words []string
	for i := range forms {
		if i > 0 && forms[i].Type == TypeList && forms[i].Elem.Type == TypeEnum && slices.Equal(forms[i].Elem.Enum, forms[i-1].Enum) {
			words[i-1] += ","
			words = append(words, "a list of these")
			continue
		}
		words = append(words, describeKey(&forms[i]))
	}
	return strings.Join(words, " or ")
}

func pluralOf(k *Key) string {
	switch {
	case k.Type == TypeEnum:
		return listNames(k.Enum)
	case k.Type == TypeName:
		return "names of nodes"
	case k.Role == RoleState:
		return "names of state keys"
	case k.Type == TypeString, k.Type == TypeInt, k.Type == TypeObject, k.Type == TypeMap, k.Type == TypeSchema:
		_, noun, _ := strings.Cut(describeKey(&Key{Type: k.Type, Role: k.Role}), " ")
		return noun + "s"
	}
	return "values"
}

func describeBounds(k *Key) string {
	switch {
	case k.Positive && k.Max != nil:
		return fmt.Sprintf(" greater than 0 and at most %.0f", *k.Max)
	case k.Positive:
		return " greater than 0"
	case k.Min != nil && k.Max != nil:
		return fmt.Sprintf(" from %g to %g", *k.Min, *k.Max)
	case k.Min != nil:
		return fmt.Sprintf(" of at least %g", *k.Min)
	}
	return ""
}

// listNames joins sorted alternatives: a, b or c.
func listNames(names []string) string {
	return suggest.Or(slices.Sorted(slices.Values(names)))
}
