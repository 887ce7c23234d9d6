// What an expression comes to when only some of what it reads is known.

package solve

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
)

// Partial is the value of a part of an expression; read gives the values of the paths
// that are known. Not known where the value depends on others, or is more than
// comparisons of scalars tell.
func Partial(t *eval.Tree, read func(path []string) (value any, known bool)) (value any, known bool) {
	switch t.Op {
	case eval.TreeConst:
		return t.Value, true
	case eval.TreePath:
		return read(t.Path)
	case eval.TreeUnary:
		if v, ok := Partial(t.Args[0], read); ok && t.Name == "not" {
			b, is := v.(bool)
			return !b, is
		}
	case eval.TreeCall:
		if t.Name == "len" && len(t.Args) == 1 {
			v, known := Partial(t.Args[0], read)
			s, is := v.(string)
			return len(s), known && is
		}
	case eval.TreeBinary:
		return partialBinary(t, read)
	}
	return nil, false
}

func partialBinary(t *eval.Tree, read func(path []string) (any, bool)) (value any, known bool) {
	a, knowsA := Partial(t.Args[0], read)
	if t.Name == "in" {
		return partialIn(a, knowsA, t.Args[1])
	}
	b, knowsB := Partial(t.Args[1], read)
	switch t.Name {
	case "??":
		if knowsA && a == nil {
			return b, knowsB
		}
		return a, knowsA
	case "and", "or":
		decides := t.Name == "or"
		if knowsA && a == decides || knowsB && b == decides {
			return decides, true
		}
		return !decides, knowsA && knowsB && a == !decides && b == !decides
	}
	if !knowsA || !knowsB || !isScalar(a) || !isScalar(b) {
		return nil, false
	}
	_, intA := a.(int)
	_, intB := b.(int)
	switch t.Name {
	case "==":
		return a == b, a == nil || b == nil || intA == intB
	case "!=":
		return a != b, a == nil || b == nil || intA == intB
	case "startsWith", "contains", "endsWith":
		s, isS := a.(string)
		part, isPart := b.(string)
		if !isS || !isPart {
			return nil, false
		}
		return map[string]func(string, string) bool{"startsWith": strings.HasPrefix, "contains": strings.Contains, "endsWith": strings.HasSuffix}[t.Name](s, part), true
	case "<", "<=", ">", ">=":
		x, isX := scalar(a)
		y, isY := scalar(b)
		out, is := byValue(t.Name, x, y).(bool)
		return out, is && isX && isY
	}
	return nil, false
}

// partialIn reports whether a text is in a list of constants.
func partialIn(a any, known bool, list *eval.Tree) (in, ok bool) {
	text, isText := a.(string)
	constants := list.Op == eval.TreeList && !slices.ContainsFunc(list.Args, func(c *eval.Tree) bool { return c.Op != eval.TreeConst })
	if !known || !isText || !constants {
		return false, false
	}
	return slices.ContainsFunc(list.Args, func(c *eval.Tree) bool { return c.Value == any(text) }), true
}

// isScalar reports whether a value is a scalar, which can be compared.
func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, int, float64, string:
		return true
	}
	return false
}
