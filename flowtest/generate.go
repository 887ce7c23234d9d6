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
	// Runs is how many runs were tried.
	Runs int
}

// Bounds of the search for runs.
const (
	maxTries   = 6000
	maxChoices = 60
	triesAfter = 1500 // without a new edge
)

// Generate finds runs of a flow that fire its edges, by trying on the machine itself
// what its nodes may come to: the outputs that make its conditions true and false,
// and failures where an edge waits for one. flow is how the test file names the flow.
func Generate(ctx context.Context, cfg Config, g *spec.Graph, flow string) (*Generated, error) {
	s := &search{graph: g, options: map[string][]option{}, fired: map[int]bool{}, wits: newWits(g)}
	r, err := s.newRunner(&cfg)
	if err != nil {
		return nil, err
	}
	if s.flow, err = r.Prepare(g); err != nil {
		return nil, err
	}
	s.inputs = s.wits.inputs()
	limited, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	s.explore(limited)
	chosen := s.smallest()
	out := &Generated{Cases: len(chosen), Edges: len(s.fired), Total: len(g.Edges), Runs: s.tries}
	names := EdgeNames(g)
	for i := range g.Edges {
		if !s.fired[i] {
			out.Missing = append(out.Missing, names[i]+": "+s.wits.whyNot(i, s.tries))
		}
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
}

// choice is one that a run made.
type choice struct {
	node   string // by its path
	kind   string
	option int
	of     int
	taken  option
	input  bool
	decide bool
}

// tried is a run that was tried.
type tried struct {
	choices []choice
	edges   []int
	path    []string
	status  string
	failure *runner.Failure
	broken  []string // nodes whose output did not fit
	// failed are the executions that failed, by their place in the path.
	failed map[int]bool
}

type search struct {
	graph   *spec.Graph
	flow    *runner.Flow
	wits    *wits
	inputs  []map[string]any
	options map[string][]option
	fired   map[int]bool
	runs    []*tried // each with an edge that those before had not fired, or shorter
	tries   int
}

type searchKey struct{}

// walk is one run while it goes on.
type walk struct {
	s      *search
	prefix []int
	mu     sync.Mutex
	out    *tried
	made   map[string]int // by execution: its choice
	stop   context.CancelFunc
}

func (s *search) newRunner(cfg *Config) (*runner.Runner, error) {
	kinds := slices.Concat(node.Kinds(node.Options{}), cfg.Kinds, []runner.Kind{{
		Spec: spec.Kind{Name: stubKind}, Handler: runner.HandlerFunc(runStub),
	}})
	rewrite := func(_ string, g *spec.Graph) *spec.Graph {
		with := map[string]*spec.Node{}
		for _, n := range g.Nodes {
			if n.Kind.Value != "human" {
				continue
			}
			own := *n
			own.Fields, own.Kind.Value = nil, stubKind
			takeOver(&own, n)
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

func (searcher) Decide(ctx context.Context, task *runner.Task, c runner.Choice) (string, string, error) {
	w, _ := ctx.Value(searchKey{}).(*walk)
	var list []option
	for _, candidate := range c.Candidates {
		list = append(list, option{target: candidate.Target})
	}
	o := w.choose(task.Node, task.Kind, fmt.Sprint("decide ", task.Node, " ", task.Visit), list, true)
	return o.target, "", nil
}

// node chooses what an execution comes to.
func (w *walk) node(task *runner.Task) (*runner.Reply, error) {
	list := w.s.optionsOf(task)
	key := fmt.Sprint(task.Node, " ", task.Key)
	if task.Index >= 0 {
		key = fmt.Sprint(task.Node, " each ", task.Visit) // all elements come to the same
	}
	o := w.choose(task.Node, task.Kind, key, list, false)
	if o.real {
		return nil, nil
	}
	if o.failure != nil {
		failure := *o.failure
		return nil, &failure
	}
	return &runner.Reply{Output: o.output}, nil
}

// choose takes the next choice of the prefix, or the first option behind it. All
// attempts of an execution come to the same.
func (w *walk) choose(node, kind, key string, list []option, decide bool) option {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.made[key]; ok {
		return w.out.choices[at].taken
	}
	at := len(w.out.choices)
	pick := 0
	if at < len(w.prefix) {
		pick = min(w.prefix[at], len(list)-1)
	}
	if at >= maxChoices {
		w.stop()
	}
	w.made[key] = at
	w.out.choices = append(w.out.choices, choice{node: node, kind: kind, option: pick, of: len(list), taken: list[pick], decide: decide})
	return list[pick]
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
	if len(list) == 0 {
		list = []option{{output: baseOutput(task.Graph, n)}}
	}
	s.options[task.Node] = list
	return list
}

// explore tries runs: breadth first over the choices, those that changed what was
// fired first.
func (s *search) explore(ctx context.Context) {
	type item struct {
		prefix []int
		input  int
	}
	var queue, later []item
	for i := range s.inputs {
		queue = append(queue, item{nil, i})
	}
	seen, idle := map[string]bool{}, 0
	for (len(queue) > 0 || len(later) > 0) && s.tries < maxTries && idle < triesAfter && len(s.fired) < len(s.graph.Edges) && ctx.Err() == nil {
		if len(queue) == 0 {
			queue, later = later, nil
		}
		next := queue[0]
		queue = queue[1:]
		t := s.try(ctx, next.prefix, next.input)
		idle++
		news := false
		for _, e := range t.edges {
			if !s.fired[e] {
				s.fired[e], news, idle = true, true, 0
			}
		}
		if news {
			s.runs = append(s.runs, t)
		}
		taken := make([]int, len(t.choices))
		for i, c := range t.choices {
			taken[i] = c.option
		}
		for i := len(next.prefix); i < len(t.choices); i++ {
			for other := range t.choices[i].of {
				if other == taken[i] {
					continue
				}
				prefix := append(slices.Clone(taken[:i]), other)
				key := fmt.Sprint(next.input, prefix)
				if seen[key] {
					continue
				}
				seen[key] = true
				if news {
					queue = append(queue, item{prefix, next.input})
				} else if len(later) < 4*maxTries {
					later = append(later, item{prefix, next.input})
				}
			}
		}
	}
}

// try makes one run.
func (s *search) try(ctx context.Context, prefix []int, input int) *tried {
	s.tries++
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	w := &walk{s: s, prefix: prefix, out: &tried{failed: map[int]bool{}}, made: map[string]int{}, stop: stop}
	ctx = context.WithValue(ctx, searchKey{}, w)
	opts := runner.Options{
		RunID: "test", Input: s.inputs[input], Clock: runner.NewVirtualClock(started()), Secrets: madeUpSecrets, History: true,
	}
	result, err := s.flow.Run(ctx, opts)
	t := w.out
	if err != nil || result == nil {
		t.status = "error"
		return t
	}
	if len(s.inputs[input]) > 0 {
		t.choices = slices.Clip(t.choices)
	}
	t.path, t.status, t.failure = result.Path, string(result.Status), result.Error
	if t.status == "cancelled" {
		return t
	}
	for i := range result.History {
		h := &result.History[i]
		if h.Error != nil {
			t.failed[h.Step-1] = true
			if h.Error.Kind == "invalid_output" || h.Error.Kind == "expression" {
				t.broken = append(t.broken, h.Node)
			}
		}
	}
	if len(t.broken) > 0 || result.Error != nil && result.Error.Kind == "expression" { // nobody would keep such a case
		return t
	}
	for _, e := range result.Edges.All() {
		if e.Fired > 0 {
			t.edges = append(t.edges, e.Index)
		}
	}
	if input > 0 || len(s.inputs[0]) > 0 {
		t.choices = append(t.choices, choice{input: true, taken: option{output: s.inputs[input]}, of: 1})
	}
	return t
}

// smallest is a smallest set of the runs that fires what they fire together: the
// best of all sets while these are few, else one in which none is superfluous.
func (s *search) smallest() []*tried {
	var best []*tried
	if len(s.runs) <= 18 {
		best = s.exact()
	} else {
		best = s.greedy()
	}
	slices.SortStableFunc(best, func(a, b *tried) int { return len(a.path) - len(b.path) })
	return best
}

func (s *search) exact() []*tried {
	var best []*tried
	bestSize, bestCost := len(s.runs)+1, 0
	for set := range 1 << len(s.runs) {
		var picked []*tried
		covered, cost := map[int]bool{}, 0
		for i, t := range s.runs {
			if set>>i&1 == 1 {
				picked = append(picked, t)
				cost += len(t.choices) + len(t.path)
				for _, e := range t.edges {
					covered[e] = true
				}
			}
		}
		if len(covered) == len(s.fired) && (len(picked) < bestSize || len(picked) == bestSize && cost < bestCost) {
			best, bestSize, bestCost = picked, len(picked), cost
		}
	}
	return best
}

func (s *search) greedy() []*tried {
	covered := map[int]bool{}
	var out []*tried
	for len(covered) < len(s.fired) {
		var best *tried
		most := 0
		for _, t := range s.runs {
			news := 0
			for _, e := range t.edges {
				if !covered[e] {
					news++
				}
			}
			if news > most || news == most && news > 0 && len(t.path) < len(best.path) {
				best, most = t, news
			}
		}
		if best == nil {
			break
		}
		out = append(out, best)
		for _, e := range best.edges {
			covered[e] = true
		}
	}
	return out
}

// searchTime is the longest that a search takes.
const searchTime = 20 * time.Second
