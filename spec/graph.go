// The graph as written in a file: every name and value with its place.

package spec

import (
	"slices"
	"strings"
	"time"
)

// Graph is one parsed graph file. Lists keep declaration order. A graph that
// came with Error findings may be incomplete and must not be run.
type Graph struct {
	File        *File
	Name        Text
	Description Text
	Goal        Goal
	Persona     Text
	Start       Text
	Finish      []Text
	// Output is the run's output: an expression (a string scalar) or a map of
	// expressions; nil when not declared.
	Output      *Value
	State       []*StateKey
	StrictState bool
	Nodes       []*Node
	Edges       []*Edge
	Limits      Limits
	Parallel    Parallel
	// Retry are the blocks of `retry`, in order; nil: there is none.
	Retry       []Retry
	Cache       *Cache
	PauseBefore []Text
	PauseAfter  []Text
	// Finally are the nodes that run when the end of the run is decided.
	Finally []Text
	// Feedback is feedback_on_revisit.
	Feedback     bool
	Conversation *Value
	Models       []Field
	Providers    []Field
	Tools        []Field
	Secrets      []Secret
	Policies     []Value
	// Elsewhere are policies of shared files that speak of nodes of other graphs: they
	// ask nothing of this one.
	Elsewhere []Value
	// Notify are the entries of notify: maps with on, and url or command.
	Notify []Value
	// Concurrency is the group that runs are in; nil: none.
	Concurrency *Concurrency
	// Graphs are those of the file, in file order; a graph among them has none.
	Graphs []*Graph
	// Entry is the name of a graph that stands in another one's Graphs; absent for
	// that of the file.
	Entry Text

	settings []Field // see Settings
	whole    *Graph  // the file's, of a graph within it
	span     Span    // where a graph within a file stands
	nodes    map[string]*Node
	keys     map[string]*StateKey
	gaps     gaps
	faults   []Span // of what Parse reported
}

// Settings returns what the file says of the graph but for its state, nodes, edges and
// graphs, as plain data, with the texts and policies of other files in their places. Each
// call builds it anew.
func (g *Graph) Settings() map[string]any {
	out := make(map[string]any, len(g.settings))
	for i := range g.settings {
		out[g.settings[i].Key.Value] = g.settings[i].Value.Data()
	}
	if _, ok := out["policies"]; ok {
		out["policies"] = g.policyData()
	}
	return out
}

// Node returns the node with that id, or nil.
func (g *Graph) Node(id string) *Node { return g.nodes[id] }

// Key returns the declared state key of that name, or nil.
func (g *Graph) Key(name string) *StateKey { return g.keys[name] }

// Complete reports whether all nodes, edges and state keys of the file could be
// read, so that what is absent here is absent there.
func (g *Graph) Complete() bool { return g.gaps == 0 }

// Faulty reports whether Parse has found something wrong within a place, so that
// whoever looks at it again needs not say so.
func (g *Graph) Faulty(at Span) bool {
	return slices.ContainsFunc(g.faults, func(f Span) bool { return at.From <= f.From && f.To <= at.To })
}

// Text is a scalar read as a string. The zero Text is absent.
type Text struct {
	Value  string
	Span   Span
	source *scalar
}

// IsSet reports whether the file has the scalar (it may still be "").
func (t Text) IsSet() bool { return t.Span.To > t.Span.From || t.source != nil }

// Goal is what the graph is for.
type Goal struct {
	Description     Text
	SuccessCriteria []Text
	Constraints     []Text
}

// StateKey declares one key of the shared state.
type StateKey struct {
	Name Text
	// Source is the declaration as written.
	Source *Value
	// Schema holds the JSON Schema keywords of the key as plain data, without
	// graphrun's own (default, required, reducer, secret, once, scope).
	Schema   map[string]any
	Default  *Value
	Unfit    bool // Parse has reported that Default does not fit Schema
	Required bool
	Secret   bool
	Once     bool
	Scope    Text
	// Reducer is a reducer's name or an expression over current and update;
	// absent means "replace".
	Reducer Text
}

// Secret is a named secret: exactly one of Env, File and Command is set.
type Secret struct {
	Name      Text
	Env, File Text
	Command   []Text // the program that prints it, and its arguments
}

// Words is a command as one line.
func Words(command []Text) string {
	var words []string
	for _, word := range command {
		words = append(words, word.Value)
	}
	return strings.Join(words, " ")
}

// Limits bound a run. Zero means "no limit", but for the defaults that Parse
// fills in: MaxSteps 100, OnMaxSteps "fail", MaxConcurrency 16.
type Limits struct {
	MaxSteps       int
	OnMaxSteps     string // fail, return_last, flag
	Timeout        time.Duration
	StepTimeout    time.Duration
	NodeTimeout    time.Duration
	MaxVisits      int
	MaxConcurrency int
	MaxTokens      int
	MaxCostUSD     float64
	// MaxStateBytes bounds the state and each value; 0: the default of the runner, or
	// the limit of the run around a subgraph.
	MaxStateBytes int
	Span          Span
	// MaxStepsSpan is where the file sets MaxSteps; Span when it does not.
	MaxStepsSpan Span

	written []Field
}

// Written returns the value of a limit as the file has it, or nil.
func (l *Limits) Written(key string) *Value {
	for i := range l.written {
		if l.written[i].Key.Value == key {
			return &l.written[i].Value
		}
	}
	return nil
}

// Parallel says what failing, conflicting and slow branches do. Empty strings
// and zero mean "not declared here"; Parse fills the graph-level defaults
// (fail_all, last_wins, explicit) on Graph.Parallel only.
type Parallel struct {
	OnFailure string // fail_all, continue_others, wait_all
	Conflict  string // last_wins, first_wins, error
	// ConflictSpan is where the file chooses it; empty for the default.
	ConflictSpan  Span
	BranchTimeout time.Duration
	Join          string // explicit, auto
	Span          Span
}

// Concurrency bounds the runs of a group.
type Concurrency struct {
	Group  Text   // an expression
	Limit  int    // 1 unless the file says otherwise
	OnBusy string // wait (default), fail, cancel_oldest
}

// Retry is a retry block with its defaults filled in: 3 attempts, 1s, x2, at
// most 30s, jitter 0.1. On lists failure kinds; empty means every kind.
type Retry struct {
	MaxAttempts     int
	InitialInterval time.Duration
	Backoff         float64
	MaxInterval     time.Duration
	// HasMaxInterval says that the file sets MaxInterval.
	HasMaxInterval bool
	Jitter         float64
	On             []Text
	// When is a condition over error. If it is unset, every failure is retried.
	When Text
	Span Span
}

// Takes reports whether the block is for failures of a kind, apart from its condition.
func (r *Retry) Takes(kind string) bool {
	return len(r.On) == 0 || slices.ContainsFunc(r.On, func(on Text) bool { return on.Value == kind })
}

// Attempts is the most attempts that blocks allow, whatever fails: each counts its
// own failures.
func Attempts(blocks []Retry) int {
	n := 1
	for i := range blocks {
		n += max(0, blocks[i].MaxAttempts-1)
	}
	return n
}

// Cache is a cache block: exactly one of Key (an expression) and Keys is set, or neither.
type Cache struct {
	TTL     time.Duration // 0: for ever
	Key     Text
	Keys    []Text
	Version Text
	Span    Span
}

// Node is one node. Index is its place in Graph.Nodes.
type Node struct {
	ID     Text
	Index  int
	Span   Span
	Kind   Text
	Writes Writes
	// Retry are the blocks of the node's own `retry`; see RetryBlocks.
	Retry   []Retry
	Timeout time.Duration
	// MaxVisits is 0 without a limit of the node's own.
	MaxVisits   int
	OnMaxVisits string // fail (default), skip
	Routing     string // first (default), all
	Join        *Join
	Parallel    *Parallel
	// Output is the JSON Schema of the node's output as plain data, and
	// OutputSource how it is written; nil when not declared.
	Output       map[string]any
	OutputSource *Value
	// Fields are the keys of the node's kind (command, url, set, …), in file order.
	Fields []Field

	written []Field // all of its keys

	*NodeRare

	// Final says that `finally` names the node: it stands on no edge.
	Final bool

	unsure bool // its kind or shape was reported: Check says nothing of its ways out
}

// NodeRare is what few nodes say: a graph may have so many nodes that their size counts.
// Nodes that say nothing of it share one, as copies of a node do: it is read-only.
type NodeRare struct {
	Description Text
	// Reads lists the state keys the node may see; HasReads false means all.
	Reads    []Text
	HasReads bool
	// Queue names the workers of a cluster that run the node; absent: any.
	Queue Text
	Cache *Cache
	// Goto is an expression; absent when not declared.
	Goto    Text
	Ends    []End
	HasEnds bool
	Each    Text
	// MaxConcurrency is how many elements of Each run at once; 0: as many as the run
	// allows.
	MaxConcurrency int
	// MaxConcurrencySpan is where the file says so.
	MaxConcurrencySpan Span
	Feedback           *bool
	Conversation       *Value
	Before             []NamedExpr
	Emit               []NamedExpr
	// Decide is what a router sees besides; nil when not declared.
	Decide *Decide
}

// Written returns the value of a key of the node as the file has it, or nil. Keys names
// them, in file order.
func (n *Node) Written(key string) *Value {
	for i := range n.written {
		if n.written[i].Key.Value == key {
			return &n.written[i].Value
		}
	}
	return nil
}

// Keys are the keys that the file gives the node, in its order.
func (n *Node) Keys() []string {
	out := make([]string, len(n.written))
	for i := range n.written {
		out[i] = n.written[i].Key.Value
	}
	return out
}

// Field returns the value of one of the node kind's keys, or nil.
func (n *Node) Field(name string) *Value {
	for i := range n.Fields {
		if n.Fields[i].Key.Value == name {
			return &n.Fields[i].Value
		}
	}
	return nil
}

// Decide is what the model sees that decides between the edges of a node.
type Decide struct {
	See          []Text // state keys
	Instructions Text
}

// Writes says which state keys a node writes: either Keys (the list form) or
// Exprs (the map form key: expression), or neither.
type Writes struct {
	Keys  []Text
	Exprs []NamedExpr
	Span  Span
}

// NamedExpr is an entry `name: expression`.
type NamedExpr struct {
	Name Text
	Expr Text
}

// End is a legal dynamic target: Label leads to Target (a node or END).
type End struct {
	Label  Text
	Target Text
}

// Join makes a node a barrier. Wait is "all", "any" or "N", and Count the N.
type Join struct {
	Wait  string
	Count int
	// OnBypass is drop, continue or fail; unset is drop. It is said of "all" only.
	OnBypass Text
	Span     Span
}

// Valid reports whether the file says a legal number of branches to wait for.
func (j *Join) Valid() bool {
	return j.Wait == "all" || j.Wait == "any" || j.Wait == "N" && j.Count > 0
}

// Edge is one edge from one node to one target. `from` and `to` lists are
// expanded, `from` first; the edges of one declaration share Decl.
type Edge struct {
	// Index is the edge's place in Graph.Edges and its identity.
	Index int
	// Decl is the place of the declaration in the file's edges list; -1 for
	// the edges that `finish` adds.
	Decl int
	From Text
	To   Text
	// Condition is never empty: always, on_success, on_failure, conditional, llm_decide.
	Condition string
	When      Text
	Priority  int
	Fallback  bool
	Span      Span

	*EdgeRare
}

// EdgeRare is what few edges say. Edges that say nothing of it share one, as NodeRare is
// shared: it is read-only.
type EdgeRare struct {
	ID          Text
	Label       Text
	Description Text
	// Transform is an expression or a map of them; nil when not declared.
	Transform *Value
}

// END is the reserved target that completes a branch.
const END = "END"
