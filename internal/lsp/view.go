// Views of a file: documentation of functions, lenses, folding, highlights and semantic tokens.

package lsp

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/spec"
)

// functionTable is the table of functions in docs/expressions.md, without its head.
//
//go:embed functions.md
var functionTable string

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

// describeSignature describes the innermost documented function whose arguments are being typed.
func describeSignature(d *document, p *params) (any, error) {
	line := d.text.textBefore(p.Position)
	if open := strings.LastIndex(line, "{{"); open >= 0 { // the quotes around a template do not matter
		line = line[open:]
	}
	for _, c := range slices.Backward(findOpenCalls(line)) {
		f := functions()[c.function]
		if f == nil {
			continue
		}
		parameters := []object{}
		for _, a := range f.splitArguments() {
			parameters = append(parameters, object{"label": a})
		}
		one := object{"label": f.example, "documentation": newMarkup(f.describe()), "parameters": parameters}
		return object{"signatures": []object{one}, "activeSignature": 0, "activeParameter": min(len(c.arguments), max(len(parameters)-1, 0))}, nil
	}
	return nil, nil
}

// openCall is a call whose bracket is still open. function is its name, arguments are its complete
// arguments.
type openCall struct {
	function  string
	arguments []string
	from      int // start of the argument that is not complete
}

// findOpenCalls returns the brackets that a text leaves open, outermost first.
func findOpenCalls(text string) (open []openCall) {
	before := ""
	for _, t := range exprToken.Get().FindAllStringIndex(text, -1) {
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

func (f *function) splitArguments() []string {
	c := findOpenCalls(strings.TrimSuffix(f.example, ")"))[0]
	return append(c.arguments, strings.TrimSpace(strings.TrimSuffix(f.example, ")")[c.from:]))
}

// calledName matches the name of a function with its bracket.
var calledName = lazyregexp.New(`[A-Za-z]\w*\(`)

// findFunction returns the documented function whose name is at an offset, or nil.
func (d *document) findFunction(at int) (from, to int, f *function) {
	for _, e := range d.names.exprs {
		for _, m := range calledName.Get().FindAllStringIndex(d.text.src[e[0]:e[1]], -1) {
			if from, to = e[0]+m[0], e[0]+m[1]-1; from <= at && at <= to {
				return from, to, functions()[d.text.src[from:to]]
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
	if len(d.names.keys) > 0 {
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

// listFolds returns a fold for each line that is followed by deeper indented lines. It skips
// blank lines and comments.
func listFolds(d *document, _ *params) (any, error) {
	folds := []object{}
	var lines []int
	for n := range d.text.lines {
		if content := strings.TrimLeft(d.text.line(n), " "); content != "" && content[0] != '#' {
			lines = append(lines, n)
		}
	}
	for i, start := range lines {
		end := i + 1
		for end < len(lines) && d.text.indent(lines[end]) > d.text.indent(start) {
			end++
		}
		if end > i+1 {
			folds = append(folds, object{"startLine": start, "endLine": lines[end-1]})
		}
	}
	return folds, nil
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
		for _, t := range exprToken.Get().FindAllStringIndex(src[e[0]:e[1]], -1) {
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
	case len(word) > 1 && isQuote(c):
		return "string"
	case c >= '0' && c <= '9':
		return "number"
	case slices.Contains(strings.Fields("and or not in true false nil null None True False contains startsWith endsWith matches let"), word):
		return "keyword"
	case !isLetter(c):
		return ""
	case from > 0 && src[from-1] == '.':
		return "property"
	case strings.HasPrefix(src[to:], "("):
		return "function"
	}
	return "variable"
}
