// What the rules look at: packages and their parsed files.

package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/internal/longtest"
)

const module = "github.com/graphrun/graphrun"

// listed is what `go list -json` says about a package.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
	Standard   bool
	Export     string
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,Imports,Standard,Export"}, args...)...)
	cmd.Dir = root(t)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var out []listed
	for d := json.NewDecoder(&stdout); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// source is one Go file of the module; name is its path from the root, with slashes.
type source struct {
	name string
	text []byte
}

func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

// sources reads every Go file of the module, vendored and test data apart.
func sources(t *testing.T) []source {
	t.Helper()
	top := root(t)
	var out []source
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != top && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		out = append(out, source{filepath.ToSlash(rel), text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checked is a package with types.
type checked struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// exports are the compiled packages that a type check may import, by path.
func exports(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range goList(t, append(append(longtest.BuildFlags(), "-export", "-deps"), patterns...)...) {
		out[p.ImportPath] = p.Export
	}
	return out
}

// check types the files of one package. What can't be imported or typed stays
// untyped: the compiler is the one to complain.
func check(t *testing.T, path string, files []source, exported map[string]string) checked {
	t.Helper()
	c := checked{fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, f := range files {
		file, err := parser.ParseFile(c.fset, f.name, f.text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		c.files = append(c.files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		name := exported[path]
		if name == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(name)
	}
	conf := types.Config{Importer: importer.ForCompiler(c.fset, "gc", lookup), Error: func(error) {}}
	_, _ = conf.Check(path, c.fset, c.files, c.info)
	return c
}
