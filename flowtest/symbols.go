// Conditions as a run has come to them, over what was chosen before: the values that
// nodes write are followed back to the choices that they come from.

package flowtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// symbols say of each name that a condition reads which expression over choices and
// inputs stands for it, at one place of a run.
type symbols struct {
	graph *spec.Graph
	run   *tried
	// keys are the state keys that nodes have written; others hold what the run
	// began with.
	keys map[string]string
	// last is the latest execution of each node, and visits how often it ran.
	last   map[string]int
	visits map[string]int
	// docs are the schemas of the symbols, and used the choices that they stand for.
	docs map[string]map[string]any
}

// unknown stands for a value that can't be followed back. Each is another.
const unknown = "unknown_"

func newSymbols(g *spec.Graph, t *tried) *symbols {
	return &symbols{graph: g, run: t, keys: map[string]string{}, last: map[string]int{}, visits: map[string]int{}, docs: map[string]map[string]any{}}
}

// outputOf is the symbol of what the execution at a place came to.
func outputOf(at int) string { return "output_" + strconv.Itoa(at) }

// errorOf is the symbol of how the execution at a place failed.
func errorOf(at int) string { return "error_" + strconv.Itoa(at) }

// step follows the execution at a place: what it reads is known by then.
func (s *symbols) step(at int) {
	h := &s.run.history[at]
	n := s.graph.Node(h.Node)
	s.last[h.Node] = at
	s.visits[h.Node]++
	if n == nil {
		return
	}
	s.docs[outputOf(at)] = outputDoc(s.graph, n)
	if h.Error != nil {
		return
	}
	if set := n.Field("set"); n.Kind.Value == "set" && set != nil {
		for i := range set.Fields {
			s.write(at, set.Fields[i].Key.Value, s.literal(at, &set.Fields[i].Value))
		}
		return
	}
	out := outputOf(at)
	if s.run.chosen[at] == nil || n.Each.IsSet() {
		out = fmt.Sprint(unknown, at)
	}
	for _, key := range n.Writes.Keys {
		if path, _ := writtenAt(n, key.Value); len(path) > 0 {
			s.write(at, key.Value, out+"."+path[0])
		} else {
			s.write(at, key.Value, out)
		}
	}
	for _, w := range n.Writes.Exprs {
		s.write(at, w.Name.Value, s.over(at, w.Expr.Value, out))
	}
}

// literal is the value of a set node's key as an expression.
func (s *symbols) literal(at int, v *spec.Value) string {
	if v.Kind != spec.String {
		return jsonText(v.Data())
	}
	if strings.Contains(v.Text.Value, "{{") {
		return fmt.Sprint(unknown, at)
	}
	return s.over(at, v.Text.Value, fmt.Sprint(unknown, at))
}

// write notes what a key holds, folded in as its reducer does.
func (s *symbols) write(at int, key, value string) {
	k := s.graph.Key(key)
	if k == nil {
		return
	}
	before, written := s.keys[key]
	if !written {
		before = key
	}
	switch reducer := k.Reducer.Value; reducer {
	case "", "replace":
		s.keys[key] = value
	case "append", "union":
		s.keys[key] = fmt.Sprintf("concat(%s, [%s])", before, value)
	case "sum":
		s.keys[key] = fmt.Sprintf("(%s) + (%s)", before, value)
	case "max", "min":
		s.keys[key] = fmt.Sprintf("%s(%s, %s)", reducer, before, value)
	default:
		s.keys[key] = fmt.Sprint(unknown, key, at)
	}
	const longest = 2000
	if len(s.keys[key]) > longest {
		s.keys[key] = fmt.Sprint(unknown, key, at)
	}
}

// guard is a condition behind the execution at a place.
func (s *symbols) guard(at int, text string) string { return s.over(at, text, outputOf(at)) }

// over writes an expression over symbols.
func (s *symbols) over(at int, text, output string) string {
	h := &s.run.history[at]
	n := s.graph.Node(h.Node)
	properties, _ := outputDoc(s.graph, n)["properties"].(map[string]any)
	return renamed(text, func(path []string) (with string, taken int) {
		switch name := path[0]; {
		case name == "state" && len(path) > 1 && s.graph.Key("state") == nil:
			with := s.key(path[1])
			return with, 2
		case s.graph.Key(name) != nil:
			with := s.key(name)
			return with, 1
		case name == "output":
			return output, 1
		case name == "error":
			return errorOf(at), 1
		case name == "visits" && len(path) > 1:
			return strconv.Itoa(s.visits[path[1]]), 2
		case name == "visit":
			return strconv.Itoa(h.Visit), 1
		case name == "step":
			return strconv.Itoa(h.Step), 1
		case name == "outcome":
			return strconv.Quote(h.Outcome), 1
		case name == "nodes" && len(path) > 2 && path[2] == "output":
			if last, ran := s.last[path[1]]; ran {
				return outputOf(last), 3
			}
			return "nil", 3
		case properties[name] != nil:
			return output + "." + name, 1
		}
		return "", 0
	})
}

// key is what stands for a state key.
func (s *symbols) key(name string) string {
	if with, written := s.keys[name]; written {
		return with
	}
	return name
}

// outputDoc is the schema of what a node comes to.
func outputDoc(g *spec.Graph, n *spec.Node) map[string]any {
	switch {
	case n == nil:
		return nil
	case n.Output != nil:
		return n.Output
	case n.Kind.Value == "human":
		if choices := n.Field("choices"); choices != nil && choices.Kind == spec.List {
			return map[string]any{"enum": choices.Data()}
		}
		if doc := n.Field("schema"); doc != nil {
			own, _ := doc.Data().(map[string]any)
			return own
		}
	}
	element := func(name string) map[string]any {
		items, _ := schemaOf(g, name)["items"].(map[string]any)
		return items
	}
	switch keys := n.Writes.Keys; {
	case len(keys) == 1 && folds(g, keys[0].Value):
		return element(keys[0].Value)
	case len(keys) == 1 && g.Key(keys[0].Value) != nil && g.Key(keys[0].Value).Reducer.Value == "":
		return plainSchema(schemaOf(g, keys[0].Value))
	case len(keys) > 1:
		properties := map[string]any{}
		for _, key := range keys {
			properties[key.Value] = plainSchema(schemaOf(g, key.Value))
		}
		return map[string]any{"type": "object", "properties": properties}
	}
	for _, w := range n.Writes.Exprs {
		found := outputPath().FindStringSubmatch(w.Expr.Value)
		if found != nil && found[1] == "" && folds(g, w.Name.Value) {
			return element(w.Name.Value)
		}
		if found != nil && found[1] == "" && g.Key(w.Name.Value) != nil && g.Key(w.Name.Value).Reducer.Value == "" {
			return plainSchema(schemaOf(g, w.Name.Value))
		}
	}
	return nil
}

// renamed is an expression with other expressions in the place of the names that it
// reads. with is asked for each name with the members behind it, and says how many of
// these parts it takes; 0: none.
func renamed(text string, with func(path []string) (string, int)) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			end := i + 1
			for end < len(text) && text[end] != c {
				if text[end] == '\\' && c != '`' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			b.WriteString(text[i:end])
			i = end
		case isNamePart(c) && c != '.':
			path, ends := pathAt(text, i)
			new, taken := "", 0
			if !isMember(text, i) && (c < '0' || c > '9') && !isMapKey(text, i, ends[0]) && !isCalled(text, ends[0]) {
				new, taken = with(path)
			}
			if taken == 0 {
				b.WriteString(text[i:ends[0]])
				i = ends[0]
				continue
			}
			if strings.ContainsAny(new, " ?(") {
				new = "(" + new + ")"
			}
			b.WriteString(new)
			i = ends[taken-1]
		case c == '.' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9':
			b.WriteString(text[i : i+2])
			i += 2
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// pathAt is the name at a place with the members behind it, and where each part ends.
func pathAt(text string, i int) (path []string, ends []int) {
	for {
		end := i
		for end < len(text) && isNamePart(text[end]) && text[end] != '.' {
			end++
		}
		path, ends = append(path, text[i:end]), append(ends, end)
		if end+1 >= len(text) || text[end] != '.' || !isNamePart(text[end+1]) || text[end+1] == '.' {
			return path, ends
		}
		i = end + 1
	}
}

// isMember reports whether what stands before a place makes the name there a member.
func isMember(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t\n")
	return strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "..")
}

// isMapKey reports whether a name is the key of a map that is written down.
func isMapKey(text string, i, end int) bool {
	before, behind := strings.TrimRight(text[:i], " \t\n"), strings.TrimLeft(text[end:], " \t\n")
	return strings.HasPrefix(behind, ":") && (strings.HasSuffix(before, "{") || strings.HasSuffix(before, ","))
}

// isCalled reports whether a name is that of a function.
func isCalled(text string, end int) bool {
	return strings.HasPrefix(strings.TrimLeft(text[end:], " "), "(")
}

// record is one execution of a run.
type record = view.HistoryRecord

// decision are the conditions that are tried behind an execution, in order: of edges
// for its outcome.
func decisionOf(g *spec.Graph, n *spec.Node, failed bool) []*spec.Edge {
	var guards []*spec.Edge
	for _, e := range g.Edges {
		if e.From.Value == n.ID.Value && e.When.IsSet() && (e.Condition == "on_failure") == failed {
			guards = append(guards, e)
		}
	}
	slices.SortStableFunc(guards, func(a, b *spec.Edge) int { return b.Priority - a.Priority })
	return guards
}
