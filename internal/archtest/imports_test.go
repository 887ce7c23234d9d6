// Who may import whom.

package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layer is a package and what it may import: packages of this module by their
// path in it, and modules of others by prefix. "*" allows all.
type layer struct {
	path   string
	own    []string
	others []string
}

// layers is the import graph as it should be.
func layers() []layer {
	const (
		yaml    = "gopkg.in/yaml.v3"
		expr    = "github.com/expr-lang/expr"
		color   = "github.com/fatih/color"
		unix    = "golang.org/x/sys/unix"
		windows = "golang.org/x/sys/windows"
		width   = "golang.org/x/text/width"
		mcp     = "github.com/modelcontextprotocol/go-sdk"
	)
	return []layer{
		{path: "cmd/graphrun", own: []string{"internal/cli"}},
		{path: "eval", own: []string{"internal/suggest"}, others: []string{expr}},
		{path: "examples"},
		// runs test files: the driver, and what stands in for the world around it
		{path: "flowtest", own: []string{"eval", "internal/analysis/domain", "internal/analysis/explore", "internal/bind", "internal/bound", "internal/bounded", "internal/solve", "internal/suggest", "internal/terminal", "lint", "model", "node", "runner", "runner/handler", "runner/machine", "runner/store", "runner/view", "runner/virtual", "spec", "tool"}},
		// facts about flows, which rules read
		{path: "internal/bound", own: []string{"eval", "internal/analysis/controlflow", "internal/analysis/dataflow", "internal/analysis/domain", "internal/analysis/explore", "internal/analysis/subgraph", "internal/bind", "internal/graphalg", "internal/solve", "runner/machine", "spec"}},
		{path: "internal/analysis/assignment", own: []string{"internal/analysis/controlflow", "internal/analysis/dataflow", "internal/graphalg"}},
		{path: "internal/analysis/concurrency", own: []string{"internal/analysis/controlflow", "internal/graphalg"}},
		{path: "internal/analysis/controlflow", own: []string{"internal/bind", "internal/graphalg", "spec"}},
		{path: "internal/analysis/credentials"},
		{path: "internal/analysis/dataflow", own: []string{"eval", "internal/bind", "spec"}},
		{path: "internal/analysis/domain", own: []string{"eval", "internal/solve", "spec"}},
		{path: "internal/analysis/explore", own: []string{"eval", "internal/analysis/controlflow", "internal/analysis/dataflow", "internal/analysis/domain", "internal/bind", "internal/graphalg", "internal/schema", "internal/solve", "runner/machine", "spec"}},
		{path: "internal/analysis/shell", own: []string{"spec"}},
		{path: "internal/analysis/subgraph", own: []string{"eval", "internal/bind", "spec"}},
		{path: "internal/analysis/suppress", own: []string{"internal/suggest", "spec"}},
		{path: "internal/analysis/taint", own: []string{"eval", "internal/analysis/controlflow", "internal/analysis/dataflow", "internal/analysis/domain", "internal/bind", "spec"}},
		{path: "internal/archtest"},
		{path: "internal/bigflowtest"},
		{path: "internal/bind", own: []string{"spec", "eval", "internal/schema"}},
		{path: "internal/bounded"},
		// flows below a folder, and no way out of it
		{path: "internal/catalog", own: []string{"internal/bounded", "internal/inspect", "internal/suggest", "runner", "internal/input", "spec"}},
		{path: "internal/chaos"},
		{path: "internal/cli", own: []string{"*"}, others: []string{"*"}},
		{path: "internal/cli/settings", own: []string{"internal/bounded", "internal/report", "internal/trigger", "lint", "spec"}, others: []string{"github.com/git-pkgs/gitignore"}},
		{path: "internal/cli/telemetry", own: []string{"runner", "runner/handler", "runner/machine"}, others: []string{"go.opentelemetry.io/otel"}},
		{path: "internal/crashtest"},
		{path: "internal/docstest"},
		{path: "internal/fix", own: []string{"internal/suggest", "spec"}},
		{path: "internal/flowdiff", own: []string{"eval", "internal/bind", "internal/terminal", "spec"}},
		// many runs driven in one process, and those who look on
		{path: "internal/fleet", own: []string{"runner", "runner/machine", "runner/store"}},

		{path: "internal/graphalg"},
		// what flows and runs are, as data: what commands print, the page shows and the server answers
		{path: "internal/input", own: []string{"eval", "internal/bounded", "internal/keys", "internal/redact", "internal/schema", "internal/suggest", "spec"}},
		{path: "internal/inspect", own: []string{"eval", "internal/analysis/subgraph", "internal/bound", "internal/report", "internal/suggest", "lint", "model/price", "render", "runner", "runner/machine", "runner/store", "runner/view", "spec", "tool"}},
		// flows as tools of the Model Context Protocol
		{path: "internal/mcpserver", own: []string{"eval", "internal/catalog", "internal/fleet", "internal/inspect", "runner", "runner/machine", "runner/store", "runner/view", "spec"}, others: []string{mcp}},
		{path: "internal/page"},
		{path: "internal/process", others: []string{unix, windows}},
		{path: "internal/redact", own: []string{"eval"}},
		// a slow second reading of the language, tests only
		{path: "internal/referencetest", own: []string{"spec", "eval", "internal/bind"}},
		{path: "internal/report", own: []string{"eval", "internal/terminal", "lint", "spec"}},
		{path: "internal/runview", own: []string{"eval", "flowtest", "internal/graphalg", "internal/bounded", "internal/input", "internal/inspect", "internal/schema", "internal/terminal", "lint", "runner", "runner/machine", "runner/store", "runner/view", "spec"}},
		{path: "internal/schema", own: []string{"eval", "internal/suggest"}},
		// the server: the page, the API, and who may ask what
		{path: "internal/scripttest", others: []string{"github.com/rogpeppe/go-internal"}},
		{path: "internal/serve", own: []string{"eval", "internal/catalog", "internal/fleet", "internal/inspect", "internal/page", "internal/report", "internal/trigger", "render", "runner", "runner/machine", "runner/store", "runner/view", "spec"}},
		{path: "internal/solve", own: []string{"eval"}},
		{path: "internal/suggest"},
		// the language server
		{path: "internal/keys", own: []string{"eval"}},
		{path: "internal/lazyregexp"}, // a leaf that all may import
		{path: "internal/longtest"},   // as the tests of all may
		{path: "internal/lsp", own: []string{"eval", "flowtest", "internal/fix", "internal/inspect", "lint", "spec"}, others: []string{yaml, "github.com/sourcegraph/jsonrpc2"}},
		{path: "internal/templates", own: []string{"examples"}},
		{path: "internal/terminal", others: []string{color, width}},
		// runs by the clock and by webhooks
		{path: "internal/trigger", own: []string{"eval", "internal/bounded", "internal/catalog", "runner", "runner/store", "spec"}, others: []string{"github.com/adhocore/gronx"}},
		{path: "lint", own: []string{"spec", "eval", "internal/analysis/assignment", "internal/analysis/concurrency", "internal/analysis/controlflow", "internal/analysis/credentials", "internal/analysis/dataflow", "internal/analysis/domain", "internal/analysis/explore", "internal/analysis/shell", "internal/analysis/subgraph", "internal/analysis/suppress", "internal/analysis/taint", "internal/bind", "internal/bound", "internal/graphalg", "internal/schema", "internal/solve", "internal/suggest", "runner/machine"}},
		{path: "model", own: []string{"eval"}},
		{path: "model/anthropic", own: []string{"model", "model/wire"}},
		{path: "model/cassette", own: []string{"model", "eval", "spec", "internal/bounded", "internal/redact"}},
		{path: "model/modeltest", own: []string{"model"}, others: []string{"github.com/google/go-cmp", "pgregory.net/rapid"}},
		{path: "model/openai", own: []string{"model", "model/wire"}},
		{path: "model/price", own: []string{"internal/keys", "eval", "model"}},
		{path: "model/provider", own: []string{"model", "model/anthropic", "model/openai", "model/price", "model/responses", "model/scripted", "model/wire", "internal/bounded", "internal/keys", "internal/redact", "internal/suggest"}},
		{path: "model/responses", own: []string{"model", "model/openai", "model/wire"}},
		{path: "model/scripted", own: []string{"eval", "model", "spec", "internal/keys"}},
		{path: "model/wire", own: []string{"eval", "model"}},
		{path: "node", own: []string{"runner", "runner/handler", "runner/view", "eval", "spec", "tool", "model", "model/cassette", "model/price", "model/provider", "model/scripted", "model/wire", "internal/bounded", "internal/keys", "internal/process", "internal/schema"}},
		{path: "render", own: []string{"spec", "runner/machine"}},
		{path: "runner", own: []string{"internal/process", "runner/handler", "runner/internal/flowtree", "runner/internal/mask", "runner/internal/runlog", "runner/machine", "runner/store", "runner/view", "runner/virtual", "spec", "eval", "internal/input", "internal/schema"}},
		{path: "runner/handler", own: []string{"model", "eval", "internal/schema", "runner/machine"}},
		// the rooms of the driver
		{path: "runner/internal/flowtree", own: []string{"internal/bounded", "internal/suggest", "runner/machine", "spec"}},
		{path: "runner/internal/mask", own: []string{"eval", "internal/redact", "runner/machine", "spec"}},
		{path: "runner/internal/runlog", own: []string{"runner/internal/mask", "runner/store"}},
		{path: "runner/machine", own: []string{"model", "spec", "eval", "internal/bind", "internal/input", "internal/schema"}},
		{path: "runner/store", own: []string{"runner/internal/mask", "runner/machine", "eval"}},
		{path: "runner/store/sqlite", own: []string{"runner", "runner/machine", "runner/store", "internal/process"}, others: []string{"modernc.org/sqlite", "github.com/gofrs/flock"}},
		{path: "runner/store/storetest", own: []string{"runner", "runner/handler", "runner/machine", "runner/store", "eval", "spec"}},
		{path: "runner/view", own: []string{"runner/machine", "spec"}},
		{path: "runner/virtual", own: []string{"runner/store"}},
		{path: "spec", own: []string{"internal/bounded", "internal/graphalg", "internal/suggest"}, others: []string{yaml}},
		{path: "tool", own: []string{"model", "internal/keys", "eval", "internal/process", "internal/schema"}, others: []string{mcp}},
	}
}

// checkImports compares one package with its layer.
func checkImports(table []layer, path string, imports []string, isStandard func(string) bool) []string {
	i := slices.IndexFunc(table, func(l layer) bool { return l.path == path })
	if i < 0 {
		return []string{fmt.Sprintf("%s stands in no layer: say in internal/archtest what it may import", path)}
	}
	var out []string
	for _, name := range imports {
		allowed := table[i].others
		short, own := strings.CutPrefix(name, module+"/")
		switch {
		case own:
			if short != "internal/lazyregexp" && !slices.Contains(table[i].own, short) && !slices.Contains(table[i].own, "*") {
				out = append(out, fmt.Sprintf("%s imports %s; it may import of this module: %s", path, short, listOr(table[i].own)))
			}
		case isStandard(name):
		case !slices.ContainsFunc(allowed, func(a string) bool {
			return a == "*" || name == a || strings.HasPrefix(name, a+"/")
		}):
			out = append(out, fmt.Sprintf("%s imports %s; it may import of others: %s", path, name, listOr(allowed)))
		}
	}
	return out
}

// checkStartUp keeps modules out of the program that cost too much before main.
func checkStartUp(path string, imports []string) []string {
	var out []string
	for _, name := range imports {
		if strings.HasPrefix(name, "github.com/santhosh-tekuri/jsonschema") {
			out = append(out, path+" imports "+name+", which compiles schemas before main; use internal/schema (tests may import it)")
		}
	}
	return out
}

func listOr(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestImports(t *testing.T) {
	for _, p := range goList(t, "./...") {
		path := strings.TrimPrefix(p.ImportPath, module+"/")
		if path == "examples" || strings.HasPrefix(path, "examples/") {
			continue // examples are programs of users
		}
		for _, finding := range slices.Concat(
			checkImports(layers(), path, p.Imports, isStandard), checkStartUp(path, p.Imports),
		) {
			t.Error(finding)
		}
	}
}

func TestImportsCanFail(t *testing.T) {
	table := []layer{{path: "eval", own: []string{"spec"}, others: []string{"example.org/ok"}}}
	good := []string{"fmt", "net/http", module + "/spec", "example.org/ok", "example.org/ok/sub"}
	if got := checkImports(table, "eval", good, isStandard); len(got) != 0 {
		t.Errorf("good imports are refused: %v", got)
	}
	for _, bad := range []string{module + "/runner", module + "/spec/deeper", "example.org/okay", "example.org/bad"} {
		if got := checkImports(table, "eval", []string{bad}, isStandard); len(got) != 1 {
			t.Errorf("%s: got %v", bad, got)
		}
	}
	if got := checkImports(table, "unheard/of", nil, isStandard); len(got) != 1 {
		t.Errorf("a package without a layer: got %v", got)
	}
	if got := checkStartUp("spec", []string{"github.com/santhosh-tekuri/jsonschema/v6"}); len(got) != 1 {
		t.Errorf("a slow module: got %v", got)
	}
}

// The cluster's engine is a module and a program of its own: its client and that of
// buckets stay out of graphrun.
func TestClusterStaysOut(t *testing.T) {
	var known bool
	for _, p := range goList(t, "-deps", "./cmd/graphrun") {
		known = known || strings.HasPrefix(p.ImportPath, "github.com/expr-lang/expr")
		for _, other := range []string{"go.temporal.io/", "google.golang.org/grpc", "github.com/minio/", "github.com/aws/"} {
			if strings.HasPrefix(p.ImportPath, other) {
				t.Errorf("graphrun links %s", p.ImportPath)
			}
		}
	}
	if !known {
		t.Error("the list of what graphrun links lacks what it surely links")
	}
}

// Nothing may lead from a package back to itself through allowed imports, or
// the table would permit what Go refuses.
func TestLayersHaveNoCycle(t *testing.T) {
	table := layers()
	below := map[string][]string{}
	for _, l := range table {
		below[l.path] = l.own
	}
	var reaches func(from, to string, depth int) bool
	reaches = func(from, to string, depth int) bool {
		return depth > 0 && slices.ContainsFunc(below[from], func(next string) bool {
			return next == to || reaches(next, to, depth-1)
		})
	}
	for _, l := range table {
		if reaches(l.path, l.path, len(table)) {
			t.Errorf("%s may import itself", l.path)
		}
	}
}
