// What the page shows of a flow and of a run: the data of render --format html.

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/graphrun/graphrun/internal/page"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// pageData is what the page is given; web/src/data.ts reads it.
type pageData struct {
	Drawing *render.Document `json:"drawing"`
	Flow    pageFlow         `json:"flow"`
	Run     *pageRun         `json:"run"`
}

// pageFlow is what is known of a flow without running it.
type pageFlow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	File        string `json:"file"`
	Source      string `json:"source"`
	// Findings are those of validate, as its JSON prints them.
	Findings json.RawMessage `json:"findings"`
	// Bound is null when no run can complete.
	Bound  *boundReport `json:"bound"`
	Inputs []pageInput  `json:"inputs"`
	// Nodes are by path: outer/inner in a subgraph.
	Nodes map[string]pageNode `json:"nodes"`
}

// pageInput is a state key.
type pageInput struct {
	Key      string         `json:"key"`
	Required bool           `json:"required"`
	Secret   bool           `json:"secret"`
	Schema   map[string]any `json:"schema"`
	Default  any            `json:"default"`
}

// pageNode is what the drawing does not say of a node.
type pageNode struct {
	Notes   []string `json:"notes,omitempty"`
	Finally bool     `json:"finally,omitempty"`
	// Text is how the file defines it.
	Text string `json:"text"`
}

// pageRun is a run with all that is recorded of it.
type pageRun struct {
	Result *runner.Result `json:"result"`
	// State is what the run began with.
	State     map[string]any    `json:"state"`
	Events    []json.RawMessage `json:"events"`
	Decisions []decision        `json:"decisions"`
	Said      []pageSaid        `json:"said"`
	// SaidCut is how many bytes of what was said at first are left out.
	SaidCut int `json:"said_cut"`
}

// pageSaid is what a program or a model said.
type pageSaid struct {
	Node    string `json:"node"`
	Visit   int    `json:"visit"`
	Attempt int    `json:"attempt"`
	Source  string `json:"source,omitempty"`
	Stream  string `json:"stream"`
	Text    string `json:"text"`
}

// mostSaid is how many bytes of what was said a page holds.
const mostSaid = 512 << 10

// writePage writes the page of a flow or of a run.
func (a *app) writePage(ctx context.Context, w io.Writer, d *drawn) error {
	data := pageData{Drawing: d.drawing.Document(), Flow: a.pageFlow(d)}
	title := d.graph.Name.Value
	if d.run != nil {
		var err error
		if data.Run, err = d.run.page(ctx); err != nil {
			return err
		}
		title += " · run " + d.run.record.ID
	}
	var text bytes.Buffer
	if err := writeJSON(&text, data, false); err != nil {
		return err
	}
	return page.Write(w, title+" · graphrun", text.Bytes())
}

func (a *app) pageFlow(d *drawn) pageFlow {
	g := d.graph
	f := pageFlow{
		Name: g.Name.Value, Description: g.Description.Value, File: nearPath(g.File.Name), Source: string(g.File.Src),
		Inputs: []pageInput{}, Nodes: map[string]pageNode{},
	}
	checked := check(g.File.Name, g.File.Src, a.rules.optional(nil))
	var findings bytes.Buffer
	found := report.Findings{Files: 1, Diagnostics: a.rules.apply(checked.found, nil)}
	if report.Write(&findings, "json", found, report.Options{}) == nil { // memory takes all
		f.Findings = bytes.TrimSpace(findings.Bytes())
	}
	if b, ok := lint.Bound(g, lint.Options{Load: d.open.load, Price: dearest}); ok {
		r := newBoundReport(g, b)
		f.Bound = &r
	}
	for _, k := range g.State {
		in := pageInput{Key: k.Name.Value, Required: k.Required, Secret: k.Secret, Schema: k.Schema}
		if k.Default != nil && !k.Secret {
			in.Default = k.Default.Data()
		}
		f.Inputs = append(f.Inputs, in)
	}
	f.add("", g, render.Draw(g, render.Options{Open: d.open.open}), d.open)
	return f
}

// add adds the nodes of a graph, and of those that they run.
func (f *pageFlow) add(prefix string, g *spec.Graph, d *render.Drawing, open *opener) {
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
		f.Nodes[prefix+id] = pageNode{Notes: notes[id], Finally: n.Final, Text: textOf(g, n)}
		if inner := subgraphs[id]; inner != nil {
			f.add(prefix+id+"/", open.open(g, n), inner, open)
		}
	}
}

// textOf is how the file defines a node.
func textOf(g *spec.Graph, n *spec.Node) string {
	file, span := g.File.Locate(n.Span)
	return string(file.Src[span.From:span.To])
}

// page tells all of a run that has been painted.
func (r *paintedRun) page(ctx context.Context) (*pageRun, error) {
	out := &pageRun{Result: r.result, Events: r.events.list, Decisions: r.decided.list, Said: []pageSaid{}}
	if out.Decisions == nil {
		out.Decisions = []decision{}
	}
	first, err := r.show(0, false, nil)
	if err != nil {
		return nil, err
	}
	out.State = first.State
	size := 0
	err = r.runner.Logs(ctx, r.record.ID, false, func(c *runner.LogChunk) error {
		if c.Text != "" {
			size += len(c.Text)
			out.Said = append(out.Said, pageSaid{c.Node, c.Visit, c.Attempt, c.Source, c.Stream, c.Text})
		}
		return nil
	})
	from := 0
	for ; size-out.SaidCut > mostSaid && from < len(out.Said); from++ {
		out.SaidCut += len(out.Said[from].Text)
	}
	out.Said = out.Said[from:]
	return out, err
}

// pageSink keeps events as JSON, and what was decided.
type pageSink struct {
	list []json.RawMessage
}

// Event keeps an event.
func (s *pageSink) Event(e *runner.Event) error {
	if e.Type == runner.RunFinished || e.Type == runner.RunPaused {
		brief := *e
		brief.Result = nil // the page has it
		e = &brief
	}
	if e.Type == runner.EdgesResolved {
		brief := *e
		brief.Candidates, brief.Output = nil, nil // a decision has them, and node_completed
		e = &brief
	}
	s.list = append(s.list, e.AppendJSON(nil))
	return nil
}

func newDecisions() *decisions {
	return &decisions{joins: true, failed: map[string]*machine.Failure{}} // all are kept until the end
}
