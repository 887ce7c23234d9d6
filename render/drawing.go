// Package render draws graphs. Draw describes the nodes and edges of a graph; the writers
// (DOT, Mermaid) choose shapes and colours.
package render

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Options choose the parts of a drawing. The zero value draws everything.
type Options struct {
	// NoStartEnd omits the start and END marks and the edges to them.
	NoStartEnd bool
	// NoDestinations omits the targets of goto.
	NoDestinations bool
	// Label is the title, by default the graph's name.
	Label string
	// Trail is painted on the drawing. It may be nil.
	Trail *Trail
	// Open returns the graph that a graph node runs, or nil. If it is set, drawings contain subgraphs.
	Open func(g *spec.Graph, node *spec.Node) *spec.Graph

	around []*spec.Graph // the graphs that contain the graph
}

// Drawing is a graph for readers. Schema describes its JSON, whose lists are never null.
type Drawing struct {
	Graph string `json:"graph" doc:"name of the graph"`
	Start string `json:"start" doc:"id of the node that the graph begins with"`
	Nodes []Node `json:"nodes" doc:"in the order of the file"`
	Edges []Edge `json:"edges" doc:"edges in the order of the file, then the targets of goto, then the order of finally"`
	// Run is the painted run. Draw leaves it nil.
	Run any `json:"run" doc:"the painted run as run -o json prints it; null in subgraphs"`
	// Subgraphs maps nodes to the drawings of their subgraphs; see Options.Open.
	Subgraphs map[string]*Drawing `json:"subgraphs" doc:"graphs that nodes of kind graph run, by node"`

	Title string `json:"-"`
	// Inner are the drawings of the file's graphs, with titles "#name".
	Inner []*Drawing `json:"-"`

	hasStart           bool // has a start mark
	startMark, endMark Mark
}

// Node is a node of a drawing. Fields about a run are null without one.
type Node struct {
	ID          string           `json:"id" doc:"id of the node"`
	Kind        string           `json:"kind" doc:"kind of the node, such as exec"`
	Label       string           `json:"label" doc:"text in the box"`
	Description string           `json:"description" doc:"description of the node in the file, or empty"`
	Status      *string          `json:"status" doc:"status of the node: untouched, running, waiting (for people), completed or failed; with coverage covered or missed" enum:"untouched running waiting completed failed covered missed"`
	Visits      *int             `json:"visits" doc:"how often it ran; with coverage 1 or 0" min:"0"`
	DurationMS  *int64           `json:"duration_ms" doc:"total time of all visits" min:"0"`
	Error       *machine.Failure `json:"error" doc:"error of its latest visit, or null if that did not fail"`
	Line        int              `json:"line" doc:"line of the file that declares it, from 1" min:"0"`

	// Notes are short remarks such as "join all" and "≤ 3 visits".
	Notes   []string `json:"-"`
	Finally bool     `json:"-"`
	Mark    Mark     `json:"-"`
}

// Edge is an edge, a target of goto, or the order of two nodes of finally.
type Edge struct {
	Index     int     `json:"index" doc:"index among the edges of the graph, from 0; -1 for a target of goto and the order of finally" min:"-1"`
	ID        *string `json:"id" doc:"id of the edge"`
	From      string  `json:"from" doc:"id of a node"`
	To        string  `json:"to" doc:"id of a node, or END"`
	Condition string  `json:"condition" doc:"when the edge fires: a condition of edges, goto or finally" enum:"always on_success on_failure conditional llm_decide goto finally"`
	When      *string `json:"when" doc:"the expression"`
	Label     *string `json:"label" doc:"label of the edge, or the names with which a goto chooses it"`
	Priority  int     `json:"priority" doc:"priority of the edge"`
	Fired     *int    `json:"fired" doc:"how often the edge fired; with coverage 1 or 0, and null for goto and finally" min:"0"`
	Line      int     `json:"line" doc:"line of the file that declares it, from 1; 0 if none does" min:"0"`

	// Text is the wrapped text beside the arrow, Tip the whole expression or description.
	Text string `json:"-"`
	Tip  string `json:"-"`
	// Else says that the edge fires if no other condition matched.
	Else bool `json:"-"`
	Mark Mark `json:"-"`
}

// Draw draws a graph.
func Draw(g *spec.Graph, opts Options) *Drawing {
	d := &Drawing{
		Graph: g.Name.Value, Start: g.Start.Value, Nodes: []Node{}, Edges: []Edge{}, Subgraphs: map[string]*Drawing{},
		Title: cmp.Or(opts.Label, g.Name.Value), hasStart: !opts.NoStartEnd,
	}
	for _, n := range g.Nodes {
		d.Nodes = append(d.Nodes, Node{
			ID: n.ID.Value, Kind: n.Kind.Value, Label: n.ID.Value, Description: n.Description.Value,
			Line: findLine(g, n.Span), Notes: Notes(n), Finally: n.Final,
		})
	}
	d.addEdges(g, opts)
	if opts.Trail != nil {
		opts.Trail.paintDrawing(d)
	}
	if opts.Open != nil {
		d.addSubgraphs(g, opts)
	}
	trails := opts.Trail.sumByGraph(g)
	opts.Open = nil // the writers draw all graphs of the file side by side
	for _, inner := range g.Graphs {
		opts.Label, opts.Trail = inner.Ref(), trails[inner]
		d.Inner = append(d.Inner, Draw(inner, opts))
	}
	return d
}

// addSubgraphs draws the graphs that nodes run, except those that contain themselves.
func (d *Drawing) addSubgraphs(g *spec.Graph, opts Options) {
	trail := opts.Trail
	opts.Label, opts.around = "", append(slices.Clip(opts.around), g)
	for _, n := range g.Nodes {
		if n.Kind.Value != "graph" {
			continue
		}
		if inner := opts.Open(g, n); inner != nil && !slices.Contains(opts.around, inner) {
			opts.Trail = trail.innerTrail(n.ID.Value)
			d.Subgraphs[n.ID.Value] = Draw(inner, opts)
		}
	}
}

func (d *Drawing) addEdges(g *spec.Graph, opts Options) {
	type outcome struct {
		node      string
		isFailure bool
	}
	outcomeOf := func(e *spec.Edge) outcome { return outcome{e.From.Value, e.Condition == "on_failure"} }
	hasCondition := map[outcome]bool{}
	for _, e := range g.Edges {
		hasCondition[outcomeOf(e)] = hasCondition[outcomeOf(e)] || isConditional(e)
	}
	for _, e := range g.Edges {
		edge := newEdge(e)
		edge.Line, edge.Else = findLine(g, e.Span), hasCondition[outcomeOf(e)] && !isConditional(e)
		d.Edges = append(d.Edges, edge)
	}
	if !opts.NoDestinations {
		for _, n := range g.Nodes {
			d.Edges = append(d.Edges, listGotoEdges(n, findLine(g, n.Span))...)
		}
	}
	if opts.NoStartEnd {
		d.Edges = slices.DeleteFunc(d.Edges, func(e Edge) bool { return e.To == spec.END })
	}
	for i := 1; i < len(g.Finally); i++ {
		d.Edges = append(d.Edges, Edge{Index: -1, From: g.Finally[i-1].Value, To: g.Finally[i].Value, Condition: "finally"})
	}
}

// findLine returns the line at which a span starts, from 1, or 0 for no span.
func findLine(g *spec.Graph, span spec.Span) int {
	if span == (spec.Span{}) {
		return 0
	}
	file, span := g.File.Locate(span)
	return file.Position(span.From).Line
}

// isConditional reports whether an edge has a condition of its own.
func isConditional(e *spec.Edge) bool { return e.Condition == "llm_decide" || e.When.IsSet() }

// Notes describes the settings of a node that affect routing and repetition.
func Notes(n *spec.Node) []string {
	var out []string
	if n.Join != nil {
		wait := n.Join.Wait
		if wait == "N" {
			wait = strconv.Itoa(n.Join.Count)
		}
		out = append(out, "join "+wait)
	}
	if file := n.Field("graph"); n.Kind.Value == "graph" && file != nil && strings.HasPrefix(file.Text.Value, "#") {
		out = append(out, file.Text.Value)
	}
	if n.Each.IsSet() {
		out = append(out, "each "+shortenText(strings.Join(strings.Fields(n.Each.Value), " "), 24))
	}
	if n.Routing == "all" {
		out = append(out, "routes all")
	}
	if n.MaxVisits > 0 {
		out = append(out, fmt.Sprintf("≤ %d visits", n.MaxVisits))
	}
	if most := spec.MaxAttempts(n.Retry); most > 1 {
		out = append(out, fmt.Sprintf("≤ %d attempts", most))
	}
	return out
}

func newEdge(e *spec.Edge) Edge {
	text := e.When.Value
	switch e.Condition {
	case "on_failure":
		text = cmp.Or(text, "on failure")
	case "llm_decide":
		text = cmp.Or(e.Description.Value, "model decides")
	case "always":
		text = "always"
	}
	out := Edge{
		Index: e.Index, ID: nilIfEmpty(e.ID.Value), From: e.From.Value, To: e.To.Value, Condition: e.Condition,
		When: nilIfEmpty(e.When.Value), Label: nilIfEmpty(e.Label.Value), Priority: e.Priority,
		Text: wrapLabel(cmp.Or(e.Label.Value, text)), Tip: text,
	}
	extra := ""
	if e.Priority != 0 {
		extra = ", priority " + strconv.Itoa(e.Priority)
	}
	if e.Fallback {
		extra += ", fallback"
	}
	if extra != "" {
		out.Text = strings.TrimPrefix(out.Text+"\n("+extra[2:]+")", "\n")
	}
	if out.Tip == out.Text {
		out.Tip = ""
	}
	out.Tip = cmp.Or(out.Tip, e.Description.Value)
	return out
}

// listGotoEdges returns an edge for each target of a node's goto. Labels with the same target share an edge.
func listGotoEdges(n *spec.Node, line int) []Edge {
	var out []Edge
	index := map[string]int{}
	for _, end := range n.Ends {
		to, label := end.Target.Value, end.Label.Value
		if i, ok := index[to]; ok {
			out[i].Text += "\n" + label
			*out[i].Label += ", " + label
			continue
		}
		index[to] = len(out)
		edge := Edge{Index: -1, From: n.ID.Value, To: to, Condition: "goto", Label: &label, Line: line}
		if label != to {
			edge.Text = label
		}
		out = append(out, edge)
	}
	return out
}

func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

const (
	labelWidth = 28 // characters per line
	labelLines = 4
)

// wrapLabel breaks a text into at most labelLines lines and replaces the rest by "…".
func wrapLabel(s string) string {
	var lines []string
	for _, word := range strings.Fields(s) {
		word = shortenText(word, labelWidth+8)
		last := len(lines) - 1
		if last < 0 || utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) > labelWidth {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	if len(lines) > labelLines {
		lines = lines[:labelLines]
		lines[labelLines-1] += " …"
	}
	return strings.Join(lines, "\n")
}

// shortenText shortens a text to n characters, with "…" at the end.
func shortenText(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Schema returns the JSON Schema (draft 2020-12) of a Drawing as plain data.
func Schema() map[string]any {
	out := describeObject[Drawing]("a drawn graph; fields about a run or tests are null if none is painted")
	out["$schema"], out["title"] = "https://json-schema.org/draft/2020-12/schema", "graphrun drawing"
	out["$defs"] = map[string]any{
		"node": describeObject[Node]("a node"),
		"edge": describeObject[Edge]("an edge, a target of a goto, or the order of two nodes of finally"),
		"error": map[string]any{
			"description": "an error as runs print it", "type": "object", "required": []any{"kind", "message"},
			"properties": map[string]any{
				"kind":    map[string]any{"description": "kind of the failure", "type": "string"},
				"message": map[string]any{"description": "what went wrong", "type": "string"},
			},
		},
	}
	return out
}

// describeObject describes a struct by the tags doc, enum and min of its fields. All are required.
func describeObject[T any](description string) map[string]any {
	properties, required := map[string]any{}, []any{}
	for field := range reflect.TypeFor[T]().Fields() {
		name := field.Tag.Get("json")
		if name == "" || name == "-" {
			continue
		}
		property := describeType(name, field.Type)
		property["description"] = field.Tag.Get("doc")
		if words := field.Tag.Get("enum"); words != "" {
			enum := []any{}
			for _, word := range strings.Fields(words) {
				enum = append(enum, word)
			}
			if field.Type.Kind() == reflect.Pointer {
				enum = append(enum, nil)
			}
			property["enum"] = enum
		}
		if least, err := strconv.Atoi(field.Tag.Get("min")); err == nil {
			property["minimum"] = least
		}
		properties[name], required = property, append(required, name)
	}
	return map[string]any{
		"description": description, "type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

func describeType(name string, t reflect.Type) map[string]any {
	types := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer"}
	ref := func(to string) map[string]any { return map[string]any{"$ref": to} }
	switch {
	case name == "error":
		return map[string]any{"anyOf": []any{ref("#/$defs/error"), map[string]any{"type": "null"}}}
	case t.Kind() == reflect.Slice: // nodes, edges
		return map[string]any{"type": "array", "items": ref("#/$defs/" + strings.TrimSuffix(name, "s"))}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": ref("#")}
	case t.Kind() == reflect.Interface:
		return map[string]any{"type": []any{"object", "null"}}
	case t.Kind() == reflect.Pointer:
		return map[string]any{"type": []any{types[t.Elem().Kind()], "null"}}
	}
	return map[string]any{"type": types[t.Kind()]}
}
