// Comparisons of type(x) with a word that type() never returns.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/suggest"
)

// typeNames reports comparisons of type(x) with a word that type() never returns.
func (f *facts) typeNames() {
	for _, u := range f.uses().All {
		u.Program.Tree().Each(func(t *eval.Tree) {
			if t.Op != eval.TreeBinary || len(t.Args) != 2 || t.Name != "==" && t.Name != "!=" && t.Name != "in" {
				return
			}
			for i, side := range t.Args {
				if side.Op != eval.TreeCall || side.Name != "type" || t.Name == "in" && i > 0 {
					continue
				}
				words := []*eval.Tree{t.Args[1-i]}
				if t.Name == "in" {
					words = t.Args[1].Args
				}
				for _, c := range words {
					if word, isText := c.Value.(string); c.Op == eval.TreeConst && isText && !slices.Contains(typeWords(), word) {
						f.report(u.Span(), "type(…) is never %q%s", word, rightTypeWord(word))
					}
				}
			}
		})
	}
}

// typeWords lists the results of type(x).
func typeWords() []string {
	return []string{"null", "boolean", "integer", "number", "string", "list", "object"}
}

// rightTypeWord returns the end of the message: the word that was probably meant.
func rightTypeWord(word string) string {
	others := map[string]string{
		"array": "list", "slice": "list", "tuple": "list", "map": "object", "dict": "object", "struct": "object", "record": "object",
		"int": "integer", "int64": "integer", "float": "number", "float64": "number", "double": "number", "bool": "boolean",
		"str": "string", "text": "string", "nil": "null", "none": "null", "None": "null", "undefined": "null",
	}
	right := others[word]
	if right == "" {
		right = suggest.Closest(word, typeWords())
	}
	if right == "" {
		return "; it is boolean, integer, list, null, number, object or string"
	}
	return "; did you mean " + strconv.Quote(right) + "?"
}
