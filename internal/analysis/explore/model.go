// The state keys, results and programs that decide where the runs of a graph go, and the options for
// the parts of results, for inputs and for failures.

package explore

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/controlflow"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// Model holds the facts about a graph that all searches share.
type Model struct {
	graph *spec.Graph
	bound *bind.Graph
	all   []*dataflow.Use
	own   [][]*dataflow.Use // by node
	// counts holds the state keys that decide where runs go, members the paths read in them.
	counts  map[string]bool
	members map[string][][]string
	// decisive are the conditions, and the programs that compute such keys. copies are programs
	// that write a result to a key as it is. computed are the programs that compute a key.
	decisive, copies map[*eval.Program]bool
	computed         map[string][]*eval.Program
	// computes holds, by node, the keys it writes, and whether it computes them.
	computes []map[string]bool
	// steps says that conditions read the number of the step, past that they read past results.
	steps, past bool
	visits      map[int]int // see Question.Visits
	gaps        []string
	mayFail     []bool               // by node: the run can continue after its failure
	ranks       bool                 // the order in which tasks end matters
	failures    [][]*machine.Failure // by node, the failures to try
	sources     []source
	inputs      []part
}

// NewModel prepares a graph. never is nil, or the condition of a policy after the node with the index at.
func NewModel(flow *controlflow.Graph, bound *bind.Graph, uses *dataflow.Uses, never *eval.Program, at int) *Model {
	g, n := flow.Source, len(flow.Source.Nodes)
	m := &Model{
		graph: g, bound: bound, all: slices.Clip(uses.All), own: make([][]*dataflow.Use, n),
		counts: map[string]bool{}, members: map[string][][]string{}, decisive: map[*eval.Program]bool{}, copies: map[*eval.Program]bool{},
		computed: map[string][]*eval.Program{}, computes: make([]map[string]bool, n), visits: map[int]int{},
		mayFail: make([]bool, n), failures: make([][]*machine.Failure, n), sources: make([]source, n),
	}
	if never != nil {
		m.all = append(m.all, &dataflow.Use{Node: at, Edge: 0, Field: "never", Program: never})
	}
	for _, e := range m.all {
		if e.Node >= 0 {
			m.own[e.Node] = append(m.own[e.Node], e)
		}
		if target := m.findComputedKey(e); target != "" {
			m.computed[target] = append(m.computed[target], e.Program)
		}
	}
	for v, n := range g.Nodes { // an each decides how many results there are
		written := spec.Strings(n.Writes.Keys)
		for _, w := range n.Writes.Exprs {
			written = append(written, w.Name.Value)
		}
		for _, key := range written {
			if each := bound.Nodes[v].Each; each != nil {
				m.computed[key] = append(m.computed[key], each)
			}
		}
	}
	m.findCaughtNodes(flow)
	m.findDecisive()
	for v, n := range g.Nodes {
		if limit := n.VisitLimit(g); limit > 0 {
			m.visits[v] = max(m.visits[v], limit)
		}
		m.sources[v] = m.findSource(v)
		m.findFailures(v)
	}
	m.listInputs()
	return m
}

// findCaughtNodes finds the nodes after whose failures a run can continue.
func (m *Model) findCaughtNodes(flow *controlflow.Graph) {
	for v, n := range m.graph.Nodes {
		m.ranks = m.ranks || n.Join != nil && n.Join.Wait != "all"
		switch how := controlflow.ParallelOf(m.graph, v).OnFailure; {
		case how == "" || how == "fail_all":
		case controlflow.CanFanOut(flow.Groups[v]):
			m.ranks = true
			for node, reached := range flow.Digraph.Reach(v)[:len(m.mayFail)] {
				m.mayFail[node] = m.mayFail[node] || reached
			}
		default:
			m.mayFail[v] = m.mayFail[v] || n.Each.IsSet()
		}
	}
	for _, e := range m.graph.Edges {
		if e.Condition == "on_failure" || e.Condition == "always" {
			m.mayFail[m.graph.Node(e.From.Value).Index] = true
		}
	}
	if slices.ContainsFunc(m.graph.Nodes, func(n *spec.Node) bool { return n.Final }) {
		m.mayFail = slices.Repeat([]bool{true}, len(m.mayFail))
	}
}

// decides reports whether a program decides where runs go, directly or by failing.
func (m *Model) decides(e *dataflow.Use) bool {
	switch e.Field {
	case "when", "goto", "each", "never", "for", "until":
		return true
	case "transform", "set", "writes", "before":
		return m.mayFail[e.Node]
	}
	readsElement := false // it fails if the list is too short
	e.Program.Tree.Each(func(t *eval.Tree) {
		readsElement = readsElement || t.Op == eval.TreePath && slices.ContainsFunc(t.Path, isElement)
	})
	return readsElement
}

// findDecisive finds the programs and the state keys that decide where runs go.
func (m *Model) findDecisive() {
	todo := []*eval.Program{}
	count := func(name string) {
		if m.counts[name] {
			return
		}
		m.counts[name] = true
		todo = append(todo, m.computed[name]...)
		if p := m.bound.Keys[m.findKey(name)].Reducer; p != nil {
			todo = append(todo, p)
		}
	}
	for _, e := range m.all {
		if e.Node >= 0 && m.decides(e) {
			todo = append(todo, e.Program)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		p := todo[0]
		if m.decisive[p] {
			continue
		}
		m.decisive[p] = true
		for _, read := range p.Reads {
			name := read.Path[0]
			if m.graph.Key(name) == nil {
				m.noteContextRead(read.Path, p)
				continue
			}
			m.members[name] = append(m.members[name], read.Path[1:])
			count(name)
		}
	}
}

func (m *Model) findKey(name string) int {
	return slices.IndexFunc(m.graph.State, func(k *spec.StateKey) bool { return k.Name.Value == name })
}

// findComputedKey returns the state key that a program computes, or "".
func (m *Model) findComputedKey(e *dataflow.Use) string {
	if e.Node < 0 {
		return ""
	}
	b := &m.bound.Nodes[e.Node]
	switch e.Field {
	case "set":
		if e.Order < len(b.Set) {
			return b.Set[e.Order].Name
		}
	case "writes":
		for i := range b.Writes {
			if b.Writes[i].Value.Program == e.Program {
				return b.Writes[i].Name
			}
		}
	}
	return ""
}

// noteContextRead records that a condition reads a name that is not a state key.
func (m *Model) noteContextRead(path []string, p *eval.Program) {
	unknown := false
	switch path[0] {
	case "error": // messages and details are not explored
		unknown = len(path) < 2 || !slices.Contains([]string{"kind", "node", "attempt"}, path[1])
	case "output", "outcome", "node", "visit", "item", "index", "accumulator", "current", "update":
	case "visits":
		most := findGreatest(p.Tree) + 2
		for _, n := range m.graph.Nodes {
			if len(path) < 2 || n.ID.Value == path[1] {
				m.visits[n.Index] = max(m.visits[n.Index], most)
			}
		}
	case "step":
		m.steps = true
	case "branches":
		m.past = true
		unknown = strings.Contains(errorOnly.Get().ReplaceAllString(p.Source, ""), "branches")
	default:
		m.past, unknown = true, true
	}
	if unknown {
		m.gaps = append(m.gaps, describeRunTimeGap(p.Source))
	}
}

// errorOnly matches a comparison of the error of a branch with null.
var errorOnly = lazyregexp.New(`branches\s*(\[[^\]]*\]|\.\w+)\s*\.\s*error\s*(!=|==)\s*(nil|null|None)`)

// findGreatest returns the greatest whole number in a condition, which bounds the visits that matter.
func findGreatest(t *eval.Tree) int {
	n := 0
	t.Each(func(t *eval.Tree) {
		if v, ok := t.Value.(int); ok && v < 1_000_000 {
			n = max(n, v)
		}
	})
	return n
}

// unset is the value of a part that is absent.
type unset struct{}

// Limits of the options.
const (
	maxOptions = 24 // of one slot
	maxItems   = 6  // different elements of lists
	maxLength  = 30 // constants beyond it are no lengths of lists
)

// AnyText is the sample of a text without constraints.
const AnyText = "made up"

// listInputs lists the inputs with their options.
func (m *Model) listInputs() {
	for _, k := range m.graph.State {
		name := k.Name.Value
		p := part{
			path: []string{name}, name: name, source: "input " + name, keys: []string{name}, partial: true, usual: unset{},
			counts: m.counts[name], now: !dataflow.Replaces(k) || m.listTimes([]string{name}) != nil, optional: !k.Required || k.Default != nil,
			written: !k.Required && slices.ContainsFunc(m.computes, func(written map[string]bool) bool { _, ok := written[name]; return ok }),
		}
		if !k.Once {
			p.options, p.partial = listValues(k.Schema, m.findConstants(name, map[string]bool{}), m.members[name])
			if k.Default != nil {
				p.options = slices.Insert(slices.Clone(p.options), 0, k.Default.Data())
			}
			if m.finishOptions(&p); k.Default == nil && len(p.options) > 0 {
				p.usual = p.options[0]
			}
		}
		if !k.Required && k.Default == nil {
			p.options = append(slices.Clip(p.options), unset{})
		}
		m.inputs = append(m.inputs, p)
	}
}

// finishOptions adds sample times, and drops options that state keys refuse, duplicates, and those beyond maxOptions.
func (m *Model) finishOptions(p *part) {
	var out []any
	for _, v := range append(m.listTimes(p.keys), p.options...) {
		refused := func(name string) bool {
			i := m.findKey(name)
			return m.bound.Keys[i].Schema != nil && dataflow.Replaces(m.graph.State[i]) && m.bound.Keys[i].Schema.Check(v) != nil
		}
		if len(out) < maxOptions && !slices.ContainsFunc(p.keys, refused) && !slices.ContainsFunc(out, func(w any) bool { return reflect.DeepEqual(v, w) }) {
			out = append(out, v)
		}
	}
	p.partial = p.partial || len(out) == maxOptions && len(p.options) > maxOptions
	p.options = out
}

// listTimes returns sample times for state keys that a wait reads.
func (m *Model) listTimes(keys []string) (out []any) {
	for _, e := range m.all {
		uses := func(key string) bool { return e.Program.Uses(key) }
		switch {
		case e.Field == "for" && slices.ContainsFunc(keys, uses):
			out = append(out, "1s")
		case e.Field == "until" && slices.ContainsFunc(keys, uses):
			out = append(out, "2000-01-01T00:00:00Z")
		}
	}
	return out
}

// findConstants returns the constants in expressions that depend on a state key.
func (m *Model) findConstants(key string, seen map[string]bool) []any {
	seen[key] = true
	uses := slices.DeleteFunc(slices.Clone(m.all), func(e *dataflow.Use) bool { return !e.Program.Uses(key) })
	out := dataflow.Constants(uses)
	for _, e := range uses {
		if target := m.findComputedKey(e); m.counts[target] && !seen[target] {
			out = mergeValues(out, m.findConstants(target, seen))
		}
	}
	return out
}

// mergeValues appends the values that a list lacks.
func mergeValues(list, more []any) []any {
	out := slices.Clip(list)
	for _, v := range more {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// findPartOptions finds the options of the parts of a result, and its value without them.
func (m *Model) findPartOptions(v int, doc map[string]any, src *source) {
	n := m.graph.Nodes[v]
	src.base = m.newBaseResult(n, doc)
	expected := map[string]any{}
	if doc == nil && n.Kind.Value != "human" {
		expected = m.expectResult(v)
	}
	for i := range src.parts {
		p := &src.parts[i]
		if labels, ok := m.listLabels(v, p.path); ok {
			p.options = labels
			continue
		}
		constants, read := m.findUses(v, p)
		of := findDeclared(n, p.path)
		if of == nil {
			of = domain.Part(expected, p.path)
		}
		if len(of) == 0 && len(p.keys) > 0 {
			of = findElementSchema(m.graph.Key(p.keys[0]), n)
		}
		if p.options, p.partial = listValues(of, constants, read); !n.Each.IsSet() {
			m.finishOptions(p)
		}
	}
	for i := range src.parts {
		if p := &src.parts[i]; len(p.options) > 0 {
			p.usual = p.options[0]
			if empty, isList := p.usual.([]any); isList && len(empty) == 0 && len(p.options) > 1 {
				p.usual = p.options[1] // fewer programs fail
			}
		}
	}
}

// findUses returns the constants in expressions that read a part of a result, and the paths in it.
func (m *Model) findUses(v int, p *part) (constants []any, read [][]string) {
	isIn := func(r eval.Read) bool {
		return r.Path[0] == "output" && len(r.Path) > len(p.path) && slices.Equal(r.Path[1:1+len(p.path)], p.path)
	}
	for _, e := range m.own[v] {
		if slices.ContainsFunc(e.Program.Reads, isIn) {
			constants = mergeValues(constants, dataflow.Constants([]*dataflow.Use{e}))
		}
	}
	for _, key := range slices.Concat(p.keys, p.into) {
		constants = mergeValues(constants, m.findConstants(key, map[string]bool{}))
	}
	for _, e := range m.own[v] {
		for _, r := range e.Program.Reads {
			if isIn(r) && !m.copies[e.Program] {
				read = append(read, r.Path[1+len(p.path):])
			}
		}
	}
	if len(p.keys) > 0 && (m.graph.Nodes[v].Each.IsSet() || !dataflow.Replaces(m.graph.Key(p.keys[0]))) {
		return constants, append(read, nil)
	}
	for _, key := range p.keys {
		read = append(read, m.members[key]...)
	}
	return constants, read
}

// findElementSchema returns the schema of a value that a node writes to a key, or of an element.
func findElementSchema(k *spec.StateKey, n *spec.Node) map[string]any {
	if k == nil {
		return nil
	}
	if items, ok := k.Schema["items"].(map[string]any); ok && (n.Each.IsSet() || collects(k)) {
		return items
	}
	return k.Schema
}

func collects(k *spec.StateKey) bool {
	return slices.Contains([]string{"append", "prepend", "union"}, k.Reducer.Value)
}

// listLabels returns the labels of ends if a part of a result names the next node.
func (m *Model) listLabels(v int, path []string) ([]any, bool) {
	n := m.graph.Nodes[v]
	if !n.HasEnds {
		return nil, false
	}
	var out []any
	for _, end := range n.Ends {
		out = append(out, end.Label.Value)
	}
	p := m.bound.Nodes[v].Goto
	if p == nil {
		return append(out, unset{}), slices.Equal(path, []string{"goto"})
	}
	tree := p.Tree
	names := tree.Op == eval.TreePath && tree.Path[0] == "output" && slices.Equal(tree.Path[1:], path)
	return out, names && domain.Part(n.Output, path)["enum"] == nil
}

// newUsualResult returns a result of a node with the usual value for every part.
func (m *Model) newUsualResult(v int) any {
	out := m.sources[v].base
	for i := range m.sources[v].parts {
		p := &m.sources[v].parts[i]
		if _, absent := p.usual.(unset); len(p.options) > 0 && !absent {
			out = setPart(out, p.path, p.usual)
		}
	}
	return out
}

// newBaseResult returns a result without the parts that are read.
func (m *Model) newBaseResult(n *spec.Node, doc map[string]any) any {
	if doc == nil && n.Kind.Value == "human" {
		doc = domain.OutputPart(n, nil)
	}
	switch kind := n.Kind.Value; {
	case doc != nil:
		return makeSample(doc)
	case kind == "http":
		return map[string]any{"status": 200, "headers": map[string]any{}, "body": map[string]any{}}
	case kind == "exec" && n.Field("parse") != nil && n.Field("parse").Text.Value == "lines":
		return []any{AnyText}
	case kind == "graph":
		return map[string]any{"status": "completed", "quality": "clean", "output": map[string]any{}, "state": map[string]any{}}
	case kind == "llm" && n.Field("tools") != nil:
		return map[string]any{"content": AnyText, "tool_calls": []any{}}
	}
	return AnyText
}

// findDeclared returns the schema that a node or its kind declares for a part of its result, or nil.
func findDeclared(n *spec.Node, path []string) map[string]any {
	if doc := domain.OutputPart(n, path); doc != nil || domain.OutputSchema(n) != nil {
		return doc
	}
	switch n.Kind.Value + "." + strings.Join(path, ".") {
	case "human.", "llm.content":
		return map[string]any{"type": "string"}
	case "llm.tool_calls":
		return map[string]any{"type": "array", "items": map[string]any{"const": map[string]any{"id": "call", "name": "tool", "args": map[string]any{}}}}
	}
	return nil
}

// findFailures sets the failures of a node to try: the usual one, one of each kind that its
// conditions or retry blocks name, and one for each constant compared with a message or detail.
func (m *Model) findFailures(v int) {
	n := m.graph.Nodes[v]
	usual := map[string]string{"exec": "exit_status", "http": "http_status", "llm": "llm", "agent": "llm", "tool": "tool"}[n.Kind.Value]
	kinds := []string{cmp.Or(usual, "failed")}
	var compared []*machine.Failure
	for _, e := range m.own[v] {
		if !e.Program.Uses("error") {
			continue
		}
		for _, c := range dataflow.Constants([]*dataflow.Use{e}) {
			if text, isText := c.(string); isText && slices.Contains(spec.FailureKinds(), text) {
				kinds = append(kinds, text)
				continue
			}
			for _, r := range e.Program.Reads {
				compared = append(compared, listFailures(kinds[0], r.Path, c)...)
			}
		}
	}
	for _, block := range n.RetryBlocks(m.graph) {
		for _, on := range block.On {
			kinds = append(kinds, on.Value)
		}
	}
	details := map[string]map[string]any{
		"exit_status": {"exit_code": 1, "stdout": "", "stderr": ""},
		"http_status": {"status": 500, "body": ""},
	}
	for i, kind := range kinds {
		if n.MayFailAs(kind) && !slices.Contains(kinds[:i], kind) {
			m.failures[v] = append(m.failures[v], &machine.Failure{Kind: kind, Message: "failed", Details: details[kind]})
		}
	}
	if n.MayFailAs(kinds[0]) {
		m.failures[v] = append(m.failures[v], compared...)
	}
}

// listFailures returns failures with a constant, or a number next to it, at a path.
func listFailures(kind string, path []string, c any) (out []*machine.Failure) {
	if path[0] != "error" || len(path) < 2 || path[1] != "message" && path[1] != "details" {
		return nil
	}
	values := []any{c}
	if n, isInt := c.(int); isInt {
		values = append(values, n+1, n-1)
	}
	for _, value := range values {
		of := setPart(map[string]any{"message": "failed"}, path[1:], value).(map[string]any)
		message, _ := of["message"].(string)
		details, _ := of["details"].(map[string]any)
		out = append(out, &machine.Failure{Kind: kind, Message: message, Details: details})
	}
	return out
}

// source describes the results of a node.
type source struct {
	base  any
	parts []part
}

// part is a part of a result that something reads, or an input.
type part struct {
	path         []string
	name, source string   // of its slots
	keys         []string // state keys that it is written to as it is
	into         []string // state keys that are computed from it
	options      []any
	partial      bool // there are other options
	usual        any  // the value if nothing depends on it
	// counts: a condition depends on it; now: the machine itself reads it; optional: a run may begin without it;
	// written: a node writes the key of an input that is not required.
	counts, now, optional, written bool
}

// findSource finds the parts of a node's result that are read, and their options.
func (m *Model) findSource(v int) source {
	n, b := m.graph.Nodes[v], &m.bound.Nodes[v]
	var src source
	m.computes[v] = map[string]bool{}
	if n.Kind.Value == "set" || n.Kind.Value == "pass" {
		for _, f := range b.Set {
			m.computes[v][f.Name] = true
		}
	}
	doc := domain.OutputSchema(n)
	for _, key := range n.Writes.Keys {
		path := []string{}
		if len(n.Writes.Keys) > 1 || domain.Subschema(doc, key.Value) != nil || doc == nil && m.readsMembers(v) {
			path = []string{key.Value}
		}
		p := src.addPart(path)
		p.keys = append(p.keys, key.Value)
		m.computes[v][key.Value] = false
	}
	for j, e := range n.Writes.Exprs {
		m.computes[v][e.Name.Value] = j >= len(b.Writes) || !m.addReadParts(e.Name.Value, b.Writes[j].Value.Program, &src)
	}
	for _, e := range m.own[v] {
		if e.Field != "writes" {
			delete(m.copies, e.Program)
		}
		if e.Field == "when" || e.Field == "goto" || e.Field == "never" {
			for _, read := range e.Program.Reads {
				if read.Path[0] == "output" {
					src.addPart(read.Path[1:]).counts = true
				}
			}
		}
	}
	if n.HasEnds && !n.Goto.IsSet() {
		p := src.addPart([]string{"goto"})
		p.counts, p.now = true, true
	}
	for i := range src.parts {
		p := &src.parts[i]
		p.source, p.name = n.ID.Value+"."+strings.Join(p.path, "."), n.ID.Value
		p.now = p.now || n.Each.IsSet() || n.Kind.Value == "human"
		for _, key := range p.keys {
			p.name = p.keys[0]
			p.counts = p.counts || m.counts[key]
			p.now = p.now || !dataflow.Replaces(m.graph.Key(key)) || m.listTimes(p.keys) != nil
		}
	}
	m.findPartOptions(v, doc, &src)
	return src
}

// readsMembers reports whether an expression reads a member of a node's result.
func (m *Model) readsMembers(v int) bool {
	return slices.ContainsFunc(m.own[v], func(e *dataflow.Use) bool {
		return slices.ContainsFunc(e.Program.Reads, func(r eval.Read) bool { return r.Path[0] == "output" && len(r.Path) > 1 })
	})
}

// addReadParts adds the parts that an entry of writes reads, and reports whether it copies one.
func (m *Model) addReadParts(key string, p *eval.Program, src *source) bool {
	if p == nil {
		return false
	}
	if tree := p.Tree; tree.Op == eval.TreePath && tree.Path[0] == "output" && !slices.ContainsFunc(tree.Path, isElement) {
		part := src.addPart(tree.Path[1:])
		part.keys = append(part.keys, key)
		m.copies[p] = true
		return true
	}
	for _, read := range p.Reads {
		if read.Path[0] == "output" {
			part := src.addPart(read.Path[1:])
			part.counts, part.into = part.counts || m.counts[key], append(part.into, key)
		}
	}
	return false
}

func isElement(name string) bool { return strings.HasPrefix(name, "[") }

// addPart finds or adds the part at a path, which ends before the first index.
func (s *source) addPart(path []string) *part {
	if i := slices.IndexFunc(path, isElement); i >= 0 {
		path = path[:i]
	}
	i := slices.IndexFunc(s.parts, func(p part) bool { return slices.Equal(p.path, path) })
	if i < 0 {
		i = len(s.parts)
		s.parts = append(s.parts, part{path: path})
	}
	return &s.parts[i]
}
