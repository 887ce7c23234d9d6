// Values made up for what nodes come to: the least that their schemas allow.

package flowtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/internal/solve"
	"github.com/graphrun/graphrun/spec"
)

// madeUpText is what a text is that may be any.
const madeUpText = "made up"

// least is the first value that a schema allows: the first of an enum, the least
// number, a text that says that it is made up.
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

// plainSchema is a schema without the keywords of state keys.
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

// maxMadeUp is the longest text that is made up, in bytes.
const maxMadeUp = 1 << 20

func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}

// inputsWithoutValue returns a line for each required input for which no valid value is
// known.
func inputsWithoutValue(g *spec.Graph) []string {
	var out []string
	for _, key := range g.State {
		if !key.Required {
			continue
		}
		compiled, err := schema.Compile(plainSchema(key.Schema))
		if err == nil && compiled.Check(least(key.Schema)) != nil {
			out = append(out, "cannot make up a value for input \""+key.Name.Value+"\"; its schema is "+compiled.String())
		}
	}
	return out
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

// schemaOf is the schema of a state key; nil: it is not declared.
func schemaOf(g *spec.Graph, name string) map[string]any {
	if key := g.Key(name); key != nil {
		return key.Schema
	}
	return nil
}

// outputPath matches an expression that is a part of the output and no more.
var outputPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*output((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\s*$`)
})

// outputReads matches the parts of the output that an expression reads, and what
// they are compared with.
var outputReads = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\boutput((?:\.[A-Za-z_][A-Za-z0-9_]*)+)\s*(?:(==|!=|<=|>=|<|>)\s*('[^']*'|"[^"]*"|-?[0-9.]+|true|false))?`)
})

// calculated matches an expression, with a NUL in the place of a part, that calculates
// with this part: it is a number.
var calculated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:float|int|abs|ceil|floor|round|max|min)\(\s*\x00|[-*/%]\s*\x00|\x00\s*(?:[-*/%]|\+\s*[0-9])`)
})

// NeedsStub reports whether a case must say what a node results in.
func NeedsStub(n *spec.Node) bool {
	return !slices.Contains([]string{"set", "pass", "wait", "fail", "graph", "human", "tool", "tools"}, n.Kind.Value)
}

// MadeUp returns an output of a node that fits its schema, as a value of JSON.
func MadeUp(g *spec.Graph, n *spec.Node) any { return baseOutput(g, n) }

// baseOutput is an output of a node that fits its schema and what is done with it.
func baseOutput(g *spec.Graph, n *spec.Node) any {
	if tools := n.Field("tools"); n.Kind.Value == "llm" && tools != nil {
		return map[string]any{"content": madeUpText, "tool_calls": []any{}}
	}
	if n.Output != nil {
		return least(n.Output)
	}
	switch keys := n.Writes.Keys; {
	case n.Kind.Value == "human":
		return humanAnswer(n)
	case len(keys) == 1:
		return elementOf(n, least(schemaOf(g, keys[0].Value)), schemaOf(g, keys[0].Value), folds(g, keys[0].Value))
	case len(keys) > 1:
		out := map[string]any{}
		for _, key := range keys {
			out[key.Value] = least(schemaOf(g, key.Value))
		}
		return out
	}
	var out any
	object := map[string]any{}
	if n.Kind.Value == "http" {
		object = map[string]any{"status": 200, "headers": map[string]any{}, "body": map[string]any{}}
	}
	whole := false
	for _, w := range n.Writes.Exprs {
		found := outputPath().FindStringSubmatch(w.Expr.Value)
		if found == nil {
			continue
		}
		key := schemaOf(g, w.Name.Value)
		if found[1] == "" {
			out, whole = elementOf(n, least(key), key, folds(g, w.Name.Value)), true
			continue
		}
		setPath(object, strings.Split(found[1][1:], "."), least(key))
	}
	if whole {
		return out
	}
	for _, text := range textsAbout(g, n) {
		for _, at := range outputReads().FindAllStringSubmatchIndex(text, -1) {
			path := strings.Split(text[at[2]+1:at[3]], ".")
			if hasPath(object, path) {
				continue
			}
			literal := ""
			if at[6] >= 0 {
				literal = text[at[6]:at[7]]
			}
			if calculated().MatchString(text[:at[0]] + "\x00" + text[at[3]:]) {
				literal = "0"
			}
			setPath(object, path, likeLiteral(literal))
		}
	}
	if len(object) == 0 {
		return madeUpText
	}
	return object
}

// textsAbout are the expressions that read the output of a node.
func textsAbout(g *spec.Graph, n *spec.Node) []string {
	var out []string
	for _, w := range n.Writes.Exprs {
		out = append(out, w.Expr.Value)
	}
	for _, e := range g.Edges {
		if e.From.Value == n.ID.Value {
			out = append(out, e.When.Value)
			if e.Transform != nil {
				out = append(out, e.Transform.Text.Value)
			}
		}
	}
	return append(out, n.Goto.Value)
}

// humanAnswer is the first legal answer.
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

// elementOf is what an element of a node with each comes to, whose list is written,
// or what becomes an element of one.
func elementOf(n *spec.Node, value any, doc map[string]any, folds bool) any {
	if !n.Each.IsSet() && !folds {
		return value
	}
	if items, ok := doc["items"].(map[string]any); ok {
		return least(items)
	}
	return madeUpText
}

// folds reports whether what is written to a state key becomes an element of it.
func folds(g *spec.Graph, name string) bool {
	key := g.Key(name)
	return key != nil && slices.Contains([]string{"append", "prepend", "union"}, key.Reducer.Value)
}

// likeLiteral is the least value of the type of a literal.
func likeLiteral(text string) any {
	switch {
	case text == "":
		return madeUpText
	case text == "true", text == "false":
		return false
	case text[0] == '\'', text[0] == '"':
		return madeUpText
	}
	return 0
}

func setPath(object map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = value
}

func hasPath(object map[string]any, path []string) bool {
	for i, name := range path {
		value, ok := object[name]
		if !ok {
			return false
		}
		if i == len(path)-1 {
			return true
		}
		if object, ok = value.(map[string]any); !ok {
			return true // something else stands there
		}
	}
	return true
}
