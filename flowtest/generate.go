// Generated cases: a small set that fires every edge that can fire.

package flowtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
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
	// Runs is how many runs were tried.
	Runs int
}

// Bounds of the search for runs.
const (
	maxTries   = 6000
	maxSpent   = 20_000_000 // evaluations of conditions by the solver
	maxChoices = 60
	maxFlips   = 20_000
	mostMissed = 40   // runs for an edge that does not fire, before others come first
	maxAgain   = 4    // visits of a node whose ways out are all tried once more
	triesAfter = 1000 // without a new edge
	triesMore  = 300  // when all edges are fired, without a smaller set
)

// Generate finds runs of a flow that fire its edges, by trying on the machine itself
// what its nodes may come to: the outputs that make its conditions true and false,
// and failures where an edge waits for one. flow is how the test file names the flow.
func Generate(ctx context.Context, cfg Config, g *spec.Graph, flow string) (*Generated, error) {
	s, err := newSearch(&cfg, g, nil)
	if err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	s.explore(limited)
	chosen := s.chosen(limited, cfg)
	out := &Generated{Cases: len(chosen), Edges: len(s.fired), Total: len(g.Edges), Runs: s.tries}
	names := EdgeNames(g)
	for i := range g.Edges {
		if !s.fired[i] {
			out.Missing = append(out.Missing, names[i]+": "+s.wits.whyNot(i, s.tries))
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
	real    bool            // a graph node that runs its graph
	absent  time.Duration   // a person who does not answer in this time
}

// choice is one that a run made.
type choice struct {
	key    string // of the execution
	node   string // by its path
	visit  int
	kind   string
	option int // of list; -1: another
	list   []option
	taken  option
	text   string // of it
	input  bool
	decide bool
	// at is the place of the execution in the run.
	at int
}

// tried is a run that was tried.
type tried struct {
	choices []choice
	input   map[string]any
	// inputText tells inputs apart.
	inputText string
	history   []record
	// chosen are the choices of what executions came to, by their places.
	chosen  []*choice
	edges   []int
	set     edgeSet
	path    []string
	steps   int     // those of subgraphs too
	weight  float64 // see Aim.Weigh
	status  string
	failure *runner.Failure
	told    bool // it is as its case comes out
	resumed int  // of a run that is told: how often it went on
	// failed are the executions that failed, by their place in the path.
	failed map[int]bool
}

type search struct {
	graph   *spec.Graph
	flow    *runner.Flow
	wits    *wits
	inputs  []map[string]any
	options map[string][]option
	// absent is how long people have who are not missed without a failure, by node.
	absent map[string]time.Duration
	fired  map[int]bool
	missed map[int]int // runs that were to fire an edge, and did not
	// runs are those of which no cheaper one fires all that they do, count how many
	// of them are enough.
	runs  []*tried
	count int
	tries int
	// aim, when set, is the run that is looked for, instead of those that fire edges.
	aim *aiming
	// most is how many choices a run may have, mostFlips how many decisions are asked
	// to come out otherwise.
	most, mostFlips int

	waiting plans
	planned map[uint64]bool // plans that are or were waiting
	walked  map[string]bool // ways that runs went
	flipped map[string]bool // decisions that were asked to come out otherwise
	open    int             // of these, for how many no values were found
}

// newSearch prepares the search for runs that fire the edges of a graph or, if an aim is
// given, for one run.
func newSearch(cfg *Config, g *spec.Graph, aim *aiming) (*search, error) {
	s := &search{
		graph: g, options: map[string][]option{}, absent: map[string]time.Duration{}, fired: map[int]bool{}, missed: map[int]int{}, wits: newWits(g, aim != nil),
		planned: map[uint64]bool{}, walked: map[string]bool{}, flipped: map[string]bool{}, count: len(g.Edges) + 1, most: maxChoices, mostFlips: maxFlips, aim: aim,
	}
	r, err := s.newRunner(cfg)
	if err != nil {
		return nil, err
	}
	if s.flow, err = r.Prepare(g); err != nil {
		return nil, err
	}
	s.inputs = s.wits.inputs()
	return s, nil
}

type searchKey struct{}

// walk is one run while it goes on.
type walk struct {
	s     *search
	picks map[string]option
	mu    sync.Mutex
	out   *tried
	made  map[string]int    // by execution: its choice
	last  map[string]option // by node, of an aimed run
	stop  context.CancelFunc
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
	var list []option
	for _, candidate := range c.Candidates {
		list = append(list, option{target: candidate.Target})
	}
	o := w.choose(task, fmt.Sprint("decide ", task.Node, " ", task.Visit), list, true)
	w.weigh(Execution{Node: task.Node, Decision: true})
	return o.target, "", nil
}

// node chooses what an execution comes to.
func (w *walk) node(task *runner.Task) (*runner.Reply, error) {
	list := w.s.optionsOf(task)
	key := fmt.Sprint(task.Node, " ", task.Key)
	if task.Index >= 0 {
		key = fmt.Sprint(task.Node, " each ", task.Visit) // all elements come to the same
	}
	o := w.choose(task, key, list, false)
	if task.Attempt == 1 {
		w.weigh(Execution{Node: task.Node, Failed: o.failure != nil})
	}
	if o.real {
		return nil, nil
	}
	if o.failure != nil {
		failure := *o.failure
		return nil, &failure
	}
	return &runner.Reply{Output: o.output}, nil
}

// choose takes what is planned for an execution, or its first option. All attempts
// of an execution come to the same.
func (w *walk) choose(task *runner.Task, key string, list []option, decide bool) option {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.made[key]; ok {
		return w.out.choices[at].taken
	}
	at := len(w.out.choices)
	taken, pick := list[0], 0
	if led, ok := w.lead(task, decide); ok {
		taken = led
	} else if again, ok := w.last[task.Node]; ok && !decide {
		taken = again // what led round once may lead round again
	}
	if planned, ok := w.picks[key]; ok {
		taken = planned
	}
	if text := taken.text(); text != list[0].text() {
		pick = slices.IndexFunc(list, func(o option) bool { return o.text() == text })
	}
	if w.last != nil && !decide {
		w.last[task.Node] = taken
	}
	if at >= w.s.most {
		w.stop()
	}
	w.made[key] = at
	w.out.choices = append(w.out.choices, choice{
		key: key, node: task.Node, visit: task.Visit, kind: task.Kind, option: pick, list: list, taken: taken, text: taken.text(), decide: decide,
	})
	return taken
}

// optionsOf are what a node may come to, the likeliest first.
func (s *search) optionsOf(task *runner.Task) []option {
	if list, ok := s.options[task.Node]; ok {
		return list
	}
	n := task.Graph.Node(task.Node[strings.LastIndexByte(task.Node, '/')+1:])
	var list []option
	if task.Kind == "graph" {
		list = append(list, option{real: true})
	} else {
		for _, output := range s.wits.outputs(task.Graph, n) {
			list = append(list, option{output: output})
		}
	}
	for _, failure := range s.wits.failures(task.Graph, n) {
		list = append(list, option{failure: failure})
	}
	if most := s.absent[task.Node]; most > 0 {
		list = append(list, option{failure: &runner.Failure{Kind: "timeout", Message: madeUpText}, absent: most})
	}
	if len(list) == 0 {
		list = []option{{output: baseOutput(task.Graph, n)}}
	}
	s.options[task.Node] = list
	return list
}

// try makes one run.
func (s *search) try(ctx context.Context, p *plan) *tried {
	s.tries++
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	w := &walk{s: s, picks: p.chosen(), out: &tried{failed: map[int]bool{}, input: p.input, inputText: jsonText(p.input)}, made: map[string]int{}, stop: stop}
	if s.aim != nil {
		w.last = map[string]option{}
	}
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
	t.path, t.steps, t.status, t.failure = result.Path, result.Steps, string(result.Status), result.Error
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
	t.chosen = make([]*choice, len(t.history))
	for i := range t.choices {
		c := &t.choices[i]
		c.at = slices.IndexFunc(t.history, func(h record) bool {
			name, _, _ := strings.Cut(c.node, "/")
			return h.Node == name && (h.Visit == c.visit || name != c.node)
		})
		if c.at < 0 {
			c.at = len(t.history)
		}
	}
	slices.SortStableFunc(t.choices, func(a, b choice) int { return a.at - b.at })
	for i := range t.choices {
		if c := &t.choices[i]; c.at < len(t.history) && !c.decide && !c.taken.real && t.history[c.at].Node == c.node {
			t.chosen[c.at] = c
		}
	}
}

// searchTime is the longest that a search takes, however slow the machine; what ends
// it before is counted, so that it comes to the same everywhere.
const searchTime = 5 * time.Minute
