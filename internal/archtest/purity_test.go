// What the core, runner/machine, may not do: input, output, clocks, chance,
// concurrency, and anything that depends on the order of maps.

package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const core = "runner/machine"

// checkPure lists what a package does that the core may not.
func checkPure(c checked) []string {
	var out []string
	for _, file := range c.files {
		report := func(at token.Pos, format string, args ...any) {
			p := c.fset.Position(at)
			out = append(out, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
		}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if isImpureImport(path) {
				report(spec.Pos(), "import of %s", path)
			}
		}
		for _, decl := range file.Decls {
			checkPackageVariables(c, decl, report)
		}
		sorted, excused := sortedArguments(c, file), excusedLines(c, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok && excused[c.fset.Position(loop.Pos()).Line] {
				return true
			}
			checkPureNode(c, n, sorted, report)
			return true
		})
	}
	return out
}

func isImpureImport(path string) bool {
	for _, banned := range []string{
		"bufio", "context", "crypto/rand", "io", "log", "math/rand", "net", "os",
		"path/filepath", "runtime", "sync", "syscall", "testing", "unsafe",
	} {
		if path == banned || strings.HasPrefix(path, banned+"/") {
			return true
		}
	}
	return false
}

type reporter func(at token.Pos, format string, args ...any)

func checkPureNode(c checked, n ast.Node, sorted map[ast.Expr]bool, report reporter) {
	switch n := n.(type) {
	case *ast.GoStmt:
		report(n.Pos(), "go statement")
	case *ast.SelectStmt:
		report(n.Pos(), "select statement")
	case *ast.ChanType:
		report(n.Pos(), "channel type")
	case *ast.SendStmt:
		report(n.Pos(), "send on a channel")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			report(n.Pos(), "receive from a channel")
		}
	case *ast.RangeStmt:
		if t := c.info.TypeOf(n.X); t != nil {
			switch t.Underlying().(type) {
			case *types.Map:
				report(n.Pos(), "range over a map; use slices.Sorted(maps.Keys(m))")
			case *types.Chan:
				report(n.Pos(), "range over a channel")
			}
		}
	case *ast.CallExpr:
		if name := stdFunc(c, n.Fun, "maps"); slices.Contains([]string{"All", "Keys", "Values"}, name) && !sorted[n] {
			report(n.Pos(), "maps.%s in map order; give it to slices.Sorted, SortedFunc or SortedStableFunc", name)
		}
	case *ast.SelectorExpr:
		if name := stdFunc(c, n, "time"); isClock(name) {
			report(n.Pos(), "time.%s", name)
		}
	}
}

func isClock(name string) bool {
	return slices.Contains([]string{
		"After", "AfterFunc", "LoadLocation", "Local", "NewTicker", "NewTimer",
		"Now", "Since", "Sleep", "Tick", "Until",
	}, name)
}

// stdFunc is the name of the function or variable of a package that e means, or "".
func stdFunc(c checked, e ast.Expr, pkg string) string {
	if index, ok := e.(*ast.IndexExpr); ok {
		e = index.X
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	object := c.info.Uses[sel.Sel]
	if object == nil || object.Pkg() == nil || object.Pkg().Path() != pkg || object.Parent() != object.Pkg().Scope() {
		return ""
	}
	return object.Name()
}

// excusedLines are the lines of loops over maps whose author says why order
// decides nothing there: `//lint:ignore mapiter the result is a map`.
func excusedLines(c checked, file *ast.File) map[int]bool {
	out := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			reason, ok := strings.CutPrefix(comment.Text, "//lint:ignore mapiter")
			if ok && strings.TrimSpace(reason) != "" {
				out[c.fset.Position(comment.Pos()).Line] = true
			}
		}
	}
	return out
}

// sortedArguments finds the calls whose result goes straight into a sort.
func sortedArguments(c checked, file *ast.File) map[ast.Expr]bool {
	out := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && len(call.Args) > 0 && strings.HasPrefix(stdFunc(c, call.Fun, "slices"), "Sorted") {
			out[call.Args[0]] = true
		}
		return true
	})
	return out
}

// checkPackageVariables allows errors, tables of constants, and assertions
// that a type has an interface.
func checkPackageVariables(c checked, decl ast.Decl, report reporter) {
	vars, ok := decl.(*ast.GenDecl)
	if !ok || vars.Tok != token.VAR {
		return
	}
	for _, spec := range vars.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if name.Name == "_" || i < len(v.Values) && isConstantValue(c, v.Values[i]) {
				continue
			}
			report(name.Pos(), "package variable %s; allowed: errors and tables of constants", name.Name)
		}
	}
}

func isConstantValue(c checked, e ast.Expr) bool {
	if tv, ok := c.info.Types[e]; ok && tv.Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		if _, isMap := c.info.TypeOf(e).Underlying().(*types.Map); isMap && len(e.Elts) == 0 {
			return false // an empty map is there to be filled
		}
		return !slices.ContainsFunc(e.Elts, func(element ast.Expr) bool {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element = pair.Value
			}
			return !isConstantValue(c, element)
		})
	case *ast.CallExpr:
		return stdFunc(c, e.Fun, "errors") == "New"
	}
	return false
}

func TestCoreIsPure(t *testing.T) {
	var files []source
	for _, p := range goList(t, "./"+core) {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, source{core + "/" + name, text})
		}
	}
	if len(files) == 0 {
		t.Fatalf("no files in %s", core)
	}
	for _, finding := range checkPure(check(t, module+"/"+core, files, exports(t, "./"+core))) {
		t.Error(finding)
	}
}

func TestPurityCanFail(t *testing.T) {
	exported := exports(t, "errors", "maps", "slices", "time")
	tests := []struct{ code, want string }{
		{`import "os"`, "import of os"},
		{`import "net/http"`, "import of net/http"},
		{`import "math/rand/v2"`, "import of math/rand/v2"},
		{`import "time"; func f() int64 { return time.Now().Unix() }`, "time.Now"},
		{`import clock "time"; func f(d clock.Duration) { clock.Sleep(d) }`, "time.Sleep"},
		{`import "time"; var now = time.Now`, "time.Now"},
		{`func f() { go f() }`, "go statement"},
		{`func f() { select {} }`, "select statement"},
		{`type c chan int`, "channel type"},
		{`func f[C ~[]int](x C, c interface{ m() }) { var d = make(chan int); d <- 1 }`, "send on a channel"},
		{`func f() { d := make(chan int); <-d }`, "receive from a channel"},
		{`func f() { for range make(chan int) { } }`, "range over a channel"},
		{`func f(m map[string]int) { for range m { } }`, "range over a map"},
		{"func f(m map[string]int) {\nfor range m { //lint:ignore mapiter\n} }", "range over a map"},
		{"func f(m map[string]int) {\ngo f(m) //lint:ignore mapiter because\n}", "go statement"},
		{`type t map[string]int; func f(m t) { for k := range m { _ = k } }`, "range over a map"},
		{`import "maps"; func f(m map[string]int) { for range maps.Keys(m) { } }`, "maps.Keys in map order"},
		{`import "maps"; import "slices"; func f(m map[string]int) { slices.Collect(maps.Values(m)) }`, "maps.Values in map order"},
		{`var counter int`, "package variable counter"},
		{`var cache = map[string]int{}`, "package variable cache"},
		{`var list = []string{f()}; func f() string { return "" }`, "package variable list"},
		{`var a, b = 1, f(); func f() int { return 1 }`, "package variable b"},
	}
	for _, test := range tests {
		got := checkPure(check(t, "bad", []source{{"bad.go", []byte("package bad; " + test.code)}}, exported))
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, test.want) }) {
			t.Errorf("%s: want %q, got %q", test.code, test.want, got)
		}
	}
}

func TestPurityAllowsPureCode(t *testing.T) {
	exported := exports(t, "errors", "maps", "slices", "time")
	const code = `package good
import ("errors"; "maps"; "slices"; "time")
var errGone = errors.New("gone")
var names = []string{"a", "b"}
var table = map[string][2]int{"a": {1, 2}}
var _ error = (*failure)(nil)
type failure struct{}
func (*failure) Error() string { return "" }
const patience = 3 * time.Second
type clock struct{ Now time.Time }
func f(m map[string]int, c clock, l []int) (time.Duration, time.Time) {
	for _, k := range slices.Sorted(maps.Keys(m)) { _ = k }
	for range l { }
	for range 3 { }
	for k := range m { //lint:ignore mapiter each entry by itself
		delete(m, k)
	}
	return patience, c.Now.Add(patience)
}`
	if got := checkPure(check(t, "good", []source{{"good.go", []byte(code)}}, exported)); len(got) != 0 {
		t.Errorf("pure code is refused: %q", got)
	}
}
