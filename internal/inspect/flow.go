// Flows: their checks and subgraphs, and as JSON their bounds, inputs and nodes and the data of the page.

package inspect

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/analysis/subgraph"
	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

// Bound holds bounds of all runs of a graph. A null value is unbounded, and why explains it; a null
// path is unknown.
type Bound struct {
	Graph string `json:"graph"`
	// Exact says that runs attain the bounds of steps and model calls.
	Exact    bool  `json:"exact"`
	Steps    Range `json:"steps"`
	LLMCalls Range `json:"llm_calls"`
	Tokens   Range `json:"tokens"`
	CostUSD  Range `json:"cost_usd"`
	// Loops are the loops of the graph with their bounds.
	Loops []lint.Loop `json:"loops"`
	// Exceeded lists the flags whose limits the upper bounds exceed.
	Exceeded []string `json:"exceeded"`
}

// Range is a lower and an upper bound, with the reason of the upper one.
type Range struct {
	Min   float64  `json:"min"`
	Max   *float64 `json:"max"`
	Limit *string  `json:"limit"`
	Why   string   `json:"why,omitempty"`
	// MinPath and MaxPath are paths of runs that attain the bounds, or null.
	MinPath []string `json:"min_path"`
	MaxPath []string `json:"max_path"`
}

// NewBound converts bounds to JSON. The paths belong to runs that the caller has found; exact
// says that runs attain every bound of steps and model calls.
func NewBound(g *spec.Graph, b bound.Bounds, loops []lint.Loop, exact bool) Bound {
	return Bound{
		Graph: g.Name.Value, Exact: exact, Exceeded: []string{},
		Steps: newRange(b.Steps), LLMCalls: newRange(b.LLMCalls), Tokens: newRange(b.Tokens), CostUSD: newRange(b.CostUSD),
		Loops: append([]lint.Loop{}, loops...),
	}
}

// BoundCost returns the highest cost of a number of tokens, whichever of them are prompts or answers.
func BoundCost(model string, tokens int) (usd float64, known bool) {
	rates := price.Of(model)
	return rates.MaxTotalCost(tokens)
}

func newRange(r bound.Range) Range {
	out := Range{Min: r.Min, Why: r.Why, MinPath: r.MinPath, MaxPath: r.MaxPath}
	if !math.IsInf(r.Max, 1) {
		out.Max = &r.Max
	}
	if r.Limit != "" {
		out.Limit = new("limits." + r.Limit)
	}
	return out
}

// Page is the data of the page; web/src/data.ts reads it.
type Page struct {
	Drawing *render.Drawing `json:"drawing"`
	Flow    Flow            `json:"flow"`
	Run     *Run            `json:"run"`
}

// Flow describes a flow without a run.
type Flow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	File        string `json:"file"`
	Source      string `json:"source"`
	// Findings are the findings of validate in their JSON form.
	Findings any `json:"findings"`
	// Bound is null if no run can complete.
	Bound  *Bound  `json:"bound"`
	Inputs []Input `json:"inputs"`
	// Nodes holds nodes by path: outer/inner in a subgraph.
	Nodes map[string]Node `json:"nodes"`
}

// Input is a state key.
type Input struct {
	Key      string         `json:"key"`
	Required bool           `json:"required"`
	Secret   bool           `json:"secret"`
	Schema   map[string]any `json:"schema"`
	Default  any            `json:"default"`
}

// Node holds details of a node that the drawing lacks.
type Node struct {
	Notes   []string `json:"notes,omitempty"`
	Finally bool     `json:"finally,omitempty"`
	// Text is the definition of the node in the file.
	Text string `json:"text"`
}

// NewFlow describes a flow. file is its path for display; found are the findings to show.
func NewFlow(g *spec.Graph, file string, found spec.Diagnostics, open *Opener) Flow {
	f := Flow{
		Name: g.Name.Value, Description: g.Description.Value, File: file, Source: string(g.File.Src),
		Findings: report.NewJSON(1, found), Inputs: []Input{}, Nodes: map[string]Node{},
	}
	if b, ok := bound.Of(g, bound.Options{Load: open.Load, Price: BoundCost}); ok {
		for _, r := range []*bound.Range{&b.Steps, &b.LLMCalls} {
			r.MinPath, r.MaxPath = nil, nil // without searching for runs
		}
		r := NewBound(g, b, lint.Loops(g, lint.Options{Load: open.Load}), false)
		f.Bound = &r
	}
	for _, k := range g.State {
		in := Input{Key: k.Name.Value, Required: k.Required, Secret: k.Secret, Schema: k.Schema}
		if k.Default != nil && !k.Secret {
			in.Default = k.Default.Data()
		}
		f.Inputs = append(f.Inputs, in)
	}
	open.Walk(g, func(g *spec.Graph, path []*spec.Node) bool {
		ids := make([]string, len(path))
		for i, n := range path {
			ids[i] = n.ID.Value
		}
		n := path[len(path)-1]
		file, span := g.File.Locate(n.Span)
		f.Nodes[strings.Join(ids, "/")] = Node{Notes: render.Notes(n), Finally: n.Final, Text: string(file.Src[span.From:span.To])}
		return true
	})
	return f
}

// BuildInputSchema returns the JSON Schema of a flow's input object.
func BuildInputSchema(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, k := range g.State {
		schema := map[string]any{}
		maps.Copy(schema, k.Schema)
		if k.Default != nil && !k.Secret {
			schema["default"] = k.Default.Data()
		}
		if k.Secret {
			schema["writeOnly"] = true
		}
		properties[k.Name.Value] = schema
		if k.Required {
			required = append(required, k.Name.Value)
		}
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if g.StrictState {
		out["additionalProperties"] = false
	}
	return out
}

// Checked is a graph file after all checks.
type Checked struct {
	// Graph is never nil, but lacks parts when the file has errors.
	Graph *spec.Graph
	// Found holds the sorted findings that no comment silences.
	Found spec.Diagnostics
	// Broken holds syntax errors and unknown names, silenced or not. A graph with such errors is
	// incomplete and must not be run.
	Broken spec.Diagnostics
}

// Check parses and checks a graph. With optional, it uses rules that are off by default.
func Check(name string, src []byte, optional bool) Checked {
	return CheckWith(name, src, optional, spec.NewLoader(name))
}

// CheckWith is like Check, but reads other files with load.
func CheckWith(name string, src []byte, optional bool, load func(path string) ([]byte, error)) Checked {
	g, found := spec.Parse(name, src, spec.Options{Load: load})
	structure := spec.Check(g)
	// Unknown names also make a graph incomplete.
	names := slices.DeleteFunc(slices.Clone(structure), func(d spec.Diagnostic) bool { return d.Rule != "unknown-node" && d.Rule != "missing-start" })
	c := Checked{Graph: g, Broken: append(found.Errors(), names...).Sort()}
	found = append(found, structure...)
	found = append(found, lint.Check(g, lint.Options{Load: load, Price: BoundCost, Broken: lint.FirstError(found), Optional: optional})...)
	c.Found = lint.Filter(g.File, found)
	return c
}

// Opener finds the graphs that nodes run, each file once.
type Opener struct {
	// Load reads the file of a path.
	Load   func(path string) ([]byte, error)
	graphs map[string]*spec.Graph // graphs by file path
}

// NewOpener returns an Opener for the subgraphs of main.
func NewOpener(main *spec.Graph, load func(path string) ([]byte, error)) *Opener {
	return &Opener{load, map[string]*spec.Graph{AbsolutePath(main.File.Name): main}}
}

// Open returns the graph that a node runs, or nil.
func (o *Opener) Open(g *spec.Graph, n *spec.Node) *spec.Graph {
	ref := n.Field("graph").Scalar().Value
	switch {
	case ref == "":
		return nil
	case strings.HasPrefix(ref, "#"):
		return g.InnerGraph(ref)
	}
	path := spec.ResolvePath(AbsolutePath(g.File.Name), ref)
	if known, ok := o.graphs[path]; ok {
		return known
	}
	o.graphs[path] = nil
	if src, err := o.Load(path); err == nil {
		o.graphs[path], _ = spec.Parse(path, src, spec.Options{Load: subgraph.Beside(o.Load, path)})
	}
	return o.graphs[path]
}

// Walk calls visit for the nodes of a graph and of its subgraphs, except those that contain
// themselves. path holds the graph nodes around a node and the node. The walk enters the
// subgraph of a node if visit returns true.
func (o *Opener) Walk(g *spec.Graph, visit func(g *spec.Graph, path []*spec.Node) (enter bool)) {
	var walk func(g *spec.Graph, around []*spec.Graph, path []*spec.Node)
	walk = func(g *spec.Graph, around []*spec.Graph, path []*spec.Node) {
		around = append(slices.Clip(around), g)
		for _, n := range g.Nodes {
			path := append(slices.Clip(path), n)
			if !visit(g, path) || n.Kind.Value != "graph" {
				continue
			}
			if inner := o.Open(g, n); inner != nil && !slices.Contains(around, inner) {
				walk(inner, around, path)
			}
		}
	}
	walk(g, nil, nil)
}

// AbsolutePath returns the absolute form of a path.
func AbsolutePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return filepath.Clean(path)
}
