package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/bigflowtest"
	"github.com/graphrun/graphrun/internal/longtest"
)

// finding is a test case: a file with a mark around the text of its only finding.
type finding struct {
	name    string
	text    string // «» around the expected span
	rule    string
	message string // must be part of the message
	suggest string
}

// head is the beginning of a file. A test case adds the nodes a and b.
const head = "graphrun: v1\nname: t\nstart: a\n"

// tail is the end of such a file.
const tail = "nodes:\n  a: {kind: pass}\nedges: [{from: a, to: END}]\n"

// node returns a file with one node that has the given keys.
func node(keys string) string {
	return head + "nodes:\n  a: {" + keys + "}\nedges: [{from: a, to: END}]\n"
}

// edge returns a file with the nodes a and b and an additional edge that has the given keys.
func edge(keys string) string {
	return head + "nodes: {a: {kind: pass}, b: {kind: pass}}\nedges:\n  - {" + keys + "}\n  - {from: a, to: b, condition: always}\n  - {from: [a, b], to: END, condition: on_failure}\n  - {from: b, to: END}\n"
}

// parseAndCheck parses and checks a file.
func parseAndCheck(text string) (*Graph, Diagnostics) {
	g, diags := Parse("f.yaml", []byte(text), Options{})
	return g, append(diags, Check(g)...).Sort()
}

func formatFindings(g *Graph, diags Diagnostics) string {
	var b strings.Builder
	for _, d := range diags {
		p := g.File.Position(d.Span.From)
		fmt.Fprintf(&b, "\n  %d:%d %q %s: %s (%s)", p.Line, p.Column, g.File.Src[d.Span.From:d.Span.To], d.Rule, d.Message, d.Suggestion)
	}
	return b.String()
}

// checkFindings asserts that each file has only the finding that it marks.
func checkFindings(t *testing.T, cases []finding) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text, want := unmark(t, c.text)
			g, diags := parseAndCheck(text)
			if len(diags) != 1 {
				t.Fatalf("%d findings, want one %s:%s", len(diags), c.rule, formatFindings(g, diags))
			}
			d := diags[0]
			if d.Rule != c.rule || d.Span != want || !strings.Contains(d.Message, c.message) || d.Suggestion != c.suggest {
				t.Errorf("got%s\nwant %q %s: …%s… (%s)", formatFindings(g, diags), text[want.From:want.To], c.rule, c.message, c.suggest)
			}
		})
	}
}

func TestSyntax(t *testing.T) {
	checkFindings(t, []finding{
		{"empty", "«»", "syntax", "the file is empty", ""},
		{"comments only", "«»# x\n", "syntax", "the file is empty", ""},
		{"list", "«- a»\n", "syntax", "holds a list", ""},
		{"scalar", "«a»\n", "syntax", `holds the text "a"`, ""},
		{"nul", "graphrun: v1«\x00»\n", "syntax", "control character U+0000", ""},
		{"latin1", "graphrun: v1\nname: caf«\xe9»\n", "syntax", "0xE9 is not UTF-8", ""},
		{"utf16", "«\xff\xfe»a\x00", "syntax", "UTF-16", ""},
		{"c1", "graphrun: v1\n# «\u0081»\n", "syntax", "control character U+0081", ""},
		{"carriage return", "a: b«\r»c: d\n", "syntax", "control character U+000D", ""},
		{"line separator", "a: 'b«\u2028»c'\n", "syntax", "control character U+2028", ""},
		{"tab", head + "nodes:\n«\t»a: {kind: pass}\n", "syntax", "a tab in the indentation", ""},
		{"tab in block", "a:\n  b: 1\n «\t»c: 2\n", "syntax", "a tab in the indentation", ""},
		{"at sign", "a: 1\nb: «@»x\n", "syntax", `'@' can't begin a text`, ""},
		{"backtick", "a: [x, «`»y]\n", "syntax", "can't begin a text", ""},
		{"two colons", "a: 1\n«b: c: d»\ne: 1\n", "syntax", "a second", ""},
		{"list under map", "x: 1\n«- b»\n", "syntax", "indentation fits no map", ""},
		{"dedent", "a:\n  b: 1\n «c: 2»\nd: 1\n", "syntax", "indentation fits no map", ""},
		{"map under list", "x:\n  - a\n  «b: c»\nd: 1\n", "syntax", "indentation fits no list", ""},
		{"no value", "a: 1\n\n«foo»\nb: 1\n", "syntax", "a key without a value", ""},
		{"open list", "a: 1\nb: «[»1, 2\nc: 3\n", "syntax", "is not closed", ""},
		{"open map", "x: 1\na: {b: «[»1, 2}\nd: 1\n", "syntax", "a list in [ ] is not closed", ""},
		{"open map after block text", "x: |\n  a: {b: [1\n  'c\na: «{»b: 1\nd: 1\n", "syntax", "a map in { } is not closed", ""},
		{"brackets in brackets", "é: 1 # {\ne: [{when: «é in [1, 2]»}]\n", "syntax", "needs quotes inside { }", ""},
		{"colon in brackets", "a: {b: «c: d», e: 1}\n", "syntax", "a comma is missing, or quotes", ""},
		{"no space", head + tail + "x-a: {«kind:pass»}\n", "syntax", "\"kind:pass\" has no value: a colon needs a space behind it", ""},
		{"no space at the start", "«graphrun:v»1\nname: x\n", "syntax", "a colon needs a space", ""},
		{"bracket too many", "a: {b: [1]}«}» # x\nc: 1\n", "syntax", "a closing bracket too many", ""},
		{"star", "a: [b, «*.go»]\nc: 1\n", "syntax", "* begins an alias", ""},
		{"comma on a line", "{\"a\": \"b\" «\"»c\": 2}\n", "syntax", "after object key:value pair", ""},
		{"behind a quote in brackets", "a: {b: «'c' == d», e: 1}\n", "syntax", "behind the closing quote", ""},
		{"behind a quote", "a:\n  b: «'c' == d»\n  e: 1\n", "syntax", "behind the closing quote", ""},
		{"behind a bracket", "a: 1\nb: «[1] + [2]» # x\nc: 2\n", "syntax", "behind the closing bracket", ""},
		{"template and text", "a: «{{ x }} y»\nc: 2\n", "syntax", "{{ begins a map", ""},
		{"template in brackets", "a: {b: «{{ x }} y», c: 2}\n", "syntax", "{{ begins a map", ""},
		{"template", head + tail + "x-a: «{{ é.y }}»\n", "syntax", "{{ begins a map", ""},
		{"comma", "{\"a\": {\"b\": [1]}\n «\"»c\": 2}\n", "syntax", "after object key:value pair", ""},
		{"open quote", "a: 1\nb: «'c»\nd: 1\n", "syntax", "not closed before the end", ""},
		{"escape", "a: 1\nb: \"«\\q»\"\n", "syntax", "unknown escape", ""},
		{"no anchor", "a: 1\nb: «*foo»\n", "syntax", "has no anchor", ""},
		{"second document", "a: 1\n«---»\nb: 2\n", "syntax", "a second document", ""},
		{"cyclic alias", "a: &x «[»1, *x]\n", "syntax", "nested more than 100 levels deep", ""},
		{"too deep", "a: " + strings.Repeat("[", 99) + "«[»1]" + strings.Repeat("]", 99) + "\n", "syntax", "more than 100 levels", ""},
		{"list as key", head + tail + "x-a: {«[a]»: 1}\n", "syntax", "must be a scalar; found a list", ""},
		{"empty key", head + tail + "x-a:\n  ?«»\n  : 1\n", "syntax", "key is empty", ""},
		{"tag", head + tail + "x-a: «!foo b»\n", "syntax", `! begins a tag in YAML; put the text in quotes: "!foo b"`, ""},
		{"tag of a list", head + tail + "x-a: !foo «[b]»\n", "syntax", `tag "!foo" is not supported`, ""},
		{"tag of another kind", head + tail + "x-a: !!set «{b}»\n", "syntax", `tag "!!set" is not supported`, ""},
		{"merge of text", head + tail + "x-a: {<<: «b»}\n", "syntax", "merge key takes a map", ""},
		{"infinity", head + tail + "x-a: «.inf»\n", "invalid-value", "not a number that JSON can hold", ""},
		{"too large", head + tail + "x-a: «1e999»\n", "invalid-value", "too large", ""},
		{"tag that lies", head + tail + "x-a: !!int «b»\n", "invalid-value", "not a value of the tag !!int", ""},
		{"duplicate", head + tail + "x-a: {b: 1, «b»: 2}\n", "duplicate-key", `"b" stands twice`, ""},
		{"duplicate among many", head + tail + "x-a: {a, b, c, d, e, f, g, h, i, j, k, l, m, n, «c»: 2}\n", "duplicate-key", `"c" stands twice`, ""},
		{"duplicate node", head + "nodes:\n  a: {kind: pass}\n  «a»: {kind: pass}\nedges: [{from: a, to: END}]\n", "duplicate-key", `"a" stands twice`, ""},
	})
}

func TestKeys(t *testing.T) {
	checkFindings(t, []finding{
		{"no graph file", "«apiVersion»: v1\nkind: Pod\n", "missing-field", "not a graph file", ""},
		{"version", strings.Replace(head, "v1", "«v2»", 1) + tail, "invalid-value", `must be v1; found "v2"`, "v1"},
		{"no name", "«graphrun»: v1\nstart: a\n" + tail, "missing-field", `lacks the key "name"`, ""},
		{"no start", "graphrun: v1\nname: a\n" + strings.Replace(tail, "nodes", "«nodes»", 1), "missing-start", "name its first node", ""},
		{"name", strings.Replace(head, ": t", ": «a b»", 1) + tail, "invalid-value", "must be a name", ""},
		{"number as name", strings.Replace(head, ": t", ": «12»", 1) + tail, "invalid-value", "found the number 12", ""},
		{"top key", head + tail + "«limit»: {max_steps: 1}\n", "unknown-key", `unknown key "limit"`, "limits"},
		{"top key far off", head + tail + "«quux»: 1\n", "unknown-key", "allowed are cache, concurrency", ""},
		{"quoted key", head + tail + "\"«goall»\": x\n", "unknown-key", "goall", "goal"},
		{"no limits", head + tail + "«limits»:\n", "invalid-value", `"limits" must be a map; found no value`, ""},
		{"limit", head + tail + "limits: {max_steps: «0»}\n", "invalid-value", "a whole number greater than 0; found the number 0", ""},
		{"limit of text", head + tail + "limits: {max_steps: «ten»}\n", "invalid-value", `found the text "ten"`, ""},
		{"on_max_steps", head + tail + "limits: {on_max_steps: «stop»}\n", "invalid-value", "must be fail, flag or return_last", ""},
		{"duration", head + tail + "limits: {timeout: «10»}\n", "invalid-value", `such as "500ms", "10s"`, "10s"},
		{"days", head + tail + "limits: {timeout: «2 days»}\n", "invalid-value", "", ""},
		{"negative duration", head + tail + "retry: {initial_interval: «-1s»}\n", "invalid-value", "must be a duration", ""},
		{"no duration", head + tail + "limits: {timeout: «0»}\n", "invalid-value", "greater than 0", ""},
		{"jitter", head + tail + "retry: {jitter: «1.5»}\n", "invalid-value", "from 0 to 1; found the number 1.5", ""},
		{"backoff", head + tail + "retry: {backoff: «0.5»}\n", "invalid-value", "at least 1", ""},
		{"retry kind", head + tail + "retry: {on: [timeout, «time_out»]}\n", "invalid-value", `can't be "time_out"`, "timeout"},
		{"bool", head + tail + "strict_state: «yes»\n", "invalid-value", "true or false", "true"},
		{"goal", head + tail + "goal: {«criteria»: [x], description: y}\n", "unknown-key", "", "success_criteria"},
		{"goal key", head + tail + "goal: {«foo»: [x], description: y}\n", "unknown-key", "allowed are constraints, description, success_criteria", ""},
		{"goal without words", head + tail + "«goal»: {constraints: [x]}\n", "missing-field", `"goal" lacks the key "description"`, ""},
		{"secret", head + tail + "secrets: {«K»: {}}\n", "missing-field", `"K" lacks one of the keys command, env or file`, ""},
		{"secret twice", head + tail + "secrets: {K: {env: a, «file»: b}}\n", "invalid-value", `"env" and "file" exclude each other`, ""},
		{"provider", head + tail + "providers: {p: {type: «openia»}}\n", "invalid-value", "anthropic, openai or scripted", "openai"},
		{"tool", head + tail + "tools: {«t»: {description: x}}\n", "missing-field", "exec, graph or mcp", ""},
		{"policy", head + tail + "policies: [{«require»: a}]\n", "policy-invalid", `lacks the key "before" that belongs to "require"`, ""},
		{"conversation", head + tail + "conversation: «reset»\n", "invalid-value", "continuous or isolated", ""},
		{"compaction", head + tail + "conversation: {compaction: {«max_token»: 5}}\n", "unknown-key", "", "max_tokens"},
		{"edges as map", head + "nodes: {a: {kind: pass}}\nedges: «{from: a, to: END}»\n", "invalid-value", "a list of maps; found a map", ""},
		{"nodes as list", head + "nodes: «[a]»\n", "invalid-value", `"nodes" must be a map`, ""},
	})
}

func TestStateKeys(t *testing.T) {
	state := func(s string) string { return head + "state:\n  " + s + "\n" + tail }
	checkFindings(t, []finding{
		{"hyphen", state("«a-b»: {type: string}"), "invalid-value", "so that expressions can hold it", ""},
		{"reserved", state("«output»: {type: string}"), "reserved-name", "expressions have a name of their own", ""},
		{"keyword", state("«contains»: {type: string}"), "reserved-name", "a word of the expression language", ""},
		{"keyword of schema", state("n: {type: string, «defualt»: x}"), "unknown-key", "", "default"},
		{"nested keyword", state("n: {type: object, properties: {p: {«typ»: string}}}"), "unknown-key", "", "type"},
		{"type", state("n: {type: «int»}"), "invalid-value", "array, boolean, integer", "integer"},
		{"types", state("n: {type: [string, «nul»]}"), "invalid-value", "null", "null"},
		{"not a schema", state("n: «string»"), "invalid-value", "a JSON Schema", "{type: string}"},
		{"reducer", state("n: {type: array, reducer: «apend»}"), "invalid-value", "is not a reducer", "append"},
		{"scope", state("n: {scope: «sesion»}"), "invalid-value", "run or session", "session"},
	})
	for _, ok := range []string{
		"n: {type: integer, default: 2.0}", "n: {type: [string, 'null'], default: null}", "n: {}",
		"n: {type: object, required: [p], x-a: 1, properties: {x-b: {type: string}}}", "n: {reducer: 'current + update'}", "n: {reducer: current}",
		"n: {enum: [1, [2]], default: 1.0}", "_n1: {type: array, items: true}", "x-n: 1", "n: {const: a, default: a}",
	} {
		if g, diags := parseAndCheck(state(ok)); len(diags) > 0 {
			t.Errorf("%s:%s", ok, formatFindings(g, diags))
		}
	}
}

func TestNodes(t *testing.T) {
	checkFindings(t, []finding{
		{"no kind", head + "nodes: {«a»: {}}\nedges: [{from: a, to: END}]\n", "missing-field", `"a" lacks the key "kind"; kinds are agent, exec`, ""},
		{"kind", node("kind: «exce»"), "invalid-value", `agent, exec, fail, graph, http, human, llm, pass, set, tool, tools or wait; found "exce"`, "exec"},
		{"kind of list", node("kind: «[exec]»"), "invalid-value", "found a list", ""},
		{"key", node("kind: pass, «timout»: 3s"), "unknown-key", "", "timeout"},
		{"key of another kind", node("kind: pass, «command»: [a]"), "unknown-key", "it belongs to the kind exec", ""},
		{"id", head + "nodes: {a: {kind: pass}, «1a»: {kind: pass}}\nedges: [{from: a, to: 1a}, {from: 1a, to: END}]\n", "invalid-value", "a letter first", ""},
		{"reserved id", head + "nodes: {a: {kind: pass}, «START»: {kind: pass}}\nedges: [{from: a, to: START}, {from: START, to: END}]\n", "reserved-name", "stands for an end", ""},
		{"command line", node("kind: exec, command: «ls -l»"), "invalid-value", "a list of texts", "[ls, -l]"},
		{"no command", head + "nodes: {«a»: {kind: exec}}\nedges: [{from: a, to: END}]\n", "missing-field", "command or script", ""},
		{"retry key", node("kind: pass, retry: {«attempts»: 3}"), "unknown-key", "", "max_attempts"},
		{"retry on agent", node("kind: agent, prompt: x, «retry»: {max_attempts: 3}"), "retry-on-agent", "by its judge", ""},
		{"join", node("kind: pass, join: {wait: «some»}"), "invalid-value", "all or any or a whole number greater than 0", ""},
		{"join of none", node("kind: pass, join: {wait: «0»}"), "invalid-value", "greater than 0", ""},
		{"no set", head + "nodes: {«a»: {kind: set}}\nedges: [{from: a, to: END}]\n", "missing-field", `the key "set"`, ""},
		{"wait", node("kind: wait, for: 1s, «until»: x"), "invalid-value", "exclude each other", ""},
		{"expect", node("kind: http, url: x, expect: [200, «20»]"), "invalid-value", "from 100 to 599", ""},
		{"method", node("kind: http, url: x, method: «get»"), "invalid-value", "DELETE, GET", "GET"},
		{"output schema", node("kind: pass, output: {type: object, «propertys»: {}}"), "unknown-key", "", "properties"},
		{"loop", node("kind: agent, prompt: x, loop: {pattern: «turns»}"), "invalid-value", "turn_limited", ""},
		{"null prompt", node("kind: llm, «prompt»: "), "invalid-value", "found no value", ""},
		{"writes", node("kind: pass, writes: «3»"), "invalid-value", "the name of a state key or a list of names of state keys or a map", ""},
	})
	for _, ok := range []string{
		"kind: exec, command: [sleep, 0.1, true], env: {x-y: 1, PORT: 80}", "kind: exec, script: ls, shell: bash", "kind: pass, x-a: {b: [c]}",
		"kind: pass, timeout: 1h30m, join: {wait: 2}", "kind: wait, for: 0", "kind: pass, emit: {a: 1}, before: {b: true}",
		"kind: http, url: 'http://x/{{ a }}', query: {a: [1, 2]}, body: {a: 1}, expect: 204", "kind: human, prompt: x, timeout: 1s, default: 3, schema: {type: integer}",
		"kind: tool, tool: a.b, args: {x: '{{ y }}', n: 1}", "kind: tools, sequential: true", "kind: graph, graph: ./x.yaml, with: {a: 'b', c: 1}",
		"kind: agent, prompt: x, judge: {criteria: [a, b], max_rounds: 2}, loop: {max_turns: 4}", "kind: llm, prompt: x, stop: end, conversation: reset",
		"kind: pass, cache: {ttl: 1h, key: 'a + b', version: 2}",
	} {
		if g, diags := parseAndCheck(node(ok)); len(diags) > 0 {
			t.Errorf("%s:%s", ok, formatFindings(g, diags))
		}
	}
}

func TestEdges(t *testing.T) {
	checkFindings(t, []finding{
		{"key", edge("from: a, to: b, «wen»: x"), "unknown-key", "", "when"},
		{"key of a node", edge("from: a, to: b, «max_visits»: 3"), "unknown-key", `it stands on a node; allowed here are condition, `, ""},
		{"key of a node at END", edge("from: a, to: END, «timeout»: 3s"), "unknown-key", "it stands on a node; allowed here are", ""},
		{"no to", edge("«from»: a, when: x"), "missing-field", `lacks the key "to"`, ""},
		{"condition", edge("from: a, to: b, condition: «on_succes»"), "invalid-value", "always, conditional, llm_decide, on_failure or on_success", "on_success"},
		{"no when", edge("from: a, to: b, condition: «conditional»"), "missing-field", `lacks the key "when"`, ""},
		{"when on always", edge("from: b, to: a, condition: always, «when»: x"), "invalid-value", `"when" has no meaning`, ""},
		{"when on decision", edge("from: b, to: a, condition: llm_decide, «when»: x"), "invalid-value", "allowed on conditional and on_failure", ""},
		{"fallback on conditional", edge("from: a, to: b, when: x, «fallback»: true"), "invalid-value", "allowed on llm_decide and on_success", ""},
		{"priority", edge("from: a, to: b, when: x, priority: «high»"), "invalid-value", "a whole number", ""},
		{"to of map", edge("from: a, to: «{b: 1}», when: x"), "invalid-value", "the name of a node or a list of names of nodes", ""},
	})
	for _, ok := range []string{
		"from: a, to: b, when: true", "from: a, to: b, condition: on_failure, when: x", "from: [a, b], to: [a], when: x, priority: -1",
		"from: a, to: b, condition: llm_decide, fallback: true", "from: b, to: a, fallback: true, transform: {x: 1}", "from: b, to: a, transform: 'a.b', id: e-1, x-y: 1",
	} {
		if g, diags := parseAndCheck(edge(ok)); len(diags) > 0 {
			t.Errorf("%s:%s", ok, formatFindings(g, diags))
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, diags := parseAndCheck("graphrun: v1\nname: 1\nstart: nope\nstate: {in: {typ: string}}\nnodes:\n  a: {kind: set, sett: {}}\n  b: {kind: exec, command: x}\nedges:\n  - {from: a, to: zzz}\n")
	got := map[string]int{}
	for _, d := range diags {
		got[d.Rule]++
	}
	want := map[string]int{"invalid-value": 2, "unknown-node": 2, "reserved-name": 1, "unknown-key": 2, "no-outgoing-edge": 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// No file of testdata/valid has a finding.
func TestValidFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/valid/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if g, diags := parseAndCheck(string(src)); len(diags) > 0 {
			t.Errorf("%s:%s", name, formatFindings(g, diags))
		}
		if !IsGraph(src) {
			t.Errorf("%s is not taken for a graph file", name)
		}
	}
}

// bombs returns files that a careless parser would spend too much time or memory on.
func bombs() map[string]string {
	many := longtest.Choose(10_000, 50_000)
	bomb := head + tail + "x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("x-%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	merges := head + tail + "x-0: &m0 {" + strings.Repeat("a: 1, ", 1) + "b: 2}\n"
	for i := 1; i < many/25; i++ {
		merges += fmt.Sprintf("x-%d: &m%d {<<: *m%d, k%d: 1}\n", i, i, i-1, i)
	}
	return map[string]string{
		"aliases": bomb, "merges": merges,
		"brackets": head + "x-a: " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "open brackets": strings.Repeat("[{a: ", 4*many),
		"dashes": strings.Repeat("- ", 4*many), "questions": strings.Repeat("? ", many), "keys": "{" + strings.Repeat("a,", many) + "}",
		"wrong names": strings.ReplaceAll(bigflowtest.Uniform(many/25), "to: n", "to: m"), "wrong keys": strings.ReplaceAll(bigflowtest.Uniform(many/10), "to: n", "tu: n"),
		"wrong targets": strings.ReplaceAll(bigflowtest.Uniform(many/25), "set: {n:", "set: {nn:"),
		"indents": func() string {
			var b strings.Builder
			for i := range 1500 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}(),
	}
}

// A hostile file costs at most ten times as much as a harmless file of its size, or of
// 100 KB.
func TestBombsAreCheap(t *testing.T) {
	const size = 30_000
	plain := harmlessFlow(size)
	for name, text := range bombs() {
		if _, diags := parseAndCheck(text); !diags.HasErrors() {
			t.Errorf("%s: no finding", name)
		}
		var slow []string
		for range 3 { // the machine may be busy with something else for a moment
			begin := time.Now()
			parseAndCheck(plain)
			most := 10 * time.Since(begin) * time.Duration(max(size, len(text))) / size
			begin = time.Now()
			parseAndCheck(text)
			took := time.Since(begin)
			if took <= most {
				slow = nil
				break
			}
			slow = append(slow, fmt.Sprintf("%v, at most %v", took, most))
		}
		if len(slow) > 0 {
			t.Errorf("%s, %d bytes, took %s", name, len(text), strings.Join(slow, ", then "))
		}
	}
}

// harmlessFlow returns a flow of about size bytes.
func harmlessFlow(size int) string {
	var b strings.Builder
	b.WriteString("graphrun: v1\nname: t\nstart: n0\nedges: [{from: n0, to: END}]\nnodes:\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "  n%d: {kind: set, set: {a: 1, b: two}}\n", i)
	}
	return b.String()
}

// TestPieces compares files that are read entry by entry with the same files read as a whole.
func TestPieces(t *testing.T) {
	divided := 0
	for _, pattern := range []string{"testdata/valid/*.yaml", "../testdata/*/*.yaml", "../testdata/defects/*/*.yaml", "../examples/*/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := loadPieces(NewFile(name, src), 1)
			if got == nil {
				continue
			}
			divided++
			want, wanted := loadDocument(NewFile(name, src), "")
			if !reflect.DeepEqual(got, want) || len(wanted) > 0 {
				t.Errorf("%s: the pieces have other values, places or findings %v", name, wanted)
			}
		}
	}
	if divided < 100 {
		t.Errorf("only %d files were divided", divided)
	}
}
