// Package docstest keeps README.md and docs/ true: flows are validated,
// sessions and expressions executed, reference tables generated.
package docstest

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphrun/graphrun/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"graphrun": func() { os.Exit(cli.Main(context.Background(), cli.System())) },
	})
}

// page is a Markdown file; name is its path from the root of the repository.
type page struct{ name, text string }

func root() string { return filepath.Join("..", "..") }

// pages returns README.md and every page of docs and docs/reference.
func pages(t *testing.T) []page {
	t.Helper()
	files := []string{filepath.Join(root(), "README.md")}
	for _, dir := range []string{"docs", "docs/reference"} {
		found, err := filepath.Glob(filepath.Join(root(), dir, "*.md"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages in %s: %v", dir, err)
		}
		files = append(files, found...)
	}
	var out []page
	for _, file := range files {
		name, err := filepath.Rel(root(), file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, readPage(t, name))
	}
	return out
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return page{filepath.ToSlash(name), string(text)}
}

// block is a fenced block: the words behind the fence, the line it starts at,
// and its text.
type block struct {
	info string
	line int
	text string
}

func (p page) blocks() []block {
	var out []block
	var open *block
	for i, line := range strings.SplitAfter(p.text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{info: fence, line: i + 1}
		case isFence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return out
}

// rows are the rows of all tables on the page, cells without blanks around
// them; headings and rules are left out.
func (p page) rows() [][]string {
	var out [][]string
	lines := strings.Split(p.text, "\n")
	for i, line := range lines {
		isRow := strings.HasPrefix(line, "|")
		isHead := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---")
		if !isRow || isHead || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, cells)
	}
	return out
}

// call runs the program in this process and returns what it prints on both
// streams, in order, and its exit code.
func call(stdin string, args ...string) (string, int) { return callIn("", stdin, args...) }

// callIn is call with a folder for the store; "" keeps runs in memory.
func callIn(state, stdin string, args ...string) (string, int) {
	var text bytes.Buffer
	code := cli.Main(context.Background(), cli.Program{
		StateDir: state, Args: args, Stdin: strings.NewReader(stdin), Stdout: &text, Stderr: &text,
	})
	return text.String(), code
}

var update = flag.Bool("update", false, "rewrite the generated parts of the pages")

var generated = regexp.MustCompile(`(?s)(<!-- generated from [^\n]*-->\n).*(<!-- end of generated part -->)`)

// compareGenerated compares the generated part of a page, or rewrites it.
func compareGenerated(t *testing.T, name, want string) {
	t.Helper()
	p := readPage(t, name)
	if !generated.MatchString(p.text) {
		t.Fatalf("%s has no generated part", name)
	}
	text := generated.ReplaceAllStringFunc(p.text, func(match string) string {
		marks := generated.FindStringSubmatch(match)
		return marks[1] + "\n" + strings.TrimSpace(want) + "\n\n" + marks[2]
	})
	compareFile(t, name, text)
}

// compareFile compares a file with the text the program generates, or rewrites it.
func compareFile(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join(root(), name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(readPage(t, name).text, want); diff != "" {
		t.Errorf("%s is out of date; run go test ./internal/docstest -update (-file +program):\n%s", name, diff)
	}
}
