// Folding, highlights and semantic tokens.

package lsp

import (
	"slices"
	"strings"
)

// listFolds returns a range for each line with deeper indented lines below it.
func listFolds(d *document, _ *params) (any, error) {
	type fold struct {
		Start  int `json:"startLine"`
		End    int `json:"endLine"`
		indent int
	}
	folds := []fold{} // End is 0 while no deeper line has come
	for n := range d.text.lines {
		line := d.text.line(n)
		content := strings.TrimLeft(line, " ")
		if content == "" || content[0] == '#' {
			continue
		}
		indent := len(line) - len(content)
		for i := range folds {
			if f := &folds[i]; f.indent < indent {
				f.End = n
			} else {
				f.indent = len(d.text.src) // complete: no line is indented deeper
			}
		}
		folds = append(folds, fold{Start: n, indent: indent})
	}
	return slices.DeleteFunc(folds, func(f fold) bool { return f.End == 0 }), nil
}

func listHighlights(d *document, p *params) (any, error) {
	out := []object{}
	for _, u := range d.findUses(d.findUse(p.Position)) {
		kind := 2 // read
		if u.decl || u.write {
			kind = 3 // write
		}
		out = append(out, object{"range": d.text.span(u.from, u.to), "kind": kind})
	}
	return out, nil
}

// tokenTypes is the legend of semantic tokens.
var tokenTypes = []string{"variable", "property", "function", "string", "number", "keyword", "class"}

// listTokens returns the tokens of all expressions in the protocol's encoding: five numbers
// each, with lines and characters relative to the previous token.
func listTokens(d *document, _ *params) (any, error) {
	data := []int{}
	if d.names == nil {
		return object{"data": data}, nil
	}
	isNode := map[int]bool{} // by offset
	for _, u := range d.names.uses {
		isNode[u.from] = isNode[u.from] || u.kind == "node"
	}
	src, before, end := d.text.src, position{}, 0
	for _, e := range slices.SortedFunc(slices.Values(d.names.exprs), func(a, b [2]int) int { return a[0] - b[0] }) {
		if e[0] < end {
			continue // an expression in an expression
		}
		end = e[1]
		for _, t := range exprToken().FindAllStringIndex(src[e[0]:e[1]], -1) {
			from, to := e[0]+t[0], e[0]+t[1]
			kind := classifyToken(src, from, to)
			if isNode[from] {
				kind = "class"
			}
			at, stop := d.text.position(from), d.text.position(to)
			if kind == "" || at.Line != stop.Line {
				continue
			}
			delta := at.Character
			if at.Line == before.Line {
				delta -= before.Character
			}
			data = append(data, at.Line-before.Line, delta, stop.Character-at.Character, slices.Index(tokenTypes, kind), 0)
			before = at
		}
	}
	return object{"data": data}, nil
}

// classifyToken returns the type of a token, or "" for operators.
func classifyToken(src string, from, to int) string {
	word := src[from:to]
	switch c := word[0]; {
	case len(word) > 1 && strings.ContainsRune(`"'`, rune(c)):
		return "string"
	case c >= '0' && c <= '9':
		return "number"
	case slices.Contains(strings.Fields("and or not in true false nil null None True False contains startsWith endsWith matches let"), word):
		return "keyword"
	case c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'):
		return ""
	case from > 0 && src[from-1] == '.':
		return "property"
	case strings.HasPrefix(src[to:], "("):
		return "function"
	}
	return "variable"
}
