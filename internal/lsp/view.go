// Semantic tokens, signatures and lenses.

package lsp

import (
	_ "embed"
	"path/filepath"
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
var functions = sync.OnceValue(func() map[string]*function {
	out := map[string]*function{}
	for line := range strings.Lines(functionTable) {
		cells := append(strings.Split(strings.Trim(line, "| \n"), " | "), "") // the note may be missing
		example, value := strings.Trim(cells[0], " `|"), strings.Trim(cells[1], " `|")
		name, _, _ := strings.Cut(example, "(")
		out[name] = &function{example, value, strings.Trim(cells[2], "| ")}
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
	slices.SortFunc(d.names.exprs, func(a, b [2]int) int { return a[0] - b[0] })
	end, before := 0, position{}
	for _, e := range d.names.exprs {
		if e[0] < end {
			continue // an expression in an expression
		}
		end = e[1]
		for _, t := range d.tokensIn(e) {
			if isNode[t.from] {
				t.kind = tokenClass
			}
			at := d.text.position(t.from)
			column := at.Character
			if at.Line == before.Line {
				column -= before.Character
			}
			data = append(data, at.Line-before.Line, column, d.text.position(t.to).Character-at.Character, t.kind, 0)
			before = at
		}
	}
	return object{"data": data}, nil
}

// token is a word, string or number of an expression. kind is an index of tokenTypes.
type token struct{ from, to, kind int }

// tokensIn returns the tokens of an expression that lie on one line, without operators.
func (d *document) tokensIn(expr [2]int) (out []token) {
	src := d.text.src
	for _, t := range exprToken().FindAllStringIndex(src[expr[0]:expr[1]], -1) {
		from, to := expr[0]+t[0], expr[0]+t[1]
		word, kind := src[from:to], tokenVariable
		switch c := word[0]; {
		case isQuote(c) && len(word) > 1:
			kind = tokenString
		case c >= '0' && c <= '9':
			kind = tokenNumber
		case !isLetter(c):
			continue
		case slices.Contains(exprWords, word):
			kind = tokenKeyword
		case from > 0 && src[from-1] == '.':
			kind = tokenProperty
		case strings.HasPrefix(src[to:], "("):
			kind = tokenFunction
		}
		if !strings.Contains(word, "\n") {
			out = append(out, token{from, to, kind})
		}
	}
	return out
}

// signatureAt describes the innermost documented function whose arguments are being typed.
func signatureAt(d *document, p *params) (any, error) {
	line := d.text.before(p.Position)
	if open := strings.LastIndex(line, "{{"); open >= 0 { // the quotes around a template do not matter
		line = line[open:]
	}
	for _, c := range slices.Backward(openCalls(line)) {
		f := functions()[c.function]
		if f == nil {
			continue
		}
		parameters := []object{}
		for _, a := range f.arguments() {
			parameters = append(parameters, object{"label": a})
		}
		one := object{"label": f.example, "documentation": markup{"markdown", f.describe()}, "parameters": parameters}
		return object{"signatures": []object{one}, "activeSignature": 0, "activeParameter": min(len(c.arguments), max(len(parameters)-1, 0))}, nil
	}
	return nil, nil
}

// openCall is a bracket without its end. function is the word before it; arguments are the texts
// before each comma.
type openCall struct {
	function  string
	arguments []string
	from      int // start of the argument that is not complete
}

// openCalls returns the brackets that a text leaves open, outermost first.
func openCalls(text string) (open []openCall) {
	before := ""
	for _, t := range exprToken().FindAllStringIndex(text, -1) {
		word := text[t[0]:t[1]]
		switch last := len(open) - 1; {
		case strings.Contains("([{", word):
			open = append(open, openCall{function: before, from: t[1]})
		case last < 0:
		case strings.Contains(")]}", word):
			open = open[:last]
		case word == ",":
			open[last].arguments = append(open[last].arguments, strings.TrimSpace(text[open[last].from:t[0]]))
			open[last].from = t[1]
		}
		before = word
	}
	return open
}

// arguments returns the arguments of the example.
func (f *function) arguments() []string {
	c := openCalls(strings.TrimSuffix(f.example, ")"))[0]
	return append(c.arguments, strings.TrimSpace(strings.TrimSuffix(f.example, ")")[c.from:]))
}

// functionAt returns the documented function whose name is at an offset, or nil.
func (d *document) functionAt(at int) (from, to int, f *function) {
	for _, e := range d.names.exprs {
		for _, t := range d.tokensIn(e) {
			if t.from <= at && at <= t.to && t.kind == tokenFunction {
				return t.from, t.to, functions()[d.text.src[t.from:t.to]]
			}
		}
	}
	return 0, 0, nil
}

// listLenses returns the lenses of a graph file. Their commands belong to the editor extension.
func listLenses(d *document, _ *params) (any, error) {
	out := []object{}
	if !d.isGraph && !spec.IsGraph([]byte(d.text.src)) { // the first check may not be over yet
		return out, nil
	}
	first := position{}
	if d.names != nil && len(d.names.keys) > 0 {
		first.Line = d.text.position(d.names.keys[0].from).Line
	}
	for _, c := range []struct{ title, name string }{
		{"Run", "graphrun.run"}, {"Dry run", "graphrun.dryRun"}, {"Test", "graphrun.test"}, {"Generate tests", "graphrun.generateTests"}, {"Show graph", "graphrun.showGraph"},
	} {
		command := object{"title": c.title, "command": c.name, "arguments": []string{filepath.Clean(d.path)}}
		out = append(out, object{"range": textRange{first, first}, "command": command})
	}
	return out, nil
}
