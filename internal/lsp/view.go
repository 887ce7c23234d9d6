// Folding, semantic tokens, signatures and lenses.

package lsp

import (
	_ "embed"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/spec"
)

// functionTable is the table of functions in docs/expressions.md, without its head.
//
//go:embed functions.md
var functionTable string

// function is the documentation of a function.
type function struct{ example, value, note string }

// functions returns the documented functions by name.
var functions = sync.OnceValue(func() map[string]function {
	out := map[string]function{}
	for _, line := range strings.Split(strings.TrimSpace(functionTable), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		for len(cells) < 3 {
			cells = append(cells, "")
		}
		plain := func(s string) string { return strings.Trim(strings.TrimSpace(s), "`|") }
		example := plain(cells[0])
		name, _, _ := strings.Cut(example, "(")
		out[name] = function{example, plain(cells[1]), strings.TrimSpace(strings.Trim(cells[2], "| "))}
	}
	return out
})

func (f *function) describe() string {
	out := "`" + f.example + "` is `" + f.value + "`"
	if f.note != "" {
		out += "\n\n" + f.note
	}
	return out
}

// folds returns a range for each line with deeper indented lines below it.
func folds(d *document, _ *params) (any, error) {
	ends := map[int]int{} // by first line
	type open struct{ line, indent int }
	var stack []open
	last := 0
	closeTo := func(indent int) {
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			if top := stack[len(stack)-1]; last > top.line {
				ends[top.line] = last
			}
			stack = stack[:len(stack)-1]
		}
	}
	for n := range d.text.lines {
		line := d.text.line(n)
		trimmed := strings.TrimLeft(line, " ")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		indent := len(line) - len(trimmed)
		closeTo(indent)
		stack = append(stack, open{n, indent})
		last = n
	}
	closeTo(0)
	out := []object{}
	for _, start := range slices.Sorted(maps.Keys(ends)) {
		out = append(out, object{"startLine": start, "endLine": ends[start]})
	}
	return out, nil
}

// tokenTypes is the legend of semantic tokens.
var tokenTypes = []string{"variable", "property", "function", "string", "number", "keyword", "class"}

const (
	tokenVariable = iota
	tokenProperty
	tokenFunction
	tokenString
	tokenNumber
	tokenKeyword
	tokenClass
)

var exprWords = []string{"and", "or", "not", "in", "true", "false", "nil", "null", "None", "True", "False", "contains", "startsWith", "endsWith", "matches", "let"}

// tokens returns the tokens of all expressions in the protocol's encoding: five numbers each,
// with lines and characters relative to the previous token.
func tokens(d *document, _ *params) (any, error) {
	data := []int{}
	before := position{}
	if d.names == nil {
		return object{"data": data}, nil
	}
	src := d.text.src
	slices.SortFunc(d.names.exprs, func(a, b [2]int) int { return a[0] - b[0] })
	end := 0
	for _, e := range d.names.exprs {
		if e[0] < end {
			continue // an expression in an expression
		}
		end = e[1]
		for _, t := range exprToken().FindAllStringIndex(src[e[0]:e[1]], -1) {
			from, to := e[0]+t[0], e[0]+t[1]
			kind := tokenKind(src, from, to)
			if kind < 0 || strings.Contains(src[from:to], "\n") {
				continue
			}
			for i := range d.names.uses {
				if u := &d.names.uses[i]; u.from == from && u.kind == "node" {
					kind = tokenClass
				}
			}
			at := d.text.position(from)
			delta := at.Character
			if at.Line == before.Line {
				delta -= before.Character
			}
			data = append(data, at.Line-before.Line, delta, d.text.position(to).Character-at.Character, kind, 0)
			before = at
		}
	}
	return object{"data": data}, nil
}

// tokenKind returns the type of a token, or -1 for operators.
func tokenKind(src string, from, to int) int {
	word := src[from:to]
	switch c := word[0]; {
	case c == '"' || c == '\'':
		if len(word) > 1 {
			return tokenString
		}
		return -1
	case c >= '0' && c <= '9':
		return tokenNumber
	case slices.Contains(exprWords, word):
		return tokenKeyword
	case c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'):
		return -1
	case from > 0 && src[from-1] == '.':
		return tokenProperty
	case strings.HasPrefix(src[to:], "("):
		return tokenFunction
	}
	return tokenVariable
}

// signatureAt describes the function whose arguments are being typed.
func signatureAt(d *document, p *params) (any, error) {
	at := d.text.offset(p.Position)
	line := d.text.src[d.text.lines[min(p.Position.Line, len(d.text.lines)-1)]:at]
	depth, commas := 0, 0
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ')', ']', '}':
			depth++
		case '[', '{':
			depth--
		case ',':
			if depth == 0 {
				commas++
			}
		case '(':
			if depth--; depth >= 0 {
				continue
			}
			name := regexp.MustCompile(`[A-Za-z]\w*$`).FindString(line[:i])
			f, known := functions()[name]
			if !known {
				return nil, nil
			}
			parameters := []object{}
			for _, a := range arguments(f.example) {
				parameters = append(parameters, object{"label": a})
			}
			one := object{"label": f.example, "documentation": markup{"markdown", f.describe()}, "parameters": parameters}
			return object{"signatures": []object{one}, "activeSignature": 0, "activeParameter": min(commas, max(len(parameters)-1, 0))}, nil
		}
	}
	return nil, nil
}

// arguments splits the arguments of a call.
func arguments(call string) (out []string) {
	_, inside, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	depth, from := 0, 0
	for _, t := range exprToken().FindAllStringIndex(inside, -1) {
		switch inside[t[0]:t[1]] {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				out = append(out, strings.TrimSpace(inside[from:t[0]]))
				from = t[1]
			}
		}
	}
	return append(out, strings.TrimSpace(inside[from:]))
}

// functionAt returns the documentation of the function whose name is at an offset.
func (d *document) functionAt(at int) (from, to int, f function, ok bool) {
	for _, e := range d.names.exprs {
		if at < e[0] || at > e[1] {
			continue
		}
		for _, t := range exprToken().FindAllStringIndex(d.text.src[e[0]:e[1]], -1) {
			from, to = e[0]+t[0], e[0]+t[1]
			if from <= at && at <= to && tokenKind(d.text.src, from, to) == tokenFunction {
				f, ok = functions()[d.text.src[from:to]]
				return from, to, f, ok
			}
		}
	}
	return 0, 0, function{}, false
}

// lenses returns the lenses of a graph file. Their commands belong to the editor extension.
func lenses(d *document, _ *params) (any, error) {
	out := []object{}
	if !d.graph && !spec.IsGraph([]byte(d.text.src)) { // the first check may not be over yet
		return out, nil
	}
	at := 0
	if d.names != nil && len(d.names.keys) > 0 {
		at = d.names.keys[0].from
	}
	line := d.text.position(at).Line
	where := textRange{position{line, 0}, position{line, 0}}
	for _, c := range []struct{ title, name string }{
		{"Run", "graphrun.run"}, {"Dry run", "graphrun.dryRun"}, {"Test", "graphrun.test"}, {"Generate tests", "graphrun.generateTests"}, {"Show graph", "graphrun.showGraph"},
	} {
		out = append(out, object{"range": where, "command": object{"title": c.title, "command": c.name, "arguments": []string{filepath.Clean(d.path)}}})
	}
	return out, nil
}
