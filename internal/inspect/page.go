// The data of the page: a flow, its inputs and a run.

package inspect

import (
	"context"
	"encoding/json"

	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// Page is the data of the page; web/src/data.ts reads it.
type Page struct {
	Drawing *render.Document `json:"drawing"`
	Flow    Flow             `json:"flow"`
	Run     *Run             `json:"run"`
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

// Run is a run with everything that is recorded about it.
type Run struct {
	Result *runner.Result `json:"result"`
	// State is the initial state.
	State     map[string]any    `json:"state"`
	Events    []json.RawMessage `json:"events"`
	Decisions []Decision        `json:"decisions"`
	Said      []Said            `json:"said"`
	// Conversation holds the messages of nodes and models.
	Conversation []view.Spoken `json:"conversation"`
	// SaidCut is how many bytes are missing at the start of Said.
	SaidCut int `json:"said_cut"`
}

// Said is output of a program or a model.
type Said struct {
	Node string `json:"node"`
	// Place is Node with the indexes of all elements: s[1]/write[0].
	Place   string `json:"place"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	Source  string `json:"source,omitempty"`
	Stream  string `json:"stream"`
	Text    string `json:"text"`
}

// NewSaid converts a log chunk.
func NewSaid(c *store.LogChunk) Said {
	return Said{c.Node, c.Place, c.Visit, c.Attempt, c.Source, c.Stream, c.Text}
}

// mostSaid bounds the bytes of output in a page.
const mostSaid = 512 << 10

// NewFlow describes a flow. file is its path for display; found are the findings to show.
func NewFlow(g *spec.Graph, file string, found spec.Diagnostics, open *Opener) Flow {
	f := Flow{
		Name: g.Name.Value, Description: g.Description.Value, File: file, Source: string(g.File.Src),
		Findings: report.JSON(1, found), Inputs: []Input{}, Nodes: map[string]Node{},
	}
	if b, ok := bound.Of(g, bound.Options{Load: open.Load, Price: Dearest}); ok {
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
	f.add("", g, render.Draw(g, render.Options{Open: open.Open}), open)
	return f
}

// add adds the nodes of a graph and its subgraphs.
func (f *Flow) add(prefix string, g *spec.Graph, d *render.Drawing, open *Opener) {
	notes := map[string][]string{}
	for i := range d.Boxes {
		notes[d.Boxes[i].ID] = d.Boxes[i].Notes
	}
	subgraphs := map[string]*render.Drawing{}
	for _, s := range d.Subgraphs {
		subgraphs[s.Node] = s.Drawing
	}
	for _, n := range g.Nodes {
		id := n.ID.Value
		f.Nodes[prefix+id] = Node{Notes: notes[id], Finally: n.Final, Text: textOf(g, n)}
		if inner := subgraphs[id]; inner != nil {
			f.add(prefix+id+"/", open.Open(g, n), inner, open)
		}
	}
}

// textOf returns the definition of a node in the file.
func textOf(g *spec.Graph, n *spec.Node) string {
	file, span := g.File.Locate(n.Span)
	return string(file.Src[span.From:span.To])
}

// Page returns the data of a painted run.
func (r *Painted) Page(ctx context.Context) (*Run, error) {
	out := &Run{Result: r.Result, Events: r.events.list, Decisions: r.decided.list, Conversation: r.spoken.list}
	if out.Conversation == nil {
		out.Conversation = []view.Spoken{}
	}
	first, err := r.runner.ShowAt(r.Record.ID, 0, runner.Options{})
	if err != nil {
		return nil, err
	}
	out.State = first.State
	out.Said, out.SaidCut, err = readSaid(ctx, r.runner, r.Record.ID)
	return out, err
}

// readSaid returns the latest output of a run and how many bytes before it are left out.
func readSaid(ctx context.Context, r *runner.Runner, id string) (said []Said, cut int, err error) {
	said, size := []Said{}, 0
	err = r.Logs(ctx, id, false, func(c *store.LogChunk) error {
		if c.Text != "" {
			size += len(c.Text)
			said = append(said, NewSaid(c))
		}
		return nil
	})
	from := 0
	for ; size-cut > mostSaid && from < len(said); from++ {
		cut += len(said[from].Text)
	}
	return said[from:], cut, err
}

// pageSink collects events as JSON.
type pageSink struct {
	list []json.RawMessage
	last int64 // number of the last event
}

// Event adds an event.
func (s *pageSink) Event(e *runner.Event) error {
	s.last = e.Seq
	if e.Type == runner.RunFinished || e.Type == runner.RunPaused {
		brief := *e
		brief.Result = nil // the page has it already
		e = &brief
	}
	if e.Type == runner.EdgesResolved {
		brief := *e
		brief.Candidates, brief.Output = nil, nil // decisions and node_completed have them
		e = &brief
	}
	s.list = append(s.list, e.AppendJSON(nil))
	return nil
}

// InputSchema returns the JSON Schema of a flow's input object.
func InputSchema(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, k := range g.State {
		schema := map[string]any{}
		for key, value := range k.Schema {
			schema[key] = value
		}
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
