package reference_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/reference"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// graphs is how many random graphs are compared, and the seed of the first:
// GRAPHRUN_REFERENCE_GRAPHS and GRAPHRUN_REFERENCE_FROM say otherwise, such as
// 100000 and 0.
func graphs(t *testing.T) (from, count int) {
	return number(t, "GRAPHRUN_REFERENCE_FROM", 0), number(t, "GRAPHRUN_REFERENCE_GRAPHS", 1_500)
}

// number is that of an environment variable.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// differ runs a flow by both and says how they differ; valid is false when the
// flow is none.
func differ(f *flow) (diff string, valid bool) {
	text := f.text()
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{})
	if found.HasErrors() {
		return found[0].Message, false
	}
	for _, d := range spec.Check(g) {
		if d.Severity == spec.Error && !slices.Contains([]string{"unreachable-node", "end-unreachable", "inescapable-cycle"}, d.Rule) {
			return d.Message, false
		}
	}
	plan, found := machine.Build(g, nil)
	if plan == nil {
		return found[0].Message, false
	}
	got, err := walk(plan, f.script)
	if err != nil {
		return "the machine: " + err.Error(), true
	}
	want, err := refer(g, f)
	if err != nil {
		return "the reference: " + err.Error(), true
	}
	return difference(want, got), true
}

// difference says how two results differ, in what the language says of them.
func difference(want, got reference.Result) string {
	if want.Path == nil {
		want.Path = got.Path[:0]
	}
	if want.Status == "limit" {
		want.Error, got.Error = reference.Error{}, reference.Error{}
	}
	if want.Status != "completed" {
		want.Visits, got.Visits = nil, nil
	}
	if want.Reason == "max_steps" || want.Reason == "timeout" {
		want.Steps, got.Steps, want.Visits, got.Visits = 0, 0, nil, nil
	}
	if want.Status != "completed" {
		want.Output, got.Output = nil, nil
	}
	if want.Error.Kind == "stuck" {
		want.Error.Kind = got.Error.Kind
	}
	if want.Error.Kind == "conflict" {
		want.Error.Node = got.Error.Node
	}
	for _, v := range []any{want.State, want.Output, got.State, got.Output} {
		wordless(v, map[uintptr]bool{})
	}
	one, two := strings.Join(want.Path, " "), strings.Join(got.Path, " ")
	want.Path, got.Path = nil, nil
	if one == two && reflect.DeepEqual(want, got) {
		return ""
	}
	diff := cmp.Diff(want, got)
	if one != two {
		diff = fmt.Sprintf("- path: %s\n+ path: %s\n%s", one, two, diff)
	}
	return diff
}

// wordless takes the words and the details out of errors: the language does not say
// them. Values share parts so often that each is visited once.
func wordless(v any, seen map[uintptr]bool) {
	at := reflect.ValueOf(v)
	if k := at.Kind(); k != reflect.Map && k != reflect.Slice || at.Len() == 0 || seen[at.Pointer()] {
		return
	}
	seen[at.Pointer()] = true
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			wordless(item, seen)
		}
	case map[string]any:
		if v["kind"] != nil && v["message"] != nil {
			v["message"], v["details"] = "", nil
		}
		for _, item := range v {
			wordless(item, seen)
		}
	}
}

func refer(g *spec.Graph, f *flow) (out reference.Result, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	return reference.Run(g, f.script), nil
}

// shrink leaves out whatever can be left out of a flow that differs.
func shrink(f *flow) *flow {
	for again := true; again; {
		again = false
		for _, smaller := range f.smaller() {
			if diff, valid := differ(smaller); valid && diff != "" {
				f, again = smaller, true
				break
			}
		}
	}
	return f
}

func (f *flow) clone() *flow {
	out := *f
	out.top = slices.Clone(f.top)
	out.nodes, out.edges = slices.Clone(f.nodes), slices.Clone(f.edges)
	return &out
}

func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

func (f *flow) smaller() []*flow {
	var out []*flow
	for i, n := range f.nodes {
		if i == 0 {
			continue
		}
		s := f.clone()
		s.nodes = without(s.nodes, i)
		s.edges = slices.DeleteFunc(s.edges, func(e part) bool { return e.ends[0] == n.id || strings.Contains(e.ends[1], n.id) })
		out = append(out, s)
	}
	for i, e := range f.edges {
		s := f.clone()
		s.edges = without(s.edges, i)
		out = append(out, s)
		for j := range e.attrs {
			s := f.clone()
			s.edges[i].attrs = without(e.attrs, j)
			out = append(out, s)
		}
	}
	for i, n := range f.nodes {
		for j := range n.attrs {
			s := f.clone()
			s.nodes[i].attrs = without(n.attrs, j)
			out = append(out, s)
		}
		if n.head != "kind: pass" && n.head != "kind: fail, message: x" {
			s := f.clone()
			s.nodes[i].head, s.nodes[i].attrs = "kind: pass", slices.DeleteFunc(slices.Clone(n.attrs), func(a string) bool { return strings.HasPrefix(a, "writes") || strings.HasPrefix(a, "each") })
			out = append(out, s)
		}
	}
	for _, small := range []string{"limits: {max_steps: 8}", "limits: {max_steps: 14}"} {
		if len(f.top) > 0 && strings.HasPrefix(f.top[0], "limits") && f.top[0] > small && f.top[0] != "limits: {max_steps: 8}" && f.top[0] != small {
			s := f.clone()
			s.top[0] = small
			out = append(out, s)
		}
	}
	for i := range f.top {
		if strings.HasPrefix(f.top[i], "limits") {
			continue
		}
		s := f.clone()
		s.top = without(s.top, i)
		out = append(out, s)
	}
	for _, change := range []func(*flow){
		func(f *flow) { f.quick = true }, func(f *flow) { f.failing = 0 }, func(f *flow) { f.asking = 0 },
	} {
		s := f.clone()
		change(s)
		if s.quick != f.quick || s.failing != f.failing || s.asking != f.asking {
			out = append(out, s)
		}
	}
	return out
}

// explain prints a flow, what its handlers did, and the difference.
func explain(f *flow) string {
	diff, _ := differ(f)
	var b strings.Builder
	b.WriteString(f.text())
	g, _ := spec.Parse("flow.yaml", []byte(f.text()), spec.Options{})
	f2 := *f
	seen := map[string]bool{}
	script := func(a reference.Attempt) reference.Outcome {
		o := f2.script(a)
		if line := fmt.Sprintf("  %+v: %+v\n", a, o); !seen[line] && len(seen) < 30 {
			seen[line] = true
			b.WriteString(line)
		}
		return o
	}
	plan, _ := machine.Build(g, nil)
	_, _ = walk(plan, script)
	fmt.Fprintf(&b, "(-reference +machine)\n%s", diff)
	return b.String()
}

// shards is how many goroutines share the graphs.
const shards = 4

func TestMachineAgrees(t *testing.T) {
	var differing atomic.Int32
	from, count := graphs(t)
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for seed := from + shard; seed < from+count; seed += shards {
				f := random(uint64(seed))
				diff, valid := differ(f)
				if !valid {
					t.Fatalf("seed %d: no valid flow: %s\n%s", seed, diff, f.text())
				}
				switch {
				case diff == "":
				case differing.Add(1) <= 8:
					t.Errorf("seed %d:\n%s", seed, explain(shrink(f)))
				default:
					t.Errorf("seed %d differs too", seed)
				}
			}
		})
	}
}
