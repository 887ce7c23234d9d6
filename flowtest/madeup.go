// Made-up results of nodes: the least values that their schemas allow.

package flowtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/analysis/domain"
	"github.com/graphrun/graphrun/internal/analysis/explore"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// madeUpText is a text where any text fits.
const madeUpText = "made up"

// least returns the first value that a schema allows: the first of an enum, the least
// number, or madeUpText.
func least(doc map[string]any) any {
	value := leastOf(doc, 0)
	compiled, err := schema.Compile(plainSchema(doc))
	if err != nil || compiled.Check(value) == nil {
		return value
	}
	for _, other := range []any{"", "a", "A1", "0", "2030-01-01", "2030-01-01T00:00:00Z", "a@b.c", "https://example.org", 1, nil, false, []any{}, map[string]any{}} {
		if compiled.Check(other) == nil {
			return other
		}
	}
	return value
}

// plainSchema returns a schema without the keywords of state keys.
func plainSchema(doc map[string]any) map[string]any {
	out := maps.Clone(doc)
	for _, name := range []string{"once", "reducer", "scope", "secret"} {
		delete(out, name)
	}
	if _, isList := out["required"].([]any); !isList {
		delete(out, "required")
	}
	return out
}

func leastOf(doc map[string]any, depth int) any {
	if value, ok := doc["const"]; ok {
		return value
	}
	if list, ok := doc["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	kind := doc["type"]
	if list, ok := kind.([]any); ok && len(list) > 0 {
		kind = list[0]
	}
	switch kind {
	case "integer", "number":
		return leastNumber(doc)
	case "boolean":
		return false
	case "null":
		return nil
	case "array":
		n, _ := doc["minItems"].(int)
		items, _ := doc["items"].(map[string]any)
		out := make([]any, 0, min(max(n, 0), 100))
		for range cap(out) {
			out = append(out, leastOf(items, depth+1))
		}
		return out
	case "object":
		return leastObject(doc, depth)
	}
	text := madeUpText
	if pattern, ok := doc["pattern"].(string); ok {
		if made := solve.Matching(pattern); matches(pattern, made) {
			return made
		}
	}
	if most, ok := doc["maxLength"].(int); ok && most < len(text) {
		text = text[:max(0, most)]
	}
	if fewest, ok := doc["minLength"].(int); ok && fewest > len(text) {
		text += strings.Repeat(".", min(fewest, maxMadeUp)-len(text))
	}
	return text
}

// maxMadeUp bounds a made-up text, in bytes.
const maxMadeUp = 1 << 20

func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}

// noValue returns the schema of a state key without a known valid value.
func noValue(key *spec.StateKey) (text string, missing bool) {
	compiled, err := schema.Compile(plainSchema(key.Schema))
	if err != nil || compiled.Check(least(key.Schema)) == nil {
		return "", false
	}
	return compiled.String(), true
}

func leastNumber(doc map[string]any) any {
	switch n := doc["minimum"].(type) {
	case int, float64:
		return n
	}
	switch n := doc["exclusiveMinimum"].(type) {
	case int:
		return n + 1
	case float64:
		return n + 1
	}
	switch n := doc["maximum"].(type) {
	case int:
		return min(n, 0)
	case float64:
		return min(n, 0)
	}
	return 0
}

func leastObject(doc map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := doc["properties"].(map[string]any)
	required, _ := doc["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		own, _ := properties[name].(map[string]any)
		if depth < 10 && (slices.Contains(required, any(name)) || depth == 0) {
			out[name] = leastOf(own, depth+1)
		}
	}
	return out
}

// schemaOf returns the schema of a state key, or nil if it is not declared.
func schemaOf(g *spec.Graph, name string) map[string]any {
	if key := g.Key(name); key != nil {
		return key.Schema
	}
	return nil
}

// NeedsStub reports whether a case must say what a node results in.
func NeedsStub(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "wait", "fail", "graph", "human", "tool", "tools"}, n.Kind.Value)
}

// MadeUp returns an output of a node that fits its schema, as a value of JSON.
func MadeUp(g *spec.Graph, n *spec.Node) any { return new(outputs).of(g, n) }

// outputs makes up what nodes yield. It keeps what it knows of a graph.
type outputs struct {
	cfg    Config
	worlds sync.Map // *explore.World by *spec.Graph
}

// expected returns the schema that a flow expects of a node's output, or nil.
func (o *outputs) expected(g *spec.Graph, n *spec.Node) map[string]any {
	known, ok := o.worlds.Load(g)
	if !ok {
		world, err := newWorld(o.cfg, g)
		if err != nil {
			return nil
		}
		known, _ = o.worlds.LoadOrStore(g, world)
	}
	return assumed(known.(*explore.World).Expected(n.Index))
}

// assumed returns an expected schema with all properties required, and without the values
// that the output is compared with.
func assumed(doc map[string]any) map[string]any {
	out := maps.Clone(doc)
	if values, ok := doc["enum"].([]any); ok && len(values) > 0 && doc["type"] == nil {
		delete(out, "enum")
		switch values[0].(type) {
		case bool:
			out["type"] = "boolean"
		case int, float64:
			out["type"] = "number"
		}
	}
	properties, _ := doc["properties"].(map[string]any)
	if len(properties) == 0 {
		return out
	}
	names, inner := []any{}, map[string]any{}
	for name, own := range properties {
		names = append(names, name)
		inner[name] = assumed(own.(map[string]any))
	}
	out["type"], out["required"], out["properties"] = "object", names, inner
	return out
}

// of returns an output that fits a node's schema, the keys that it writes, and the
// expressions that read it.
func (o *outputs) of(g *spec.Graph, n *spec.Node) any {
	keys := n.Writes.Keys
	switch kind := n.Kind.Value; {
	case kind == "llm" && n.Field("tools") != nil:
		return map[string]any{"content": madeUpText, "tool_calls": []any{}}
	case n.Output != nil:
		return least(n.Output)
	case kind == "human":
		return humanAnswer(n)
	case len(keys) == 1:
		return leastFor(g, n, keys[0].Value)
	case len(keys) > 1:
		out := map[string]any{}
		for _, key := range keys {
			out[key.Value] = least(schemaOf(g, key.Value))
		}
		return out
	}
	doc := o.expected(g, n)
	object, isObject := least(doc).(map[string]any)
	if n.Kind.Value == "http" {
		body, _ := domain.Part(doc, []string{"body"})["type"].(string)
		if made := object["body"]; body != "" {
			object = map[string]any{"body": made}
		} else {
			object = map[string]any{"body": map[string]any{}}
		}
		object["status"], object["headers"], isObject = 200, map[string]any{}, true
	}
	for _, w := range n.Writes.Exprs {
		path, isPath := outputPath(w.Expr.Value)
		if isPath && len(path) == 0 {
			return leastFor(g, n, w.Name.Value)
		}
		if isPath {
			object, isObject = placed(object, path, least(schemaOf(g, w.Name.Value))), true
		}
	}
	if !isObject {
		return least(doc)
	}
	return object
}

// outputPath returns the members of an expression such as output.a.b.
func outputPath(text string) (path []string, ok bool) {
	if !regexp.MustCompile(`^\s*output(\.[A-Za-z_][A-Za-z0-9_]*)*\s*$`).MatchString(text) {
		return nil, false
	}
	return strings.Split(strings.TrimSpace(text), ".")[1:], true
}

// placed returns an object with a value at a path.
func placed(object map[string]any, path []string, value any) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) > 1 {
		inner, _ := out[path[0]].(map[string]any)
		value = placed(inner, path[1:], value)
	}
	out[path[0]] = value
	return out
}

// leastFor returns the least output of a node that a state key takes: an element of the
// list, if the node runs for each or the key collects.
func leastFor(g *spec.Graph, n *spec.Node, name string) any {
	key, doc := g.Key(name), schemaOf(g, name)
	collects := key != nil && slices.Contains([]string{"append", "prepend", "union"}, key.Reducer.Value)
	if !n.Each.IsSet() && !collects {
		return least(doc)
	}
	items, _ := doc["items"].(map[string]any)
	return least(items)
}

// humanAnswer returns the first legal answer.
func humanAnswer(n *spec.Node) any {
	if choices := n.Field("choices"); choices != nil && choices.Kind == spec.List && len(choices.Items) > 0 {
		return choices.Items[0].Data()
	}
	if doc := n.Field("schema"); doc != nil {
		if own, ok := doc.Data().(map[string]any); ok {
			return least(own)
		}
	}
	return madeUpText
}
