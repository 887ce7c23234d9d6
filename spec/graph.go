// The graph as written in a file: every name and value with its position, and the graphs within it.

package spec

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Graph is a parsed graph file. Lists have the order of the file. A graph with Error findings may be
// incomplete and must not run.
type Graph struct {
	File         *File
	Name         Text        `key:"name"`
	Description  Text        `key:"description"`
	Goal         Goal        `key:"goal"`
	Persona      Text        `key:"persona"`
	Start        Text        `key:"start"`
	Finish       []Text      `key:"finish"`
	Output       *Value      `key:"output"` // an expression, a map of them, or nil
	State        []*StateKey `key:"state"`
	StrictState  bool        `key:"strict_state"`
	Nodes        []*Node     `key:"nodes"`
	Edges        []*Edge     `key:"edges"`
	Limits       Limits      `key:"limits"`
	Parallel     Parallel    `key:"parallel"`
	Retry        []Retry     `key:"retry"`
	Cache        *Cache      `key:"cache"`
	PauseBefore  []Text      `key:"pause_before"`
	PauseAfter   []Text      `key:"pause_after"`
	Finally      []Text      `key:"finally"` // the nodes that run after the outcome of the run is decided
	Feedback     bool        `key:"feedback_on_revisit"`
	Conversation *Value      `key:"conversation"`
	Models       []Field     `key:"models"`
	Providers    []Field     `key:"providers"`
	Tools        []Field     `key:"tools"`
	Secrets      []Secret    `key:"secrets"`
	Policies     []Value
	Inapplicable []Value      // policies of shared files that name unknown nodes
	Notify       []Value      `key:"notify"` // maps with on, and url or command
	Concurrency  *Concurrency `key:"concurrency"`
	Graphs       []*Graph     `key:"graphs"`
	Entry        Text         // the name of a graph within a file
	Span         Span

	settings []Field // see Settings
	whole    *Graph  // the graph of the file, for a graph within it
	nodes    map[string]*Node
	keys     map[string]*StateKey
	edgeIDs  map[string]Span
	// hasGaps is set if nodes, state or start could not be read, lacksEdges if some edge could not be read.
	// Check does not report consequences of such gaps.
	hasGaps, lacksEdges bool
	faults              []Span // the spans of the findings of Parse
}

// Settings returns the graph's keys as plain data, without state, nodes, edges and graphs, but with the
// texts and policies of other files.
func (g *Graph) Settings() map[string]any {
	out := make(map[string]any, len(g.settings))
	for i := range g.settings {
		out[g.settings[i].Key.Value] = g.settings[i].Value.Data()
	}
	if _, ok := out["policies"]; ok {
		list := []any{}
		for _, p := range slices.Concat(g.Policies, g.Inapplicable) {
			list = append(list, p.Data())
		}
		out["policies"] = list
	}
	return out
}

// Node returns the node with an id, or nil.
func (g *Graph) Node(id string) *Node { return g.nodes[id] }

// Key returns the declared state key with a name, or nil.
func (g *Graph) Key(name string) *StateKey { return g.keys[name] }

// IsComplete reports whether all nodes, edges and state keys of the file could be read.
func (g *Graph) IsComplete() bool { return !g.hasGaps && !g.lacksEdges }

// HasFaultIn reports whether Parse has a finding within a span.
func (g *Graph) HasFaultIn(at Span) bool {
	return slices.ContainsFunc(g.faults, func(f Span) bool { return at.From <= f.From && f.To <= at.To })
}

// WithNodes returns a copy of the graph with some nodes replaced, by id. A node gets the Index of the node
// that it replaces. Both graphs share all other parts.
func (g *Graph) WithNodes(with map[string]*Node) *Graph {
	if len(with) == 0 {
		return g
	}
	out := new(*g)
	out.Nodes, out.nodes = slices.Clone(g.Nodes), maps.Clone(g.nodes)
	for i, n := range g.Nodes {
		if other := with[n.ID.Value]; other != nil {
			own := new(*other)
			own.Index = i
			out.Nodes[i], out.nodes[own.ID.Value] = own, own
		}
	}
	return out
}

// Text is a scalar read as a string. The zero Text is absent.
type Text struct {
	Value  string
	Span   Span
	source *File // the file that holds the scalar; the scalar may be its whole text
}

// IsSet reports whether the scalar is present in the file, possibly as "".
func (t Text) IsSet() bool { return t.Span.To > t.Span.From || t.source != nil }

// Goal is the goal of a graph.
type Goal struct {
	Description     Text   `key:"description"`
	SuccessCriteria []Text `key:"success_criteria"`
	Constraints     []Text `key:"constraints"`
}

// StateKey declares one key of the shared state.
type StateKey struct {
	Name   Text
	Source *Value // the declaration in the file
	// Schema holds the JSON Schema keywords of the key as plain data, without those of graphrun.
	Schema   map[string]any
	Default  *Value `key:"default"`
	Required bool   `key:"required"`
	Secret   bool   `key:"secret"`
	Once     bool   `key:"once"`
	Scope    Text   `key:"scope"`
	Reducer  Text   `key:"reducer"` // a name, or an expression over current and update
}

// HasReducerExpr reports whether the reducer is an expression over current and update, and not a name.
func (k *StateKey) HasReducerExpr() bool {
	name := k.Reducer.Value
	return k.Reducer.IsSet() && (!isIdentifier(name) || name == "current" || name == "update")
}

// Secret is a named secret: exactly one of Env, File and Command is set.
type Secret struct {
	Name    Text
	Env     Text   `key:"env"`
	File    Text   `key:"file"`
	Command []Text `key:"command"` // the program that prints it, and its arguments
}

// Strings returns the values of texts.
func Strings(texts []Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t.Value)
	}
	return out
}

// Limits bound a run. Zero means no limit. The defaults are 100 steps, "fail", and a concurrency of 16.
type Limits struct {
	MaxSteps       int           `key:"max_steps"`
	OnMaxSteps     string        `key:"on_max_steps"` // fail, return_last, flag
	Timeout        time.Duration `key:"timeout"`
	StepTimeout    time.Duration `key:"step_timeout"`
	NodeTimeout    time.Duration `key:"node_timeout"`
	MaxVisits      int           `key:"max_visits"`
	MaxConcurrency int           `key:"max_concurrency"`
	MaxTokens      int           `key:"max_tokens"`
	MaxCostUSD     float64       `key:"max_cost_usd"`
	// MaxStateBytes is 0 for the default of the runner, or the limit of the run around a subgraph.
	MaxStateBytes int `key:"max_state_bytes"`
	Span          Span
	MaxStepsSpan  Span `key:"max_steps"` // Span if the file does not set MaxSteps
	written       []Field
}

// ValueOf returns the value of a limit in the file, or nil.
func (l *Limits) ValueOf(key string) *Value { return valueOf(l.written, key) }

// Parallel configures failing, conflicting and slow branches. Empty strings and zero are settings that the
// file lacks. Graph.Parallel has the defaults fail_all, last_wins and auto.
type Parallel struct {
	OnFailure     string        `key:"on_failure"` // fail_all, continue_others, wait_all
	Conflict      string        `key:"conflict"`   // last_wins, first_wins, error
	ConflictSpan  Span          `key:"conflict"`   // empty for the default
	BranchTimeout time.Duration `key:"branch_timeout"`
	Join          string        `key:"join"` // explicit, auto
	Span          Span
}

// Concurrency bounds the runs of a group.
type Concurrency struct {
	Group  Text   `key:"group"`   // an expression
	Limit  int    `key:"limit"`   // default 1
	OnBusy string `key:"on_busy"` // wait (default), fail, cancel_oldest
}

// Retry is a retry block. The defaults are 3 attempts after 1s, 2s, … up to 30s, with jitter 0.1.
type Retry struct {
	MaxAttempts     int           `key:"max_attempts"`
	InitialInterval time.Duration `key:"initial_interval"`
	Backoff         float64       `key:"backoff"`
	MaxInterval     time.Duration `key:"max_interval"`
	HasMaxInterval  bool          // the file sets MaxInterval
	Jitter          float64       `key:"jitter"`
	On              []Text        `key:"on"`   // kinds of failures; every kind if empty
	When            Text          `key:"when"` // a condition over error, true if unset
	Span            Span
}

// AppliesTo reports whether the block applies to failures of a kind. It ignores the condition.
func (r *Retry) AppliesTo(kind string) bool {
	return len(r.On) == 0 || slices.ContainsFunc(r.On, func(on Text) bool { return on.Value == kind })
}

// MaxAttempts returns the highest number of attempts that retry blocks allow together.
func MaxAttempts(blocks []Retry) int {
	n := 1
	for i := range blocks {
		n += max(0, blocks[i].MaxAttempts-1)
	}
	return n
}

// Cache is a cache block. At most one of Key, an expression, and Keys is set.
type Cache struct {
	TTL     time.Duration `key:"ttl"` // 0 means forever
	Key     Text
	Keys    []Text
	Version Text `key:"version"`
}

// Node is one node. Index is its index in Graph.Nodes.
type Node struct {
	ID                Text
	Index             int
	Span              Span
	Kind              Text
	Writes            Writes         `key:"writes"`
	Retry             []Retry        `key:"retry"` // the node's own; see RetryBlocks
	Timeout           time.Duration  `key:"timeout"`
	MaxVisits         int            `key:"max_visits"`    // the node's own; see VisitLimit
	OnMaxVisits       string         `key:"on_max_visits"` // fail (default), skip
	Routing           string         `key:"routing"`       // first (default), all
	Join              *Join          `key:"join"`
	Parallel          *Parallel      `key:"parallel"`
	Output            map[string]any `key:"output"` // the JSON Schema of the node's output as plain data, or nil
	OutputSource      *Value         `key:"output"` // the same schema as in the file
	Fields            []Field        // the keys of the node's kind (command, url, set, …), in file order
	Description       Text           `key:"description"`
	Reads             []Text         `key:"reads"` // the state keys the node may see; all, unless HasReads
	Queue             Text           `key:"queue"` // the workers of a cluster that run the node; any, if absent
	Cache             *Cache         `key:"cache"`
	Goto              Text           `key:"goto"` // an expression
	Ends              []End          `key:"ends"`
	Each              Text           `key:"each"`
	MaxConcurrency    int            `key:"max_concurrency"` // of elements of Each; 0 for as many as the run allows
	Feedback          *bool          `key:"feedback"`
	Conversation      *Value         `key:"conversation"`
	Before            []NamedExpr    `key:"before"`
	Emit              []NamedExpr    `key:"emit"`
	Decide            *Decide        `key:"decide"`
	HasReads, HasEnds bool           // the file has the keys
	Final             bool           // `finally` names the node

	hasUnknownExits bool    // its kind or ends have a finding: Check ignores its exits
	written         []Field // all of its keys
}

// ValueOf returns the value of any key of the node in the file, or nil.
func (n *Node) ValueOf(key string) *Value { return valueOf(n.written, key) }

// Keys returns the names of the node's keys in file order.
func (n *Node) Keys() []string {
	out := make([]string, len(n.written))
	for i := range n.written {
		out[i] = n.written[i].Key.Value
	}
	return out
}

// Field returns the value of one of the node kind's keys, or nil.
func (n *Node) Field(name string) *Value { return valueOf(n.Fields, name) }

// RetryBlocks returns the retry blocks of a node: its own, or the graph's.
func (n *Node) RetryBlocks(g *Graph) []Retry {
	if n.Retry != nil {
		return n.Retry
	}
	return g.Retry
}

// VisitLimit returns the maximum number of visits: the node's limit, or the graph's, or 0 for no limit.
func (n *Node) VisitLimit(g *Graph) int { return cmp.Or(n.MaxVisits, g.Limits.MaxVisits) }

// Decide configures the model that decides between the edges of a node.
type Decide struct {
	See          []Text `key:"see"` // state keys
	Instructions Text   `key:"instructions"`
}

// Writes holds the state keys that a node writes: Keys for a list, Exprs for a map, or neither.
type Writes struct {
	Keys  []Text
	Exprs []NamedExpr
}

// NamedExpr is an entry `name: expression`.
type NamedExpr struct{ Name, Expr Text }

// End is a target of goto: Label leads to Target, a node or END.
type End struct{ Label, Target Text }

// Join makes a node a barrier. Wait is "all", "any" or "N", and Count the N.
type Join struct {
	Wait     string `key:"wait"`
	Count    int    `key:"wait"`
	OnBypass Text   `key:"on_bypass"` // drop (default), continue, fail; not for "any"
	Span     Span
}

// IsValid reports whether the number of branches to wait for is valid.
func (j *Join) IsValid() bool {
	return j.Wait == "all" || j.Wait == "any" || j.Wait == "N" && j.Count > 0
}

// Edge is an edge from one node to one target. Lists in `from` and `to` make several edges, which share
// Decl, in the order of `from`.
type Edge struct {
	Index       int // the edge's index in Graph.Edges and its identity
	Decl        int // the index of the declaration in the file's edges, or -1 for edges that `finish` adds
	From, To    Text
	Condition   string `key:"condition"` // never empty
	When        Text   `key:"when"`
	Priority    int    `key:"priority"`
	Fallback    bool   `key:"fallback"`
	Span        Span
	ID          Text   `key:"id"`
	Label       Text   `key:"label"`
	Description Text   `key:"description"`
	Transform   *Value `key:"transform"` // an expression, a map of them, or nil
}

// END is the reserved target that completes a branch.
const END = "END"

// MaxDepth is the maximum depth of nested runs of graphs, including the outermost graph.
const MaxDepth = 32

// TooDeepMessage returns the message for a subgraph beyond MaxDepth. name is the node's `graph`.
func TooDeepMessage(name string) string {
	return "subgraph " + strconv.Quote(name) + " is nested too deep: at most " + strconv.Itoa(MaxDepth) + " graphs may run inside each other"
}

// FileGraph returns the graph of the file that holds this graph.
func (g *Graph) FileGraph() *Graph { return cmp.Or(g.whole, g) }

// Ref returns "#name" for a graph within a file, or "" for the graph of the file.
func (g *Graph) Ref() string {
	if g.whole == nil {
		return ""
	}
	return "#" + g.Entry.Value
}

// InnerGraph returns the graph of the file that "#name" refers to, or nil.
func (g *Graph) InnerGraph(ref string) *Graph {
	for _, inner := range g.FileGraph().Graphs {
		if inner.Ref() == ref {
			return inner
		}
	}
	return nil
}
