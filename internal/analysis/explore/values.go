// Values to try: as many of a schema as conditions may tell apart.

package explore

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/spec"
)

// unset stands for a value that is not there.
type unset struct{}

// Bounds of what is tried.
const (
	maxOptions = 24 // values of one key, or results of one node
	maxItems   = 6  // elements of lists
)

// begin finds what the caller of a run may give.
func (m *Model) begin() {
	for i, k := range m.graph.State {
		in := input{name: k.Name.Value, source: "input " + k.Name.Value, counts: m.counts[k.Name.Value], optional: !k.Required && k.Default == nil}
		in.options, in.partial = m.keyOptions(i)
		if k.Once {
			in.options, in.partial = nil, true
		}
		if len(in.options) > 0 && k.Default == nil {
			in.has, in.value = true, in.options[0]
		}
		if in.optional {
			in.options = append(slices.Clip(in.options), unset{})
		}
		m.inputs = append(m.inputs, in)
	}
}

// keyOptions are values that a state key may hold, the default first, and whether
// there are others.
func (m *Model) keyOptions(i int) (options []any, partial bool) {
	k := m.graph.State[i]
	options, partial = valuesOf(k.Schema, m.constants(k.Name.Value, -1, nil), m.members[k.Name.Value])
	if regions, all := m.keyRegions(k.Name.Value); partial && all {
		options, partial = regions, false
	}
	if k.Default != nil {
		options = slices.Insert(slices.Clone(options), 0, k.Default.Data())
	}
	return m.fitting(options, k.Name.Value), partial
}

// fitting are the values that state keys can hold, each once and not too many.
func (m *Model) fitting(options []any, keys ...string) []any {
	var checked []int
	for i, k := range m.graph.State {
		if m.bound.Keys[i].Schema != nil && slices.Contains(keys, k.Name.Value) && dataflow.Replaces(k) {
			checked = append(checked, i)
		}
	}
	var out []any
	for _, v := range options {
		refused := func(i int) bool { return m.bound.Keys[i].Schema.Check(v) != nil }
		if len(out) < maxOptions && !slices.ContainsFunc(checked, refused) && !slices.ContainsFunc(out, func(w any) bool { return same(v, w) }) {
			out = append(out, v)
		}
	}
	return out
}

// same reports whether two values are.
func same(v, w any) bool {
	switch v.(type) {
	case nil, bool, int, float64, string:
		return v == w
	}
	return reflect.DeepEqual(v, w)
}

// constants are the scalars in expressions that read a state key, or a part of what a
// node yields. Those of a policy are none: what only the policy speaks of is left to the
// run.
func (m *Model) constants(key string, node int, path []string) []any {
	if node < 0 {
		return m.constantsOf(key, map[string]bool{})
	}
	return dataflow.Constants(m.own[node], func(r eval.Read) bool {
		return r.Path[0] == "output" && len(r.Path) > len(path) && slices.Equal(r.Path[1:1+len(path)], path)
	})
}

// constantsOf are those beside a key, and beside keys that are computed from it.
func (m *Model) constantsOf(key string, seen map[string]bool) []any {
	seen[key] = true
	out := m.uses.Constants(key)
	for i := range m.all {
		e := &m.all[i]
		if e.Node < 0 || e.Program == nil || !slices.ContainsFunc(e.Program.Reads(), func(r eval.Read) bool { return r.Path[0] == key }) {
			continue
		}
		if target := m.target(e); target != "" && m.counts[target] && !seen[target] {
			for _, c := range m.constantsOf(target, seen) {
				if !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// fill finds what the parts of a result may be, and what the rest of it is.
func (m *Model) fill(v int, doc map[string]any, src *source) {
	n := m.graph.Nodes[v]
	src.base = m.base(n, doc)
	expected := map[string]any{}
	if doc == nil && n.Kind.Value != "human" {
		expected = m.expected(v)
		src.base = completed(src.base, expected)
	}
	for i := range src.parts {
		p := &src.parts[i]
		scalars := m.constants("", v, p.path)
		for _, key := range slices.Concat(p.keys, p.into) {
			for _, c := range m.constants(key, -1, nil) {
				if !slices.Contains(scalars, c) {
					scalars = append(scalars, c)
				}
			}
		}
		own, read := usual(n, p.path), m.readOf(v, p)
		if labels, ok := m.labels(v, p.path); ok {
			p.options = labels
		} else if own == nil && len(domain.Part(expected, p.path)) > 0 {
			p.options, p.partial = valuesOf(domain.Part(expected, p.path), scalars, read)
		} else if own == nil && len(p.keys) > 0 {
			p.options, p.partial = valuesOf(element(m.graph.Key(p.keys[0]), n), scalars, read)
		} else {
			p.options, p.partial = valuesOf(own, scalars, read)
		}
		if regions, all := m.partRegions(v, p, own); p.partial && all {
			p.options, p.partial = regions, false
		}
		if !n.Each.IsSet() {
			p.options = m.fitting(p.options, p.keys...)
		}
	}
}

// readOf are the paths in a part of a result that decide how runs go, by the node's own
// expressions or by the state keys that take the part.
func (m *Model) readOf(v int, p *part) [][]string {
	var out [][]string
	for _, e := range m.own[v] {
		if e.Field == "writes" && e.Program.Tree().Op == eval.TreePath {
			continue // what is read of the key
		}
		for _, r := range e.Program.Reads() {
			if r.Path[0] == "output" && len(r.Path) > len(p.path) && slices.Equal(r.Path[1:1+len(p.path)], p.path) {
				out = append(out, r.Path[1+len(p.path):])
			}
		}
	}
	if len(p.keys) > 0 && (m.graph.Nodes[v].Each.IsSet() || !dataflow.Replaces(m.graph.Key(p.keys[0]))) {
		return append(out, nil)
	}
	for _, key := range p.keys {
		out = append(out, m.members[key]...)
	}
	return out
}

// element is the schema of what is written to a key, or of an element where the key
// gathers them.
func element(k *spec.StateKey, n *spec.Node) map[string]any {
	if k == nil {
		return nil
	}
	gathers := n.Each.IsSet() || slices.Contains([]string{"append", "prepend", "union"}, k.Reducer.Value)
	if items, ok := k.Schema["items"].(map[string]any); ok && gathers {
		return items
	}
	return k.Schema
}

// labels are what names the next node: the goto of a result, or the part of it that the
// node's own expression reads.
func (m *Model) labels(v int, path []string) ([]any, bool) {
	n := m.graph.Nodes[v]
	if !n.HasEnds {
		return nil, false
	}
	var out []any
	for _, end := range n.Ends {
		out = append(out, end.Label.Value)
	}
	if p := m.bound.Nodes[v].Goto; p != nil {
		tree := p.Tree()
		known := tree.Op == eval.TreePath && tree.Path[0] == "output" && slices.Equal(tree.Path[1:], path)
		if doc := domain.Part(n.Output, path); known && doc["enum"] != nil {
			return nil, false // it says itself what it may be
		}
		return out, known
	}
	if len(path) == 1 && path[0] == "goto" {
		return append(out, unset{}), true
	}
	return nil, false
}

// base is a result with what nobody reads.
func (m *Model) base(n *spec.Node, doc map[string]any) any {
	switch kind := n.Kind.Value; {
	case doc != nil:
		return sample(doc)
	case kind == "human" && domain.Yields(n, nil) != nil:
		return sample(domain.Yields(n, nil))
	case kind == "http":
		return map[string]any{"status": 200, "headers": map[string]any{}, "body": map[string]any{}}
	case kind == "graph":
		return map[string]any{"status": "completed", "quality": "clean", "output": map[string]any{}, "state": map[string]any{}}
	case kind == "llm" && n.Field("tools") != nil:
		return map[string]any{"content": anyText, "tool_calls": []any{}}
	}
	return anyText
}

// anyText is a text of which nothing is asked.
const anyText = "made up"

// completed is a result with the members that the flow takes it to have.
func completed(base any, expected map[string]any) any {
	properties, _ := expected["properties"].(map[string]any)
	object, _ := base.(map[string]any)
	if len(properties) == 0 || object == nil && base != anyText {
		return base
	}
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	for name, schema := range properties {
		member := schema.(map[string]any)
		if own, has := out[name]; has {
			out[name] = completed(own, member)
		} else {
			out[name] = sample(member)
		}
	}
	return out
}

// usual is the schema of a part of what a node yields, as it is assumed where nobody
// says.
func usual(n *spec.Node, path []string) map[string]any {
	if doc := domain.Yields(n, path); doc != nil || domain.OutputSchema(n) != nil {
		return doc
	}
	switch n.Kind.Value + "." + strings.Join(path, ".") {
	case "human.", "llm.content":
		return map[string]any{"type": "string"}
	case "llm.tool_calls":
		return map[string]any{"type": "array", "items": map[string]any{"enum": calls(n)}}
	}
	return nil
}

// calls are one of each tool that a model is offered by its name.
func calls(n *spec.Node) []any {
	var out []any
	if tools := n.Field("tools"); tools != nil {
		for i := range tools.Items {
			if name := tools.Items[i].Text.Value; !strings.Contains(name, "*") {
				out = append(out, map[string]any{"id": "call", "name": name, "args": map[string]any{}})
			}
		}
	}
	if len(out) == 0 {
		out = append(out, map[string]any{"id": "call", "name": "tool", "args": map[string]any{}})
	}
	return out
}

// answers are the answers to a question that are tried.
func (m *Model) answers(q *machine.Question) [][]any {
	n := m.graph.Node(q.Node)
	if n.Kind.Value == "human" {
		return m.combinations(&m.sources[n.Index])
	}
	return [][]any{{"yes"}}
}

// outputs are the values of the parts of a node's result that are read at once.
func (m *Model) outputs(v int, s *search) [][]any {
	src := &m.sources[v]
	for i := range src.parts {
		if p := &src.parts[i]; p.counts && p.now && p.partial {
			s.gap("what " + strconv.Quote(m.graph.Nodes[v].ID.Value) + " yields")
		}
	}
	if src.outputs == nil {
		src.outputs = append(m.combinations(src), m.outputPerEdge(v, s)...)
	}
	out := src.outputs
	if len(out) >= maxOptions {
		s.gap("what " + strconv.Quote(m.graph.Nodes[v].ID.Value) + " yields")
	}
	return out
}

// combinations are those of the parts that are read at once: all where they are few, or
// each value of each part once.
func (m *Model) combinations(src *source) [][]any {
	out := [][]any{nil}
	product := 1
	for i := range src.parts {
		if p := &src.parts[i]; p.counts && p.now && len(p.options) > 0 {
			product *= len(p.options)
		}
	}
	for i := range src.parts {
		p := &src.parts[i]
		if !p.counts || !p.now || len(p.options) == 0 {
			continue
		}
		var next [][]any
		for j, values := range out {
			for k, v := range p.options {
				if product <= maxOptions || j == 0 || k == 0 {
					next = append(next, append(slices.Clip(values), v))
				}
			}
		}
		out = next
	}
	return out
}

// maxTrials is how many combinations outputPerEdge evaluates.
const maxTrials = 4000

// outputPerEdge returns a combination of parts for each edge of a node that one makes fire.
// It evaluates the conditions of the edges, and only where combinations are too many to run
// each of them.
func (m *Model) outputPerEdge(v int, s *search) (out [][]any) {
	src := &m.sources[v]
	var parts []*part
	product := 1
	for i := range src.parts {
		if p := &src.parts[i]; p.counts && p.now && len(p.options) > 0 {
			parts, product = append(parts, p), min(product*len(p.options), maxTrials)
		}
	}
	if product <= maxOptions || len(m.guards[v]) == 0 {
		return nil
	}
	env := map[string]any{}
	for _, k := range m.graph.State {
		if env[k.Name.Value] = nil; k.Default != nil {
			env[k.Name.Value] = k.Default.Data()
		}
	}
	var vm eval.VM
	found := map[int]bool{}
	for trial := range product {
		output, values := src.base, make([]any, len(parts))
		rest := trial
		for i, p := range slices.Backward(parts) {
			values[i] = p.options[rest%len(p.options)]
			rest /= len(p.options)
			if _, absent := values[i].(unset); absent {
				continue
			}
			output = placed(output, p.path, values[i])
			for _, key := range p.keys {
				env[key] = values[i]
			}
		}
		env["output"] = output
		edge := slices.IndexFunc(m.guards[v], func(c condition) bool {
			holds, err := vm.Test(m.bound.Edges[c.edge].When, env)
			return err == nil && holds
		})
		if !found[edge] {
			found[edge] = true
			out = append(out, values)
		}
		if len(found) > len(m.guards[v]) {
			break
		}
	}
	s.spend(product / 4)
	return out
}

// failures are the failures of a node that are tried: one of each kind that something
// asks for, and another.
func (m *Model) failures(v int) []*machine.Failure {
	if m.kinds[v] != nil {
		return m.kinds[v]
	}
	n := m.graph.Nodes[v]
	kinds := []string{map[string]string{"exec": "exit_status", "http": "http_status", "llm": "llm", "agent": "llm", "tool": "tool"}[n.Kind.Value]}
	if kinds[0] == "" {
		kinds[0] = "failed"
	}
	known := spec.FailureKinds()
	for _, e := range m.own[v] {
		if e.Field != "when" || !e.Program.Uses("error") {
			continue
		}
		e.Program.Tree().Each(func(t *eval.Tree) {
			if text, ok := t.Value.(string); ok && slices.Contains(known, text) {
				kinds = append(kinds, text)
			}
		})
	}
	for _, block := range n.RetryBlocks(m.graph) {
		for _, on := range block.On {
			kinds = append(kinds, on.Value)
		}
	}
	for i, kind := range kinds {
		if n.FailsAs(kind) && !slices.Contains(kinds[:i], kind) {
			m.kinds[v] = append(m.kinds[v], &machine.Failure{Kind: kind, Message: "failed", Details: usualDetails(kind)})
		}
	}
	for _, f := range m.askedFailures(v) {
		f.Kind = kinds[0]
		if n.FailsAs(f.Kind) {
			m.kinds[v] = append(m.kinds[v], f)
		}
	}
	return m.kinds[v]
}

// usualDetails returns what a failure of a kind knows besides.
func usualDetails(kind string) map[string]any {
	switch kind {
	case "exit_status":
		return map[string]any{"exit_code": 1, "stdout": "", "stderr": ""}
	case "http_status":
		return map[string]any{"status": 500, "body": ""}
	}
	return nil
}

// askedFailures returns failures whose message or details have a value that a condition
// compares them with, or one beside it.
func (m *Model) askedFailures(v int) (out []*machine.Failure) {
	for _, e := range m.own[v] {
		if e.Field != "when" {
			continue
		}
		e.Program.Tree().Each(func(t *eval.Tree) {
			if t.Op != eval.TreeBinary || len(t.Args) != 2 {
				return
			}
			for i, side := range t.Args {
				if side.Op != eval.TreePath || side.Path[0] != "error" || len(side.Path) < 2 {
					continue
				}
				for _, value := range beside(t.Args[1-i]) {
					text, isText := value.(string)
					switch {
					case side.Path[1] == "message" && isText:
						out = append(out, &machine.Failure{Message: text})
					case side.Path[1] == "details" && len(side.Path) > 2:
						details, _ := placed(nil, side.Path[2:], value).(map[string]any)
						out = append(out, &machine.Failure{Message: "failed", Details: details})
					}
				}
			}
		})
	}
	return out
}

// beside returns the constants in an expression, and the whole numbers beside them.
func beside(t *eval.Tree) (out []any) {
	t.Each(func(part *eval.Tree) {
		if part.Op != eval.TreeConst {
			return
		}
		list, isList := part.Value.([]any)
		if !isList {
			list = []any{part.Value}
		}
		for _, value := range list {
			if out = append(out, value); isInt(value) {
				out = append(out, value.(int)+1, value.(int)-1)
			}
		}
	})
	return out
}
