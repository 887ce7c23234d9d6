package spec

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// flow returns a file with pass nodes and the given edges, such as "a b>c".
func flow(nodes, edges string) string {
	text := head + "nodes:\n"
	for n := range strings.FieldsSeq(nodes) {
		id, keys, _ := strings.Cut(n, "/")
		kind := "pass"
		if strings.HasPrefix(strings.Trim(id, "«»"), "fail") {
			kind = "fail, message: x"
		}
		if keys != "" {
			keys = ", " + strings.NewReplacer(":", ": ", ",", ", ").Replace(keys)
		}
		text += "  " + id + ": {kind: " + kind + keys + "}\n"
	}
	text += "edges:\n"
	for e := range strings.FieldsSeq(edges) {
		from, to, _ := strings.Cut(e, ">")
		text += fmt.Sprintf("  - {from: %s, to: %s, condition: %s}\n", from, to, "always")
	}
	return text
}

func TestStructure(t *testing.T) {
	checkFindings(t, []finding{
		{"start", strings.Replace(flow("a b", "a>b b>END"), "start: a", "start: «c»", 1), "unknown-node", `"c" is not a node of this graph; nodes are a, b`, ""},
		{"start misspelt", strings.Replace(flow("apple b", "apple>b b>END"), "start: a", "start: «aple»", 1), "unknown-node", "is not a node", "apple"},
		{"start is END", strings.Replace(flow("a", "a>END"), "start: a", "start: «END»", 1), "reserved-name", "the name of a node", ""},
		{"to", flow("a b", "a>«c» a>b b>END"), "unknown-node", "nodes are a, b", ""},
		{"quoted to", flow("a bcd", "a>bcd bcd>END") + "  - {from: a, to: '«bce»', when: x}\n", "unknown-node", "is not a node", "bcd"},
		{"from", flow("a review", "a>review «reveiw»>END"), "unknown-node", "", "review"},
		{"from START", flow("a", "«START»>a a>END"), "reserved-name", `named by the key "start"`, ""},
		{"to __end__", flow("a", "a>«__end__»"), "reserved-name", "the end is written END", "END"},
		{"from END", flow("a", "a>END «END»>a"), "edge-from-end", "no edge can leave END", ""},
		{"ends", flow("a/ends:{x:b,y:«c»} b", "b>END"), "unknown-node", "", ""},
		{"pause", flow("a", "a>END") + "pause_before: [«b»]\n", "unknown-node", "", ""},
		{"x- node", head + "nodes:\n  a: {kind: pass}\n  x-b: {kind: pass}\nedges: [{from: a, to: «x-b»}]\n", "unknown-node", `begin with "x-" are ignored`, ""},
		{"no way out", flow("a «b»", "a>b"), "no-outgoing-edge", `"b" has no way out`, ""},
		{"no edges", head + "nodes: {«a»: {kind: pass}}\n", "no-outgoing-edge", "", ""},
		{"unreachable", flow("a «b»", "a>END b>END"), "unreachable-node", `can't be reached from "a"`, ""},
		{"unreachable cycle out", flow("a «b»", "a>END b>b b>END"), "unreachable-node", "", ""},
		{"end unreachable", strings.Replace(flow("a b", "a>b b>a"), "start: a", "start: «a»", 1), "end-unreachable", "no path from", ""},
		{"cycle", flow("a «b» c", "a>b a>END b>c c>b"), "inescapable-cycle", `through "b"`, ""},
		{"cycle of one", flow("a «b»", "a>b a>END b>b"), "inescapable-cycle", "", ""},
		{"cycle below a cycle", flow("a b c «d»", "a>b a>END b>c c>b c>d d>d"), "inescapable-cycle", `through "d"`, ""},
		{"edge from fail", flow("a fail", "a>fail «fail»>END"), "invalid-value", "a fail node is terminal", ""},
		{"duplicate edge", flow("a b", "a>b a>«b» b>END"), "duplicate-edge", "a second edge", ""},
		{"finish and edge", flow("a b", "a>b «b»>a") + "finish: b\n", "invalid-value", "no other unconditional edge", ""},
		{"finish and ends", flow("a b/ends:[a]", "a>b") + "finish: [«b»]\n", "invalid-value", "chooses its target itself", ""},
		{"finish of no node", flow("a", "a>END") + "finish: [«b»]\n", "unknown-node", "", ""},
		{"goto of fail", flow("a «fail»/goto:x", "a>fail"), "invalid-value", "can't have goto or ends", ""},
		{"empty to", flow("a b", "a>b b>END") + "  - {from: a, to: «[]»}\n", "invalid-value", "found an empty list", ""},
		{"no nodes", head + "nodes: «{x-a: 1}»\n", "invalid-value", "a node at least", ""},
		{"two fallbacks", flow("a b", "b>END") + "  - {from: a, to: b, fallback: true}\n  - {from: a, to: «END», fallback: true}\n", "invalid-value", "a second fallback", ""},
	})
	for name, ok := range map[string]string{
		"fail is an end":    flow("a fail", "a>fail"),
		"cycle with exit":   flow("a b c", "a>b b>c c>b c>END"),
		"cycle to fail":     flow("a b fail", "a>b b>a b>fail"),
		"ends":              flow("a/ends:{x:b,y:END} b", "b>a"),
		"goto anywhere":     flow("a/goto:x b c", "b>c c>END"),
		"finish":            flow("a b", "a>b") + "finish: [b]\n",
		"finish and filter": flow("a b", "a>b") + "  - {from: b, to: a, when: x}\nfinish: [b]\n",
		"same edge twice":   flow("a b", "b>END") + "  - {from: a, to: b, when: x}\n  - {from: a, to: b, when: y}\n  - {from: a, to: b}\n",
	} {
		if g, diags := parseAndCheck(ok); len(diags) > 0 {
			t.Errorf("%s:%s", name, formatFindings(g, diags))
		}
	}
}

func TestUnknownStateKeys(t *testing.T) {
	with := func(keys string) string {
		return head + "state: {count: {type: integer}, log: {type: array, items: {type: string}, reducer: append}, m: {type: object, reducer: merge, properties: {p: {type: string}}}}\n" +
			"nodes:\n  a: {" + keys + "}\nedges: [{from: a, to: END}]\n"
	}
	checkFindings(t, []finding{
		{"reads", with("kind: pass, reads: [count, «cuont»]"), "unknown-state-key", "is not a declared state key", "count"},
		{"writes", with("kind: pass, writes: [«x»]"), "unknown-state-key", "declared are count, log, m", ""},
		{"writes map", with("kind: pass, writes: {«x»: output}"), "unknown-state-key", "", ""},
		{"set", with("kind: set, set: {count: 1, '«lg»': 1}"), "unknown-state-key", "", "log"},
		{"cache", with("kind: pass, cache: {key: [«n»]}"), "unknown-state-key", "", ""},
	})
	for _, ok := range []string{"kind: set, set: {count: 'x', log: [a], m: {p: a, q: 1}}", "kind: exec, command: [x], writes: count"} {
		if g, diags := parseAndCheck(with(ok)); len(diags) > 0 {
			t.Errorf("%s:%s", ok, formatFindings(g, diags))
		}
	}
	if g, diags := parseAndCheck("strict_state: false\n" + with("kind: set, set: {zzz: 1}")); len(diags) > 0 {
		t.Errorf("not strict:%s", formatFindings(g, diags))
	}
}

// A finding must not cause others that vanish when it is repaired.
func TestFollowOns(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"edge without to": {flow("a b c", "a>b b>END") + "  - {from: b, tax: c}\n", []string{"missing-field", "unknown-key"}},
		"edge with too":   {flow("a b", "a>b b>END") + "  - {from: b, too: END, when: step > 9}\n", []string{"unknown-key"}},
		"misspelt state":  {strings.Replace(flow("a", "a>END"), "start: a", "start: a\nsate: {n: {type: integer}}\nretry: {on: {x: 1}}", 1), []string{"unknown-key", "invalid-value"}},
		"misspelt kind":   {head + "nodes: {a: {knid: set, sett: {n: 1}}, b: {type: pass}}\nstate: {n: {type: integer}}\nedges: [{source: a, target: b}, {src: b, to: END, if: n > 1}]\n", []string{"unknown-key", "unknown-key", "unknown-key", "unknown-key", "unknown-key", "unknown-key", "unknown-key"}},

		"unknown to":          {flow("a b c", "a>x b>c c>END"), []string{"unknown-node"}},
		"unknown from":        {flow("a b c", "a>b x>c c>END"), []string{"unknown-node"}},
		"unknown end":         {flow("a/ends:{x:bb} b", "b>END"), []string{"unknown-node"}},
		"no way out":          {flow("a b c", "a>b b>c c>b a>d") + "", []string{"unknown-node"}},
		"unknown kind":        {head + "nodes: {a: {kind: exce, comand: [x], foo: 1}}\nedges: [{from: a, to: END}]\n", []string{"invalid-value"}},
		"maybe fail":          {head + "nodes: {a: {kind: pass}, b: {kind: fial, message: x}}\nedges: [{from: a, to: b}]\n", []string{"invalid-value"}},
		"nodes of no map":     {head + "nodes: [a, b]\nedges: [{from: a, to: b}]\n", []string{"invalid-value"}},
		"state of no map":     {head + "state: [a]\nnodes: {a: {kind: set, set: {a: 1}}}\nedges: [{from: a, to: END}]\n", []string{"invalid-value"}},
		"ends of no name":     {flow("a/ends:[1] b", "b>END"), []string{"invalid-value"}},
		"broken edges":        {head + "nodes: {a: {kind: pass}, b: {kind: pass}}\nedges: [a, {from: b, to: END}]\n", []string{"invalid-value"}},
		"node is not a map":   {head + "nodes: {a: pass, b: {kind: pass}}\nedges: [{from: a, to: b}, {from: b, to: END}]\n", []string{"invalid-value"}},
		"start is not a name": {strings.Replace(flow("a", "a>END"), "start: a", "start: [a]", 1), []string{"invalid-value"}},
		"syntax":              {"graphrun: v1\nfoo: [\n", []string{"syntax"}},
		"misspelt policy":     {flow("a b", "a>b b>END") + "policies: [{requir: a, before: b}, {require: a, befor: b}, {max_visit: 3, node: a}]\n", []string{"unknown-key", "unknown-key", "unknown-key"}},
		"half a policy":       {flow("a b", "a>b b>END") + "policies: [{require: a, description: x}]\n", []string{"policy-invalid"}},
		"misspelt command":    {head + "nodes: {a: {kind: exec, comand: [x]}}\nedges: [{from: a, to: END}]\n", []string{"unknown-key"}},
		"dead end upstream":   {flow("a b c", "a>b b>c"), []string{"no-outgoing-edge"}},
	} {
		g, diags := parseAndCheck(c.text)
		var got []string
		for _, d := range diags {
			got = append(got, d.Rule)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: want %v, got%s", name, c.want, formatFindings(g, diags))
		}
	}
}

func TestGraph(t *testing.T) {
	g, diags := parseAndCheck(head + `finish: b
state:
  n: {type: object, required: true, secret: true, default: {}, properties: {}, x-a: 1}
  m: {type: object, required: [p], reducer: merge}
nodes:
  a: {kind: exec, command: [x], retry: {max_attempts: 5}, timeout: 2s, reads: [], ends: {go: b}, join: {wait: 2}, parallel: {conflict: error}, feedback: false, output: {type: object}, env: {A: b}}
  b: {kind: pass}
edges:
  - {from: [a, b], to: [b, a], when: "x", priority: 3, id: e1, condition: on_failure}
  - {from: a, to: END, when: "y"}
`)
	if len(diags) > 0 {
		t.Fatal(formatFindings(g, diags))
	}
	var got []string
	for i, e := range g.Edges {
		if e.Index != i {
			t.Errorf("edge %d has the index %d", i, e.Index)
		}
		got = append(got, fmt.Sprintf("%d %s>%s %s %s %d", e.Decl, e.From.Value, e.To.Value, e.Condition, e.When.Value, e.Priority))
	}
	want := []string{"0 a>b on_failure x 3", "0 a>a on_failure x 3", "0 b>b on_failure x 3", "0 b>a on_failure x 3", "1 a>END conditional y 0", "-1 b>END on_success  0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("edges %q, want %q", got, want)
	}
	a := g.Node("a")
	if a.Retry[0].MaxAttempts != 5 || a.Retry[0].Jitter != 0.1 || a.Timeout.String() != "2s" || !a.HasReads || len(a.Reads) != 0 || *a.Feedback || a.Join.Wait != "N" || a.Join.Count != 2 {
		t.Errorf("node a is %+v", a)
	}
	if a.Ends[0].Label.Value != "go" || a.Ends[0].Target.Value != "b" || a.Parallel.Conflict != "error" || a.Parallel.OnFailure != "" || a.Output["type"] != "object" {
		t.Errorf("node a is %+v", a)
	}
	if len(a.Fields) != 2 || a.Field("env").Get("A").Text.Value != "b" || a.Field("reads") != nil {
		t.Errorf("fields of a: %+v", a.Fields)
	}
	if g.Limits.MaxSteps != 100 || g.Limits.OnMaxSteps != "fail" || g.Limits.MaxConcurrency != 16 || g.Parallel.OnFailure != "fail_all" || !g.StrictState || !g.Feedback {
		t.Errorf("defaults: %+v %+v", g.Limits, g.Parallel)
	}
	if n := g.Key("n"); !n.Required || !n.Secret || n.Schema["type"] != "object" || len(n.Schema) != 2 || n.Default == nil {
		t.Errorf("key n is %+v", n)
	}
	if m := g.Key("m"); m.Required || m.Schema["required"] == nil || m.Reducer.Value != "merge" {
		t.Errorf("key m is %+v", m)
	}
	if g.Node("c") != nil || g.Key("c") != nil {
		t.Error("there is no c")
	}
}

func TestCustomKind(t *testing.T) {
	opts := Options{Kinds: []Kind{
		{Name: "mail", Keys: []Key{{Name: "to", Type: TypeString, Role: RoleTemplate, Required: true}}},
		{Name: "pass", Keys: []Key{{Name: "never", Type: TypeString}}},
	}}
	for keys, want := range map[string]int{"kind: mail, to: x": 0, "kind: mail": 1, "kind: mail, too: x, to: y": 1, "kind: pass, never: x": 1} {
		if _, diags := Parse("f.yaml", []byte(node(keys)), opts); len(diags) != want {
			t.Errorf("%s: %v, want %d findings", keys, diags, want)
		}
	}
}

func TestScalarKinds(t *testing.T) {
	for text, want := range map[string]any{
		"1": 1, "-7": -7, "+7": 7, "010": 10, "0x1F": 31, "0o17": 15, "9223372036854775807": 9223372036854775807, "9223372036854775808": 9223372036854775808.0,
		"0xFFFFFFFFFFFFFFFF": 18446744073709551615.0, "1.5": 1.5, ".5": 0.5, "1.": 1.0, "1e3": 1000.0, "-1.5E-1": -0.15, "true": true, "False": false, "~": nil, "null": nil,
		"yes": "yes", "no": "no", "on": "on", "off": "off", "y": "y", "2024-01-02": "2024-01-02", "2024-01-02T03:04:05Z": "2024-01-02T03:04:05Z", "12:30": "12:30",
		"1_000": "1_000", "0b11": "0b11", "0x": "0x", "1.2.3": "1.2.3", "--1": "--1", "+": "+", ".": ".", "1e": "1e", "e1": "e1", "'1'": "1", `"true"`: "true", "!!str 1": "1", "!!float 1": 1.0, "-0": 0,
		"nil": "nil", "0x1_0": "0x1_0", "tRUE": "tRUE",
	} {
		root, diags := loadMap(NewFile("f", []byte("a: "+text)), graphFile)
		if root == nil || len(diags) > 0 {
			t.Errorf("%s: %v", text, diags)
			continue
		}
		if got := root.Fields[0].Value.Data(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %T %v, want %T %v", text, got, got, want, want)
		}
	}
}

func TestMergeKeys(t *testing.T) {
	root, diags := loadMap(NewFile("f", []byte("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {w: 0, <<: [*a, *b], x: 9}\nd: {\"<<\": 1}\n1: true\n~: {x: 0, <<: *a}\n")), graphFile)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	want := map[string]any{"a": map[string]any{"x": 1, "y": 2}, "b": map[string]any{"y": 3, "z": 4}, "c": map[string]any{"w": 0, "x": 9, "y": 2, "z": 4}, "d": map[string]any{"<<": 1}, "1": true, "~": map[string]any{"x": 0, "y": 2}}
	if got := root.Data(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	order := ""
	for _, f := range root.Get("c").Fields {
		order += f.Key.Value
	}
	if order != "wxyz" {
		t.Errorf("the keys are in the order %s", order)
	}
}

func TestIsGraph(t *testing.T) {
	for text, want := range map[string]bool{
		"graphrun: v1\n": true, "# c\n---\nname: x\ngraphrun: v1": true, "\ufeffgraphrun: v1": true, "{\"graphrun\": \"v1\"}": true, "\n {\n \"name\": {\"graphrun\": 1},\n \"graphrun\"\n: \"v1\"": true,
		"'graphrun' : v1": true, "graphrun:": true, "name: [\ngraphrun: v1": true, "{name: x, graphrun: v1}": true, "  name: x\n  graphrun: v1\n": true, "graphrun: v1\r\n": true,
		"": false, "a:\n  graphrun: v1\n": false, "a: |\n graphrun: v1\n": false, "# graphrun: v1\n": false, "graphrunner: v1": false, "graphrun:v1": false, "a: [\n": false,
		"{\"a\": {\"graphrun\": 1}}": false, "{\"a\": \"graphrun\"}": false, "{a: {graphrun: v1}}": false, "{a: graphrun : v1}": false, "{\"a\": \"\\\"graphrun\\\":\"}": false, "name: graphrun": false, "[graphrun: v1]": false, "graphrun": false, "\"graphrun": false,
	} {
		if got := IsGraph([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
