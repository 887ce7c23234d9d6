// How a file may look: its length, its package, no init.

package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

const (
	maxLines     = 800
	maxMainLines = 25
)

// checkShape looks at one file by itself.
func checkShape(s source) []string {
	var out []string
	report := func(format string, args ...any) {
		out = append(out, s.name+": "+fmt.Sprintf(format, args...))
	}
	limit := maxLines
	if strings.HasPrefix(s.name, "cmd/") {
		limit = maxMainLines
	}
	if n := bytes.Count(s.text, []byte("\n")); n > limit && !s.isTest() {
		report("%d lines; at most %d", n, limit)
	}
	file, err := parser.ParseFile(token.NewFileSet(), s.name, s.text, parser.SkipObjectResolution)
	if err != nil {
		report("%v", err)
		return out
	}
	if name := file.Name.Name; slices.Contains([]string{"common", "helper", "helpers", "util", "utils"}, name) {
		report("package %s says nothing; name it by its topic", name)
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			report("an init function; nothing runs before main")
		}
		if v, ok := decl.(*ast.GenDecl); ok && v.Tok == token.VAR && !s.isTest() && !strings.HasPrefix(s.name, "internal/referencetest/") && strings.Contains(string(s.text[v.Pos()-1:v.End()-1]), "= regexp.MustCompile(") {
			report("a regular expression that is compiled before main; use internal/lazyregexp")
		}
	}
	return out
}

func TestShape(t *testing.T) {
	files := sources(t)
	if len(files) == 0 {
		t.Fatal("no Go files")
	}
	for _, s := range files {
		for _, finding := range checkShape(s) {
			t.Error(finding)
		}
	}
}

func TestShapeCanFail(t *testing.T) {
	long := "package p\n" + strings.Repeat("// x\n", maxLines)
	longMain := "package main\n" + strings.Repeat("// x\n", maxMainLines)
	tests := []struct{ name, text, want string }{
		{"p/a.go", long, "801 lines"},
		{"cmd/graphrun/main.go", longMain, "26 lines"},
		{"p/a.go", "package util\n", "package util"},
		{"p/a_test.go", "package helpers\n", "package helpers"},
		{"p/a.go", "package p\nfunc init() {}\n", "an init function"},
		{"p/a.go", "package p\nvar r = regexp.MustCompile(`a`)\n", "compiled before main"},
		{"p/a.go", "no package", "expected 'package'"},
	}
	for _, test := range tests {
		got := checkShape(source{test.name, []byte(test.text)})
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, test.want) }) {
			t.Errorf("%s: want %q, got %q", test.name, test.want, got)
		}
	}
	good := "package p\ntype t struct{}\nfunc (t) init() {}\n"
	for _, s := range []source{{"p/a.go", []byte(good)}, {"p/a_test.go", []byte(long)}} {
		if got := checkShape(s); len(got) != 0 {
			t.Errorf("%s is refused: %q", s.name, got)
		}
	}
}
