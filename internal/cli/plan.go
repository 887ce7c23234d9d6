// The plan of a dry run: what is there and within which limits.

package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// plan is what a run would start with. Lists are in declaration order.
type plan struct {
	Graph  string      `json:"graph"`
	Goal   string      `json:"goal,omitempty"`
	Start  string      `json:"start"`
	Limits planLimits  `json:"limits"`
	Inputs []planInput `json:"inputs"`
	Nodes  []planNode  `json:"nodes"`
	Edges  []planEdge  `json:"edges"`
}

// planLimits are the limits in force; "" and 0 mean none.
type planLimits struct {
	MaxSteps       int    `json:"max_steps"`
	OnMaxSteps     string `json:"on_max_steps"`
	Timeout        string `json:"timeout,omitempty"`
	StepTimeout    string `json:"step_timeout,omitempty"`
	NodeTimeout    string `json:"node_timeout,omitempty"`
	MaxVisits      int    `json:"max_visits,omitempty"`
	MaxConcurrency int    `json:"max_concurrency"`
}

type planInput struct {
	Key      string         `json:"key"`
	Required bool           `json:"required"`
	Given    bool           `json:"given"`
	Schema   map[string]any `json:"schema"`
}

type planNode struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`
	Reads  []string `json:"reads,omitempty"`
	Writes []string `json:"writes,omitempty"`
	// Finally says that the node runs when the end of the run is decided.
	Finally bool `json:"finally,omitempty"`
}

type planEdge struct {
	Index     int    `json:"index"`
	From      string `json:"from"`
	To        string `json:"to"`
	Condition string `json:"condition"`
	When      string `json:"when,omitempty"`
	Label     string `json:"label,omitempty"`
	Priority  int    `json:"priority,omitempty"`
}

func newPlan(g *spec.Graph, opts runner.Options) *plan {
	p := &plan{
		Graph: g.Name.Value, Goal: g.Goal.Description.Value, Start: g.Start.Value,
		Limits: newPlanLimits(g.Limits, opts),
		Inputs: []planInput{}, Nodes: []planNode{}, Edges: []planEdge{},
	}
	if opts.Goal != "" {
		p.Goal = opts.Goal
	}
	for _, k := range g.State {
		_, given := opts.Input[k.Name.Value]
		if k.Required || given {
			p.Inputs = append(p.Inputs, planInput{Key: k.Name.Value, Required: k.Required, Given: given, Schema: k.Schema})
		}
	}
	for _, n := range g.Nodes {
		node := planNode{ID: n.ID.Value, Kind: n.Kind.Value, Reads: values(n.Reads), Writes: values(n.Writes.Keys), Finally: n.Final}
		for _, w := range n.Writes.Exprs {
			node.Writes = append(node.Writes, w.Name.Value)
		}
		if set := n.Field("set"); set != nil && node.Kind == "set" {
			for i := range set.Fields {
				node.Writes = append(node.Writes, set.Fields[i].Key.Value)
			}
		}
		p.Nodes = append(p.Nodes, node)
	}
	for _, e := range g.Edges {
		p.Edges = append(p.Edges, planEdge{
			Index: e.Index, From: e.From.Value, To: e.To.Value, Condition: e.Condition,
			When: e.When.Value, Label: e.Label.Value, Priority: e.Priority,
		})
	}
	return p
}

func newPlanLimits(l spec.Limits, opts runner.Options) planLimits {
	duration := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	out := planLimits{
		MaxSteps: l.MaxSteps, OnMaxSteps: l.OnMaxSteps, Timeout: duration(l.Timeout), StepTimeout: duration(l.StepTimeout),
		NodeTimeout: duration(l.NodeTimeout), MaxVisits: l.MaxVisits, MaxConcurrency: l.MaxConcurrency,
	}
	if opts.MaxSteps > 0 {
		out.MaxSteps = opts.MaxSteps
	}
	if opts.Timeout > 0 {
		out.Timeout = duration(opts.Timeout)
	}
	if opts.MaxConcurrency > 0 {
		out.MaxConcurrency = opts.MaxConcurrency
	}
	return out
}

func values(texts []spec.Text) []string {
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		out = append(out, t.Value)
	}
	return out
}

func (a *app) printPlan(p *plan, format string) error {
	if format == "text" {
		return p.write(a.Stdout)
	}
	return writeJSON(a.Stdout, p, format == "json" && a.StdoutTerminal)
}

// write prints the plan for a person.
func (p *plan) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph   %s\nstart   %s\n", p.Graph, p.Start)
	if p.Goal != "" {
		fmt.Fprintf(&b, "goal    %s\n", terminal.Line(p.Goal))
	}
	fmt.Fprintf(&b, "limits  %s\n", p.Limits)
	for i, in := range p.Inputs {
		head := "input "
		if i > 0 {
			head = "      "
		}
		state := "not given, required"
		if in.Given {
			state = "given"
		}
		fmt.Fprintf(&b, "%s  %s  %s  %s\n", head, in.Key, state, terminal.Line(schemaText(in.Schema)))
	}
	width := 0
	for _, n := range p.Nodes {
		width = max(width, len(n.ID))
	}
	b.WriteString("nodes\n")
	for _, n := range p.Nodes {
		line := fmt.Sprintf("  %-*s  %-5s", width, n.ID, n.Kind)
		if n.Finally {
			line += "  in finally"
		}
		if len(n.Writes) > 0 {
			line += "  writes " + strings.Join(n.Writes, ", ")
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("edges\n")
	for _, e := range p.Edges {
		line := fmt.Sprintf("  %-*s → %-*s  %s", width, e.From, max(width, len(spec.END)), e.To, e.Condition)
		if e.When != "" {
			line += "  " + terminal.Line(strings.Join(strings.Fields(e.When), " "))
		}
		if e.Priority != 0 {
			line += fmt.Sprintf("  priority %d", e.Priority)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String is the limits in one line.
func (l planLimits) String() string {
	parts := []string{fmt.Sprintf("max_steps %d (%s)", l.MaxSteps, l.OnMaxSteps), fmt.Sprintf("max_concurrency %d", l.MaxConcurrency)}
	for _, t := range []struct{ name, value string }{
		{"timeout", l.Timeout}, {"step_timeout", l.StepTimeout}, {"node_timeout", l.NodeTimeout},
	} {
		if t.value != "" {
			parts = append(parts, t.name+" "+t.value)
		}
	}
	if l.MaxVisits > 0 {
		parts = append(parts, fmt.Sprintf("max_visits %d", l.MaxVisits))
	}
	return strings.Join(parts, ", ")
}
