// The exported API of the packages that docs/stability.md makes promises about.

package archtest

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/api.txt")

// publicPackages are the folders whose packages other modules import, with those below.
var publicPackages = []string{"eval", "flowtest", "lint", "model", "node", "render", "runner", "spec", "tool"}

// testdata/api.txt has a line for each exported name. A line that goes or changes breaks a
// program that uses it: after a release, that needs a new major version.
func TestAPI(t *testing.T) {
	var have []string
	for _, root := range publicPackages {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || !e.IsDir():
				return err
			case e.Name() == "internal" || e.Name() == "testdata" || strings.HasSuffix(e.Name(), "test") && e.Name() != "flowtest":
				return filepath.SkipDir
			}
			lines, err := exportedNames(path)
			have = append(have, lines...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(have)
	golden := filepath.Join("testdata", "api.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(have, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(kept), "\n"), "\n")
	for _, line := range want {
		if _, found := slices.BinarySearch(have, line); !found {
			t.Errorf("the API lost or changed: %s", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			t.Errorf("the API has a new name: %s (go test ./internal/archtest -run TestAPI -update)", line)
		}
	}
}

// exportedNames returns a line for each exported name of a package: functions and methods
// with their types, types, fields, constants and variables.
func exportedNames(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	name := filepath.ToSlash(strings.TrimPrefix(dir, filepath.Join("..", "..")+string(filepath.Separator)))
	set := token.NewFileSet()
	var out []string
	add := func(format string, args ...any) { out = append(out, name+": "+fmt.Sprintf(format, args...)) }
	text := func(n any) string {
		var b bytes.Buffer
		_ = printer.Fprint(&b, set, n) // into memory
		return strings.Join(strings.Fields(b.String()), " ")
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				receiver := ""
				if d.Recv != nil {
					receiver = strings.TrimLeft(text(d.Recv.List[0].Type), "*")
				}
				if d.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
					if receiver != "" {
						receiver = "(" + text(d.Recv.List[0].Type) + ") "
					}
					add("func %s%s%s", receiver, d.Name.Name, strings.TrimPrefix(text(d.Type), "func"))
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					addSpec(s, d.Tok.String(), text, add)
				}
			}
		}
	}
	return out, nil
}

func addSpec(s ast.Spec, kind string, text func(any) string, add func(string, ...any)) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() {
				add("%s %s", kind, n.Name)
			}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		switch typ := s.Type.(type) {
		case *ast.StructType:
			add("type %s struct", s.Name.Name)
			for _, f := range typ.Fields.List {
				for _, n := range f.Names {
					if n.IsExported() {
						add("%s.%s %s", s.Name.Name, n.Name, text(f.Type))
					}
				}
				if len(f.Names) == 0 {
					add("%s embeds %s", s.Name.Name, text(f.Type))
				}
			}
		case *ast.InterfaceType:
			add("type %s interface", s.Name.Name)
			for _, f := range typ.Methods.List {
				for _, n := range f.Names {
					add("%s.%s%s", s.Name.Name, n.Name, strings.TrimPrefix(text(f.Type), "func"))
				}
				if len(f.Names) == 0 {
					add("%s embeds %s", s.Name.Name, text(f.Type))
				}
			}
		default:
			add("type %s %s", s.Name.Name, text(s.Type))
		}
	}
}
