// What nodes may come to in a search for runs.

package flowtest

import (
	"slices"
	"strings"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// outputs are what a node may come to, its base first.
func (w *wits) outputs(g *spec.Graph, n *spec.Node) []any {
	base := baseOutput(g, n)
	var out []any
	add := func(value any) {
		text := jsonText(value)
		if !slices.ContainsFunc(out, func(other any) bool { return jsonText(other) == text }) {
			out = append(out, value)
		}
	}
	add(base)
	if choices := n.Field("choices"); choices != nil && (n.Kind.Value == "human" || n.Kind.Value == stubKind) {
		for i := range choices.Items {
			add(choices.Items[i].Data())
		}
		return out
	}
	if tools := n.Field("tools"); n.Kind.Value == "llm" && tools != nil {
		name, _, _ := strings.Cut(strings.Join(valuesOf(tools), " "), " ")
		add(map[string]any{"content": "", "tool_calls": []any{map[string]any{"id": "1", "name": name, "args": map[string]any{}}}})
	}
	for _, s := range w.solutions(g) {
		if value, changed := apply(g, n, base, s); changed {
			add(value)
		}
	}
	if n.Each.IsSet() {
		return out[:1]
	}
	const most = 12
	return out[:min(len(out), most)]
}

// apply is the base with the values of a solution that the node decides.
func apply(g *spec.Graph, n *spec.Node, base any, s solution) (value any, changed bool) {
	value = cloned(base)
	object, isObject := value.(map[string]any)
	put := func(path []string, v any) {
		if len(path) == 0 {
			value, changed = v, true
			return
		}
		if !isObject {
			object, isObject = map[string]any{}, true
			value = object
		}
		setPath(object, path, v)
		changed = true
	}
	for _, b := range s.values {
		path := b.Path
		switch {
		case path[0] == "output" && s.node == n.ID.Value && !s.failed:
			put(path[1:], b.Value)
		case path[0] == "nodes" && len(path) > 2 && path[1] == n.ID.Value && path[2] == "output":
			put(path[3:], b.Value)
		case g.Key(path[0]) != nil:
			at, ok := writtenAt(n, path[0])
			if !ok {
				continue
			}
			value := b.Value
			if list, isList := value.([]any); folds(g, path[0]) && isList && len(list) > 0 {
				value = list[0]
			}
			put(append(slices.Clip(at), path[1:]...), value)
		}
	}
	return value, changed
}

// writtenAt is the part of a node's output that it writes to a state key.
func writtenAt(n *spec.Node, key string) (path []string, ok bool) {
	for _, name := range n.Writes.Keys {
		if name.Value != key {
			continue
		}
		if properties, _ := n.Output["properties"].(map[string]any); len(n.Writes.Keys) > 1 || properties[key] != nil {
			return []string{key}, true
		}
		return nil, true
	}
	for _, write := range n.Writes.Exprs {
		if write.Name.Value != key {
			continue
		}
		if found := outputPath().FindStringSubmatch(write.Expr.Value); found != nil {
			if found[1] == "" {
				return nil, true
			}
			return strings.Split(found[1][1:], "."), true
		}
	}
	return nil, false
}

func cloned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = cloned(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloned(v[i])
		}
		return out
	}
	return v
}

// failures are those that are worth trying: the usual kind, and those that the
// conditions behind the node ask for. A failure that no edge of the node waits for may
// let a join be bypassed.
func (w *wits) failures(g *spec.Graph, n *spec.Node) []*runner.Failure {
	if n.Kind.Value == "human" || n.Kind.Value == stubKind { // a person is no failure
		return nil
	}
	usual := map[string]string{"exec": "exit_status", "http": "http_status", "llm": "refused", "agent": "escalated", "tool": "tool", "tools": "tool", "graph": "child_failed"}[n.Kind.Value]
	if usual == "" {
		usual = "failed"
	}
	out := []*runner.Failure{{Kind: usual, Message: madeUpText, Details: usualDetails(g, n)}}
	for _, s := range w.solutions(g) {
		if s.node != n.ID.Value || !s.failed {
			continue
		}
		failure := &runner.Failure{Kind: usual, Message: madeUpText, Details: usualDetails(g, n)}
		for _, b := range s.values {
			if b.Path[0] == "error" && len(b.Path) > 1 {
				fill(failure, b.Path[1:], b.Value)
			}
		}
		same := func(other *runner.Failure) bool { return jsonText(other) == jsonText(failure) }
		if slices.Contains(spec.FailureKinds(), failure.Kind) && !slices.ContainsFunc(out, same) {
			out = append(out, failure)
		}
	}
	return out
}

// usualDetails are what a failure of a node knows besides, of which the graph speaks.
func usualDetails(g *spec.Graph, n *spec.Node) map[string]any {
	all := map[string]map[string]any{
		"exec": {"exit_code": 1, "stderr": madeUpText, "stdout": madeUpText}, "http": {"status": 500, "body": madeUpText},
	}[n.Kind.Value]
	var out map[string]any
	for name, value := range all {
		if strings.Contains(string(g.File.Src), "details."+name) {
			if out == nil {
				out = map[string]any{}
			}
			out[name] = value
		}
	}
	return out
}

// fill puts a value into a failure, by the name that expressions have for it.
func fill(failure *runner.Failure, path []string, value any) {
	text, isText := value.(string)
	switch {
	case path[0] == "kind" && isText:
		failure.Kind = text
	case path[0] == "message" && isText:
		failure.Message = text
	case path[0] == "details" && len(path) > 1:
		if failure.Details == nil {
			failure.Details = map[string]any{}
		}
		setPath(failure.Details, path[1:], value)
	}
}

// inputs are the inputs worth trying, the least first: the keys that a run needs,
// and those that decide something and that no node writes.
func (w *wits) inputs() []map[string]any {
	g := w.graph
	base := map[string]any{}
	for _, key := range g.State {
		if key.Required {
			base[key.Name.Value] = least(key.Schema)
		}
	}
	out := []map[string]any{base}
	if filled := withElements(g, base); jsonText(filled) != jsonText(base) {
		out = append(out, filled)
	}
	for _, s := range w.solutions(g) {
		own := map[string]any{}
		for name, value := range base {
			own[name] = value
		}
		changed := false
		for _, b := range s.values {
			if g.Key(b.Path[0]) != nil && !isStubbed(g, b.Path[0]) {
				own[b.Path[0]] = withMember(own[b.Path[0]], b.Path[1:], b.Value)
				changed = true
			}
		}
		text := jsonText(own)
		if changed && len(out) < 16 && !slices.ContainsFunc(out, func(m map[string]any) bool { return jsonText(m) == text }) {
			out = append(out, own)
		}
	}
	return out
}

// withMember is a value with another one at a path inside of it.
func withMember(value any, path []string, member any) any {
	if len(path) == 0 {
		return member
	}
	object, _ := cloned(value).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	setPath(object, path, member)
	return object
}

// withElements is an input with an element in every list that no node writes: what
// reads the first one fails otherwise.
func withElements(g *spec.Graph, base map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range base {
		out[name] = value
	}
	for _, key := range g.State {
		name := key.Name.Value
		items, _ := key.Schema["items"].(map[string]any)
		if list, _ := defaultOf(key).([]any); key.Schema["type"] == "array" && len(list) == 0 && !isStubbed(g, name) {
			out[name] = []any{least(items)}
		}
	}
	return out
}

// defaultOf is what a state key holds at the start of a run.
func defaultOf(key *spec.StateKey) any {
	if key.Default == nil {
		return nil
	}
	return key.Default.Data()
}

// isStubbed reports whether a node whose output is chosen writes a key.
func isStubbed(g *spec.Graph, key string) bool {
	for _, n := range g.Nodes {
		if inMachine(n.Kind.Value) && n.Kind.Value != "human" {
			continue
		}
		if _, ok := writtenAt(n, key); ok {
			return true
		}
	}
	return false
}
