// Flows with subgraphs, driven by the runner itself in virtual time.

package reference_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphrun/graphrun/internal/reference"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

var (
	maxSteps      = regexp.MustCompile(`max_steps: \d+`)
	branchTimeout = regexp.MustCompile(`(, )?branch_timeout: \d+us`)
)

// ample is the step limit of graphs with subgraphs: no run reaches it that is
// compared.
const ample = 80

// nested is a flow with subgraphs, in which nothing is waited for but the retries of
// the outermost graph, and no two things end at once.
func nested(seed uint64) *flow {
	r := rand.New(rand.NewPCG(seed, 11))
	f := random(seed)
	f.tame(r, 3, 0)
	for i := range 3 {
		g := random(seed*31 + uint64(i))
		g.tame(r, 3, i+1)
		g.dropFinally() // they would run on when the subgraph is cancelled
		for j := range g.nodes {
			g.nodes[j].attrs = leaveOut(g.nodes[j].attrs, "retry")
		}
		// It takes some time, so that it does not end with another.
		g.edges = slices.Insert(g.edges, 0, part{ends: [2]string{"x99", g.nodes[0].id}})
		g.nodes = slices.Insert(g.nodes, 0, part{id: "x99", head: "kind: exec, command: [x]"})
		f.graphs = append(f.graphs, g)
	}
	return f
}

// dropFinally leaves out the nodes that run at the end.
func (f *flow) dropFinally() {
	i := slices.IndexFunc(f.top, func(line string) bool { return strings.HasPrefix(line, "finally") })
	if i < 0 {
		return
	}
	f.nodes = slices.DeleteFunc(f.nodes, func(n part) bool { return strings.Contains(f.top[i], n.id) })
	f.top = slices.Delete(f.top, i, i+1)
}

// leaveOut leaves out the attributes with a prefix.
func leaveOut(attrs []string, prefixes ...string) []string {
	return slices.DeleteFunc(slices.Clone(attrs), func(a string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(a, p) })
	})
}

// tame makes programs subgraphs, those from the next to the last, and takes out what
// is not covered.
func (f *flow) tame(r *rand.Rand, count, next int) {
	f.asking, f.quick = 0, false
	for i := range f.top { // the times of several branches are over at once
		f.top[i] = branchTimeout.ReplaceAllString(f.top[i], "")
	}
	for i := range f.nodes {
		n := &f.nodes[i]
		switch {
		case strings.HasPrefix(n.id, "h"), strings.HasPrefix(n.id, "w"):
			n.head, n.attrs = "kind: pass", leaveOut(n.attrs, "timeout", "default")
		case strings.HasPrefix(n.id, "x") && next < count && r.IntN(3) > 0:
			n.head = fmt.Sprintf(`kind: graph, graph: "#c%d"`, next+r.IntN(count-next))
		}
		if strings.HasPrefix(n.head, "kind: graph") {
			f.top[0] = maxSteps.ReplaceAllString(f.top[0], "max_steps: "+strconv.Itoa(ample))
		}
		if slices.ContainsFunc(n.attrs, func(a string) bool { return strings.HasPrefix(a, "each") }) {
			n.attrs = leaveOut(n.attrs, "timeout")
		}
		n.attrs = leaveOut(n.attrs, "parallel: {branch_timeout")
	}
}

// work is a runner's kind whose handlers do what a script says.
func work(script reference.Script) runner.Kind {
	return runner.Kind{
		Spec: spec.Kind{Name: "work"},
		Handler: runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			place := task.Place
			if task.Index >= 0 {
				place = place[:strings.LastIndexByte(place, '[')]
			}
			o := script(reference.Attempt{Node: place, Visit: task.Visit, Attempt: task.Attempt, Element: task.Index + 1})
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(o.Takes):
			}
			if o.Fails != "" {
				return nil, &runner.Failure{Kind: o.Fails, Message: o.Fails}
			}
			return o.Output, nil
		}),
	}
}

// run runs a flow by the runner. It says whether it did: not where steps could be
// short, or things end at once.
func (f *flow) run(t *testing.T) (got, want reference.Result, ran bool) {
	r, err := runner.New(runner.Config{Kinds: []runner.Kind{work(f.script)}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(f.text(), "kind: exec, command: [x]", "kind: work")
	g, found := spec.Parse("flow.yaml", []byte(text), spec.Options{Kinds: r.Kinds()})
	if found.HasErrors() {
		t.Fatalf("%s\n%s", found[0].Message, text)
	}
	want, err = refer(g, f)
	if err != nil {
		t.Fatal(err, text)
	}
	if want.Steps+want.Inside > ample/2 || want.AtOnce {
		return want, want, false
	}
	prepared, err := r.Prepare(g)
	if err != nil {
		t.Fatal(err, text)
	}
	result, err := prepared.Run(t.Context(), runner.Options{})
	if err != nil {
		t.Fatal(err, text)
	}
	got = reference.Result{
		Status: string(result.Status), Reason: result.Reason, Quality: string(result.Quality), Limited: result.Limited,
		Path: result.Path, State: result.State, Output: result.Output, Steps: result.Steps, Fired: want.Fired, Visits: want.Visits,
		Took: time.Duration(result.Duration), Inside: want.Inside,
	}
	if result.Error != nil {
		got.Error = reference.Error{Kind: result.Error.Kind, Node: result.Error.Node}
	}
	return got, want, true
}

// The runner runs subgraphs, in subgraphs and in elements too, as the pages say:
// GRAPHRUN_REFERENCE_NESTED says how many random flows are tried.
func TestRunnerAgrees(t *testing.T) {
	from, count := number(t, "GRAPHRUN_REFERENCE_FROM", 0), number(t, "GRAPHRUN_REFERENCE_NESTED", 100)
	compared := 0
	for seed := from; seed < from+count; seed++ {
		f, diff := nested(uint64(seed)), ""
		synctest.Test(t, func(t *testing.T) {
			got, want, ran := f.run(t)
			if ran && want.Inside > 0 {
				compared++
			}
			if want.Quality != "clean" { // what was cancelled has taken steps, too
				got.Steps, want.Steps = 0, 0
			}
			diff = difference(want, got)
		})
		if diff != "" {
			t.Errorf("seed %d (-reference +runner):\n%s\n%s", seed, f.text(), diff)
		}
	}
	if compared < count/20 {
		t.Errorf("%d of %d flows ran subgraphs and were compared", compared, count)
	}
	t.Logf("%d of %d flows ran subgraphs and were compared", compared, count)
}
