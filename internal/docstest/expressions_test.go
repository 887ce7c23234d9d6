// The expressions of docs/expressions.md, evaluated.

package docstest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/eval"
)

// code is the text of a cell that is one piece of code.
func code(cell string) (string, bool) {
	text, ok := strings.CutPrefix(cell, "`")
	if !ok {
		return "", false
	}
	text, ok = strings.CutSuffix(text, "`")
	return text, ok && !strings.Contains(text, "`")
}

// Rows whose first two cells are code are an expression and its value.
func TestExpressions(t *testing.T) {
	scope := eval.NewScope(nil, eval.ScopeOptions{})
	n := 0
	var vm eval.VM
	for _, row := range readPage(t, "docs/expressions.md").rows() {
		if len(row) < 3 {
			continue
		}
		source, ok := code(row[0])
		want, ok2 := code(row[1])
		if !ok || !ok2 {
			continue
		}
		n++
		program, problem := scope.Compile(source, eval.Value)
		if problem != nil {
			t.Errorf("%s: %v", source, problem)
			continue
		}
		value, err := vm.Eval(program, nil)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := json.Marshal(value); err != nil || string(got) != want {
			t.Errorf("%s is %s, the page says %s (%v)", source, got, want, err)
		}
	}
	if n < 80 {
		t.Errorf("only %d expressions on the page", n)
	}
}

// Every function has a row.
func TestFunctionsAreComplete(t *testing.T) {
	called := regexp.MustCompile("(?m)^\\| `([A-Za-z0-9]+)\\(")
	var shown []string
	for _, m := range called.FindAllStringSubmatch(readPage(t, "docs/expressions.md").text, -1) {
		shown = append(shown, m[1])
	}
	for _, name := range eval.Functions() {
		if !slices.Contains(shown, name) {
			t.Errorf("docs/expressions.md does not show %s", name)
		}
	}
}
