// Generated cases, compared with the claims of static verification.

package flowtest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/longtest"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// guarded writes random graphs with conditions that the solver understands.
type guarded struct {
	*rand.Rand
	text  strings.Builder
	nodes []string
	// list is the only condition of a graph on a list, since the checks treat two
	// conditions as independent.
	list  string
	small bool
	kinds map[string]string // of the nodes
	edges []string          // "from: a, …", without what leads where
	to    []string
}

func (m *guarded) pick(from ...string) string { return from[m.IntN(len(from))] }

// few holds the state keys of a small graph.
const few = `state:
  n: {type: integer, minimum: 0, maximum: 2, default: 0}
  ok: {type: boolean, default: false}
  cat: {type: string, enum: [a, b], default: a}
`

const guardedState = `state:
  n: {type: integer, minimum: 0, maximum: 5, default: 0}
  ok: {type: boolean, default: false}
  cat: {type: string, enum: [a, b, c], default: a}
  s: {type: string, default: ""}
  tags: {type: array, items: {type: string}, default: []}
  score: {type: number, minimum: 0, maximum: 1, default: 0}
  count: {type: integer, default: 0}
`

func (m *guarded) writeAtom(from string) string {
	order := m.pick("<", "<=", ">", ">=", "==", "!=")
	if m.small {
		return m.pick(fmt.Sprintf("n %s %d", order, m.IntN(3)), "ok", "not ok", "cat == 'a'", "cat != 'b'", fmt.Sprintf("visits.%s < 2", from), "n + 1 > 2")
	}
	switch m.IntN(12) {
	case 0, 1:
		return fmt.Sprintf("n %s %d", order, m.IntN(6))
	case 2:
		return m.pick("ok", "not ok")
	case 3, 4:
		return m.pick("cat == 'a'", "cat != 'b'", "cat in ['a', 'c']", "cat == 'c'")
	case 5:
		return m.pick("s startsWith 'REJECT'", "s == 'yes'", "s != ''", "len(s) > 2", "s endsWith 'o'")
	case 6, 7:
		return m.list
	case 8:
		return fmt.Sprintf("score %s %s", m.pick("<", ">=", ">"), m.pick("0.5", "0.25", "0.75"))
	case 9:
		return fmt.Sprintf("count %s %d", m.pick(">=", "<", "=="), m.IntN(3))
	case 10:
		return fmt.Sprintf("n + %d %s %d", 1+m.IntN(2), m.pick("<", ">"), 2+m.IntN(4))
	}
	return fmt.Sprintf("visits.%s < %d", from, 2+m.IntN(2))
}

func (m *guarded) writeCondition(from string) string {
	switch m.IntN(5) {
	case 0:
		return m.writeAtom(from) + " and " + m.writeAtom(from)
	case 1:
		return m.writeAtom(from) + " or " + m.writeAtom(from)
	case 2:
		return "not (" + m.writeAtom(from) + ")"
	}
	return m.writeAtom(from)
}

// writeGraph writes a graph of n nodes. All runs of a small one can be tried.
func (m *guarded) writeGraph(n, steps int, small bool) {
	m.small = small
	state := guardedState
	if small {
		state = few
	}
	m.kinds = map[string]string{}
	m.list = m.pick("'x' in tags", "len(tags) > 1", "any(tags, # == 'y')", "all(tags, # == 'x')", "count(tags, # == 'x') >= 2", "len(tags) == 0", "none(tags, # in ['x', 'y'])", "not ('y' in tags)")
	for i := range n {
		m.nodes = append(m.nodes, fmt.Sprintf("n%d", i))
	}
	fmt.Fprintf(&m.text, "graphrun: v1\nname: random\nstart: n0\nlimits: {max_steps: %d}\nparallel: {on_failure: wait_all}\n%snodes:\n", steps, state)
	for _, name := range m.nodes {
		kind := m.pick("exec", "exec", "exec", "set", "human", "both")
		keys, sets := []string{"n", "ok", "cat", "s", "tags", "score"}, []string{"count: count + 1", "count: n", "n: \"n < 5 ? n + 1 : 5\"", "ok: not ok", "score: \"min(1, score + 0.25)\""}
		choices := "a, b, c"
		if small {
			kind = m.pick("exec", "exec", "set", "human")
			keys, sets, choices = []string{"n", "ok"}, []string{"n: \"n < 2 ? n + 1 : 2\"", "ok: not ok"}, "a, b"
		}
		m.kinds[name] = kind
		switch kind {
		case "exec":
			key := m.pick(keys...)
			m.kinds[name] = "exec " + key
			fmt.Fprintf(&m.text, "  %s: {kind: exec, command: [\"false\"], writes: [%s], timeout: 1m}\n", name, key)
		case "both":
			fmt.Fprintf(&m.text, "  %s: {kind: exec, command: [\"false\"], parse: json, writes: [n, cat], timeout: 1m, output: {type: object, properties: {n: {type: integer, minimum: 0, maximum: 5}, cat: {enum: [a, b, c]}}, required: [n, cat]}}\n", name)
		case "set":
			fmt.Fprintf(&m.text, "  %s: {kind: set, set: {%s}}\n", name, m.pick(sets...))
		case "human":
			fmt.Fprintf(&m.text, "  %s: {kind: human, prompt: go on?, choices: [%s], writes: [cat]}\n", name, choices)
		}
	}
	for i, name := range m.nodes {
		m.addEdges(i, name)
	}
}

// addEdges adds the edges that leave a node.
func (m *guarded) addEdges(i int, name string) {
	target := func() string {
		if to := i - 1 + m.IntN(4); to > 0 && to < len(m.nodes) && to != i {
			return m.nodes[to]
		}
		return "END"
	}
	add := func(edge, to string) { m.edges, m.to = append(m.edges, edge), append(m.to, to) }
	for range m.IntN(3) {
		add(fmt.Sprintf("from: %s, when: \"%s\"", name, m.writeCondition(name)), target())
	}
	add("from: "+name, target())
	if kind := m.kinds[name]; kind != "set" && kind != "human" && m.IntN(3) == 0 {
		if m.IntN(2) == 0 {
			add(fmt.Sprintf("from: %s, condition: on_failure, when: \"%s\"", name, m.pick("error.kind == 'timeout'", "error.details.exit_code == 2", "visits."+name+" < 2")), target())
		}
		add(fmt.Sprintf("from: %s, condition: on_failure", name), target())
	}
}

// formatPlain returns the graph.
func (m *guarded) formatPlain() string {
	var b strings.Builder
	b.WriteString(m.text.String() + "edges:\n")
	for i, e := range m.edges {
		fmt.Fprintf(&b, "  - {%s, to: %s}\n", e, m.to[i])
	}
	return b.String()
}

// formatProbed returns the graph with a node on each edge, and policies that forbid them.
func (m *guarded) formatProbed() string {
	var nodes, edges, policies strings.Builder
	for i, e := range m.edges {
		fmt.Fprintf(&nodes, "  p%d: {kind: pass}\n", i)
		fmt.Fprintf(&edges, "  - {%s, to: p%d}\n  - {from: p%d, to: %s}\n", e, i, i, m.to[i])
		fmt.Fprintf(&policies, "  - {forbid: p%d, after: n0}\n", i)
	}
	head, _, _ := strings.Cut(m.text.String(), "limits:")
	_, rest, _ := strings.Cut(m.text.String(), "}\n") // without the limit of steps
	return head + rest + nodes.String() + "edges:\n" + edges.String() + "policies:\n" + policies.String()
}

// judgeEdges returns the edges that some run fires according to lint, and those that no run
// fires.
func judgeEdges(t *testing.T, probed string) (can, cannot map[int]bool, ok bool) {
	t.Helper()
	g, found := spec.Parse("probed.yaml", []byte(probed), spec.Options{})
	if g == nil {
		t.Fatal(found)
	}
	if found = append(found, spec.Check(g)...); found.HasErrors() {
		return nil, nil, false
	}
	can, cannot = map[int]bool{}, map[int]bool{}
	open := map[int]bool{}
	for _, d := range lint.Check(g, lint.Options{Optional: true}) {
		if d.Rule != "policy-violated" && d.Rule != "policy-undecided" {
			continue
		}
		var i int
		if _, err := fmt.Sscanf(findLine(g, d.Span.From), "  - {forbid: p%d,", &i); err != nil {
			t.Fatal(d.Message, err)
		}
		if d.Rule == "policy-violated" {
			can[i] = true
		} else {
			open[i] = true
		}
	}
	for i := range len(g.Policies) {
		cannot[i] = !can[i] && !open[i]
	}
	return can, cannot, true
}

// findLine returns the line at an offset.
func findLine(g *spec.Graph, at int) string {
	src := string(g.File.Src)
	from := strings.LastIndexByte(src[:at], '\n') + 1
	line, _, _ := strings.Cut(src[from:], "\n")
	return line
}

// countGraphs returns how many random graphs a test tries. GRAPHRUN_FLOWTEST_ROUNDS=10 tries ten
// times as many, and different ones.
func countGraphs(n int) (count int, seed uint64) {
	if times, err := strconv.Atoi(os.Getenv("GRAPHRUN_FLOWTEST_ROUNDS")); err == nil && times > 0 {
		return n * times, uint64(1000 + times)
	}
	return n, 7
}

// The cases fire every edge that static verification shows to be possible, and none that it
// proves impossible. Undecided edges are counted.
func TestGeneratedCasesFireWhatIsPossible(t *testing.T) {
	count, seed := countGraphs(4)
	var flows, total, possible, impossible, open, openFired int
	for i := 0; flows < count; i++ {
		m := &guarded{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		m.writeGraph(3+m.IntN(5), 60, false)
		can, cannot, ok := judgeEdges(t, m.formatProbed())
		if !ok {
			continue // a node that nothing reaches, a cycle without a way out
		}
		flows++
		if strings.Contains(m.list, "#") { // the checks forget what predicates have shown
			clear(can)
		}
		g, _ := spec.Parse("random.yaml", []byte(m.formatPlain()), spec.Options{})
		made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
		if err != nil {
			t.Fatalf("graph %d: %v\n%s", i, err, m.formatPlain())
		}
		dir := writeFolder(t, map[string]string{"random.yaml": m.formatPlain(), "random.test.yaml": made.Text})
		report := runFolder(t, flowtest.Config{}, dir)
		for _, result := range report.Results {
			if !result.Passed {
				t.Fatalf("graph %d: %s\n%s\n%s", i, result.Text(), m.formatPlain(), made.Text)
			}
		}
		missing := report.Coverage[filepath.Join(dir, "random.yaml")].Edges.Missing
		names := flowtest.EdgeNames(g)
		for e := range g.Edges {
			fired := !slices.Contains(missing, names[e])
			total++
			switch {
			case can[e] && !fired:
				t.Errorf("graph %d: no case covers %s, which static verification shows a run of: %v\n%s", i, names[e], made.Missing, m.formatPlain())
			case cannot[e] && fired:
				t.Errorf("graph %d: a case fires %s, which static verification proves impossible\n%s\n%s", i, names[e], m.formatPlain(), made.Text)
			case can[e]:
				possible++
			case cannot[e]:
				impossible++
			case fired:
				openFired++
			default:
				open++
			}
		}
	}
	t.Logf("%d graphs, %d edges: %d shown possible, all fired; %d proven impossible; of %d left open %d are fired, so %.1f %% are not solved",
		flows, total, possible, impossible, open+openFired, openFired, 100*float64(open)/float64(total))
}

// An edge whose condition needs values of several parts of an output at once is fired.
func TestGeneratedCasesCombineParts(t *testing.T) {
	const flow = `graphrun: v1
name: g
start: score
state: {n: {type: integer, default: 0}, s: {type: string, default: x}}
nodes:
  score: {kind: exec, command: [score], parse: json, timeout: 1m, writes: {n: output.n, s: output.s}, output: {type: object, properties: {n: {type: integer}, s: {type: string}}, required: [n, s]}}
  a: {kind: pass}
  b: {kind: pass}
  c: {kind: pass}
edges:
  - {from: score, to: a, when: "n > 41 and n < 43 and s startsWith 'abc'"}
  - {from: score, to: b, when: "n % 7 == 3 and n > 100"}
  - {from: score, to: c, when: "s in ['p', 'q'] and n < -5"}
  - {from: score, to: END}
  - {from: [a, b, c], to: END}
`
	g, found := spec.Parse("g.yaml", []byte(flow), spec.Options{})
	if found.HasErrors() {
		t.Fatal(found[0].Message)
	}
	made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
	if err != nil || made.Edges != made.Total {
		t.Errorf("%v, %d of %d edges are covered: %v", err, made.Edges, made.Total, made.Missing)
	}
}

// Every edge of the examples and templates is fired, unless nothing can fire it.
func TestGeneratedCasesOfExamples(t *testing.T) {
	never := map[string]string{
		"what-if": "look -> deny", // the second look always adds up to enough
	}
	flows, err := filepath.Glob("../examples/*/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../internal/templates/*/flow.yaml")
	if err != nil || len(flows) < 20 || len(more) < 4 {
		t.Fatal(len(flows), len(more), err)
	}
	for _, name := range append(flows, more...) {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			g, _ := spec.Parse(name, src, spec.Options{Load: spec.NewLoader(name)})
			made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
			if err != nil {
				t.Fatal(err)
			}
			want := never[filepath.Base(filepath.Dir(name))]
			for _, line := range made.Missing {
				if want == "" || !strings.HasPrefix(line, want+":") {
					t.Error(line)
				}
			}
			if want != "" && len(made.Missing) != 1 {
				t.Errorf("%q is missing, want %s", made.Missing, want)
			}
		})
	}
}

// The cases fire at least nine of ten edges of realistic flows whose runs need lists, large
// numbers and answers that fit each other.
func TestGeneratedCasesOfRealisticFlows(t *testing.T) {
	t.Parallel()
	var fired, total int
	for _, name := range []string{"grant", "customs", "loan", "machine", "outage", "recall"}[:longtest.Choose(1, 6)] {
		file := "../testdata/flows/" + name + ".yaml"
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, _ := spec.Parse(file, src, spec.Options{Load: spec.NewLoader(file)})
		made, err := flowtest.Generate(t.Context(), flowtest.Config{}, g, "")
		if err != nil {
			t.Fatal(err)
		}
		fired, total = fired+made.Edges, total+made.Total
		t.Logf("%s: %d of %d edges", name, made.Edges, made.Total)
	}
	if fired*10 < total*9 {
		t.Errorf("%d of %d edges are fired", fired, total)
	}
}
