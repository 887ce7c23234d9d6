// Generated cases: a small set that fires every edge for which a run is found.

package flowtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/runner/virtual"
	"github.com/graphrun/graphrun/spec"
)

// Generated is a set of cases for a flow.
type Generated struct {
	// Text is the test file.
	Text string
	// Cases is how many there are, and Edges how many edges they fire of Total.
	Cases, Edges, Total int
	// Missing are the edges that no run was found for, with the reason.
	Missing []string
	// NoValue lists the required inputs without a known valid value, if there are no cases.
	NoValue []string
	// Runs is how many runs were replayed.
	Runs int
}

// Generate finds runs of a flow that fire its edges: the explorer chooses inputs, results,
// answers and failures on the real machine, and each run that it finds is replayed with
// stubs. flow is how the test file names the flow.
func Generate(ctx context.Context, cfg Config, g *spec.Graph, flow string) (*Generated, error) {
	s, err := newSearch(&cfg, g)
	if err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	missing := s.explore(limited, cfg)
	chosen := s.chosen(limited, cfg)
	out := &Generated{Cases: len(chosen), Edges: len(s.fired), Total: len(g.Edges), Runs: s.tries}
	names := EdgeNames(g)
	for i := range g.Edges {
		if missing[i] == "" {
			missing[i] = "a run fires it that no case can show"
		}
		if !s.fired[i] {
			out.Missing = append(out.Missing, names[i]+": "+missing[i])
		}
	}
	if len(chosen) == 0 {
		out.NoValue = inputsWithoutValue(g)
	}
	out.Text = s.write(chosen, flow, out.Missing)
	return out, nil
}

// option is what an execution may come to.
type option struct {
	output  any
	failure *runner.Failure // nil: a success
	target  string          // of a decision
	absent  time.Duration   // a person who does not answer in this time
}

// text tells options apart.
func (o *option) text() string { return fmt.Sprint(o.target) + o.entry() }

// choice is one that a run made.
type choice struct {
	key    string // of the execution
	node   string
	visit  int
	kind   string
	usual  bool // what is chosen without a plan
	taken  option
	input  bool
	decide bool
	// at is the place of the execution in the run.
	at int
}

// plan is what executions come to, by node and visit, and the input. Executions without
// an entry come to what is usual.
type plan struct {
	picks map[string]option
	input map[string]any
}

// tried is a run that was tried.
type tried struct {
	choices []choice
	plan    *plan
	input   map[string]any
	history []view.HistoryRecord
	edges   []int
	set     edgeSet
	path    []string
	status  string
	failure *runner.Failure
	told    bool // it is as its case comes out
	resumed int  // of a run that is told: how often it went on
	// failed are the executions that failed, by their place in the path.
	failed map[int]bool
}

type search struct {
	graph *spec.Graph
	flow  *runner.Flow
	world *explore.World
	// absent is how long people have who are not missed without a failure, by node.
	absent map[string]time.Duration
	fired  map[int]bool
	runs   []*tried
	tries  int
}

// maxChoices is the largest number of node executions in a generated case.
const maxChoices = 60

// searchTime is the longest that a search takes, however slow the machine; what ends
// it before is counted, so that it comes to the same everywhere.
const searchTime = 5 * time.Minute

func newSearch(cfg *Config, g *spec.Graph) (*search, error) {
	s := &search{graph: g, absent: map[string]time.Duration{}, fired: map[int]bool{}}
	r, err := s.newRunner(cfg)
	if err != nil {
		return nil, err
	}
	if s.flow, err = r.Prepare(g); err != nil {
		return nil, err
	}
	var kinds []spec.Kind
	for i := range cfg.Kinds {
		kinds = append(kinds, cfg.Kinds[i].Spec)
	}
	s.world, err = explore.NewWorld(g, kinds)
	return s, err
}

// explore looks for a run for each edge that none has fired. It returns why there is none,
// by edge.
func (s *search) explore(ctx context.Context, cfg Config) map[int]string {
	s.keep(s.told(cfg, s.try(ctx, &plan{input: s.leastInput()})))
	missing := map[int]string{}
	for i := range s.graph.Edges {
		if s.fired[i] || ctx.Err() != nil {
			continue
		}
		a := s.world.Fire(i)
		if a.Found {
			s.keep(s.told(cfg, s.try(ctx, s.planOf(&a))))
		}
		switch e := s.graph.Edges[i]; {
		case never(s.graph, e):
			missing[i] = quoted(e.When.Value) + " never holds"
		case a.Found:
			missing[i] = "a run fires it that no case can show"
		case a.Gap == "":
			missing[i] = "no run fires it"
		default:
			missing[i] = "no run was found that fires it: " + a.Gap
		}
	}
	return missing
}

// planOf returns the plan of a run that was found.
func (s *search) planOf(a *explore.Answer) *plan {
	p := &plan{picks: map[string]option{}, input: a.Input}
	for i := range a.Chosen {
		c := &a.Chosen[i]
		n := s.graph.Nodes[c.Node]
		key := pickKey(n.ID.Value, c.Visit, c.Decision)
		switch {
		case c.Decision:
			p.picks[key] = option{target: c.Target}
		case c.Absent && s.absent[n.ID.Value] > 0:
			p.picks[key] = option{failure: &runner.Failure{Kind: "timeout", Message: madeUpText}, absent: s.absent[n.ID.Value]}
		case c.Absent:
			p.picks[key] = option{output: n.Field("default").Data()}
		case c.Failure != nil:
			p.picks[key] = option{failure: s.plainFailure(c.Failure)}
		default:
			p.picks[key] = option{output: c.Output}
		}
	}
	return p
}

// plainFailure returns a failure with the message and the details that the graph speaks of.
func (s *search) plainFailure(of *runner.Failure) *runner.Failure {
	src := string(s.graph.File.Src)
	out := &runner.Failure{Kind: of.Kind, Message: madeUpText}
	if strings.Contains(src, "error.message") {
		out.Message = of.Message
	}
	for _, name := range sortedNames(of.Details) {
		if strings.Contains(src, "details."+name) {
			if out.Details == nil {
				out.Details = map[string]any{}
			}
			out.Details[name] = of.Details[name]
		}
	}
	return out
}

func pickKey(node string, visit int, decide bool) string {
	return fmt.Sprint(decide, " ", node, " ", visit)
}

// leastInput returns the keys that a run needs, with the least values.
func (s *search) leastInput() map[string]any {
	out := map[string]any{}
	for _, key := range s.graph.State {
		if key.Required {
			out[key.Name.Value] = least(key.Schema)
		}
	}
	return out
}

// keep notes a run, and the edges that it fires.
func (s *search) keep(t *tried) {
	if t == nil || len(t.edges) == 0 {
		return
	}
	for _, e := range t.edges {
		s.fired[e] = true
	}
	s.runs = append(s.runs, t)
}

type searchKey struct{}

// walk is one run while it goes on.
type walk struct {
	s    *search
	plan *plan
	mu   sync.Mutex
	out  *tried
	made map[string]int // by execution: its choice
	stop context.CancelFunc
}

func (s *search) newRunner(cfg *Config) (*runner.Runner, error) {
	kinds := slices.Concat(node.Kinds(node.Options{}), cfg.Kinds, []runner.Kind{{
		Spec: spec.Kind{Name: stubKind}, Handler: runner.HandlerFunc(runStub),
	}})
	rewrite := func(path string, g *spec.Graph) *spec.Graph {
		with := map[string]*spec.Node{}
		for _, n := range g.Nodes {
			if n.Kind.Value != "human" {
				continue
			}
			own := *n
			own.Fields, own.Kind.Value = nil, stubKind
			takeOver(&own, n)
			if n.Timeout > 0 && n.Field("default") == nil && !n.Each.IsSet() {
				s.absent[strings.TrimPrefix(path+"/"+n.ID.Value, "/")] = n.Timeout
			}
			with[n.ID.Value] = &own
		}
		return g.WithNodes(with)
	}
	return runner.New(runner.Config{Kinds: kinds, Decider: searcher{}, Rewrite: rewrite, Hooks: runner.Hooks{
		BeforeNode: func(ctx context.Context, task *runner.Task) (*runner.Reply, error) {
			w, _ := ctx.Value(searchKey{}).(*walk)
			if w == nil {
				return nil, nil
			}
			return w.node(task)
		},
	}})
}

// searcher decides as the walk chooses.
type searcher struct{}

func (searcher) Decide(ctx context.Context, task *runner.Task, c handler.Choice) (string, string, error) {
	w, _ := ctx.Value(searchKey{}).(*walk)
	o := w.choose(task, fmt.Sprint("decide ", task.Node, " ", task.Visit), option{target: c.Candidates[0].Target}, true)
	return o.target, "", nil
}

// node chooses what an execution comes to.
func (w *walk) node(task *runner.Task) (*runner.Reply, error) {
	key := fmt.Sprint(task.Node, " ", task.Key)
	if task.Index >= 0 {
		key = fmt.Sprint(task.Node, " each ", task.Visit) // all elements come to the same
	}
	o := w.choose(task, key, option{output: w.s.world.Usual(task.Graph.Node(task.Node).Index)}, false)
	if o.failure != nil {
		failure := *o.failure
		return nil, &failure
	}
	return &runner.Reply{Output: o.output}, nil
}

// choose takes what is planned for an execution, or what is usual. All attempts of an
// execution come to the same.
func (w *walk) choose(task *runner.Task, key string, usual option, decide bool) option {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.made[key]; ok {
		return w.out.choices[at].taken
	}
	taken, planned := w.plan.picks[pickKey(task.Node, task.Visit, decide)]
	if !planned {
		taken = usual
	}
	at := len(w.out.choices)
	if at >= maxChoices {
		w.stop()
	}
	w.made[key] = at
	w.out.choices = append(w.out.choices, choice{
		key: pickKey(task.Node, task.Visit, decide), node: task.Node, visit: task.Visit, kind: task.Kind,
		usual: taken.text() == usual.text(), taken: taken, decide: decide,
	})
	return taken
}

// try makes one run.
func (s *search) try(ctx context.Context, p *plan) *tried {
	s.tries++
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	w := &walk{s: s, plan: p, out: &tried{plan: p, failed: map[int]bool{}, input: p.input}, made: map[string]int{}, stop: stop}
	ctx = context.WithValue(ctx, searchKey{}, w)
	opts := runner.Options{
		RunID: "test", Input: p.input, Clock: virtual.NewClock(started()), Secrets: madeUpSecrets, History: true,
	}
	result, err := s.flow.Run(ctx, opts)
	t := w.out
	if err != nil || result == nil {
		t.status = "error"
		return t
	}
	t.history = result.History
	t.place()
	t.came(s.graph, result)
	if len(p.input) > 0 {
		t.choices = append(t.choices, choice{input: true, taken: option{output: p.input}})
	}
	return t
}

// came notes how a run came out, and which edges it fired if somebody would keep it as
// a case.
func (t *tried) came(g *spec.Graph, result *runner.Result) {
	t.path, t.status, t.failure = result.Path, string(result.Status), result.Error
	t.edges, t.set, t.failed = nil, newBits(len(g.Edges)), map[int]bool{}
	if t.status == "cancelled" || result.Error != nil && result.Error.Kind == "expression" {
		return
	}
	failed := map[string][]int{}
	for i := range result.History {
		h := &result.History[i]
		if h.Error == nil {
			continue
		}
		if h.Error.Kind == "invalid_output" || h.Error.Kind == "expression" {
			return
		}
		failed[h.Node] = append(failed[h.Node], h.Visit)
	}
	visits := map[string]int{}
	for i, node := range t.path {
		visits[node]++
		t.failed[i] = slices.Contains(failed[node], visits[node])
	}
	for _, e := range result.Edges.All() {
		if e.Fired > 0 {
			t.edges = append(t.edges, e.Index)
			t.set.add(e.Index)
		}
	}
}

// place finds where the choices stand in the run: branches choose in any order.
func (t *tried) place() {
	for i := range t.choices {
		c := &t.choices[i]
		c.at = slices.IndexFunc(t.history, func(h view.HistoryRecord) bool { return h.Node == c.node && h.Visit == c.visit })
		if c.at < 0 {
			c.at = len(t.history)
		}
	}
	slices.SortStableFunc(t.choices, func(a, b choice) int { return a.at - b.at })
}
