// Documentation of functions, and lenses.

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

// describeSignature describes the innermost documented function whose arguments are being typed.
func describeSignature(d *document, p *params) (any, error) {
	line := d.text.before(p.Position)
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

// findOpenCalls returns the brackets that a text leaves open, outermost first.
func findOpenCalls(text string) (open []openCall) {
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

// splitArguments returns the arguments of the example.
func (f *function) splitArguments() []string {
	c := findOpenCalls(strings.TrimSuffix(f.example, ")"))[0]
	return append(c.arguments, strings.TrimSpace(strings.TrimSuffix(f.example, ")")[c.from:]))
}

// calledName matches the name of a function with its bracket.
var calledName = lazyregexp.New(`[A-Za-z]\w*\(`)

// findFunction returns the documented function whose name is at an offset, or nil.
func (d *document) findFunction(at int) (from, to int, f *function) {
	for _, e := range d.names.exprs {
		for _, m := range calledName().FindAllStringIndex(d.text.src[e[0]:e[1]], -1) {
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
