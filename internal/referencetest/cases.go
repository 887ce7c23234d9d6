// Cases of edges, branches and joins (§5, §6, §7).

package referencetest

import (
	"slices"
	"time"
)

// Cases are flows with their results, derived from sentences of the page.
func Cases() []Case {
	return slices.Concat(edgeCases(), branchCases(), joinCases(), failureCases(), stepCases(), endCases(), deepCases())
}

func failWith(kind string) Act { return Act{Fails: kind} }

func edgeCases() []Case {
	return []Case{
		{
			Name: "a line", Says: "§6 all on_success and always edges fire",
			Edges: "a > b\nb > END",
			Want:  Want{Quality: "clean", Path: "a b", Log: "a b", Steps: 2, Took: 2 * time.Second},
		},
		{
			Name: "the first true guard fires alone", Says: "§6 the first whose when is true fires, and the decision is made",
			Edges: "a > b {when: 'n < 0'}\na > c {when: 'n == 0'}\na > d {when: 'n == 0'}\na > e\nb > END\nc > END\nd > END\ne > END",
			Want:  Want{Path: "a c"},
		},
		{
			Name: "priority before order", Says: "§6 by priority (high first) then declaration order",
			Edges: "a > b {when: 'true'}\na > c {when: 'true', priority: 2}\nb > END\nc > END",
			Want:  Want{Path: "a c"},
		},
		{
			Name: "unconditional edges are the fallback", Says: "§6 Else all on_success and always edges fire",
			Edges: "a > b {when: 'n > 0'}\na > c\na > d {condition: always}\nb > END\nc > END\nd > END",
			Want:  Want{Path: "a c d"},
		},
		{
			Name: "a guarded list fires whole", Says: "§6 to may be a list (fan-out)", Top: "parallel: {join: explicit}",
			Edges: "a > b c {when: 'true'}\na > d\nb > END\nc > END\nd > END",
			Want:  Want{Path: "a b c"},
		},
		{
			Name: "routing all", Says: "§6 routing: all lets every matching edge of its outcome fire, fallback included only if none matched",
			Nodes: "a: {kind: pass, routing: all}",
			Edges: "a > b {when: 'n == 0'}\na > c {when: 'n > 0'}\na > d {when: 'true', priority: 5}\na > e\nb > END\nc > END\nd > END\ne > END",
			Want:  Want{Path: "a b d"},
		},
		{
			Name: "a failure edge", Says: "§6 After failure: 1. on_failure edges", Do: map[string]Act{"a": failWith("tool")},
			Edges: "a > b\na > c {condition: on_failure}\nb > END\nc > END",
			Want:  Want{Quality: "degraded", Path: "a c", Log: "c", Saw: map[string]string{"c.error.kind": "tool", "c.input.kind": "tool", "c.nodes.a.outcome": "failure"}},
		},
		{
			Name: "a filtered failure edge fires alone", Says: "§6 on_failure edges with when: the first match alone fires; else all without",
			Do:    map[string]Act{"a": failWith("tool")},
			Edges: "a > b {condition: on_failure}\na > c {condition: on_failure, when: \"error.kind == 'tool'\"}\nb > END\nc > END\na > END",
			Want:  Want{Path: "a c"},
		},
		{
			Name: "always after a failure", Says: "§6 Else all always edges", Do: map[string]Act{"a": failWith("tool")},
			Edges: "a > b\na > c {condition: always}\nb > END\nc > END",
			Want:  Want{Path: "a c", Quality: "degraded"},
		},
		{
			Name: "a failure propagates", Says: "§6 Else the failure propagates: the run ends failed", Do: map[string]Act{"b": failWith("tool")},
			Edges: "a > b\nb > END",
			Want:  Want{Status: "failed", Quality: "failed", Path: "a b", Log: "a", Error: "tool b"},
		},
		{
			Name: "stuck", Says: "§6 No edge fires although the node has outgoing edges: the run ends stuck",
			Edges: "a > END {when: 'n > 0'}",
			Want:  Want{Status: "stuck", Quality: "failed", Path: "a", Error: "stuck a"},
		},
		{
			Name: "a guard that errors", Says: "§6 A when that errors at run time fails the run with kind expression",
			Edges: "a > b {when: 'k.x > 1'}\na > b\nb > END",
			Want:  Want{Status: "failed", Path: "a", Error: "expression a"},
		},
		{
			Name: "transform", Says: "§6 transform builds the target's input; without it input is the source's output",
			Do:    map[string]Act{"a": {Out: 3}},
			Edges: "a > b {transform: {v: 'output + 1', s: step}}\nb > c\nc > END",
			Want:  Want{Saw: map[string]string{"b.input": `{"s":1,"v":4}`, "b.inputs.a.v": "4", "c.input == None": "true"}},
		},
		{
			Name: "goto in the output", Says: "§6 A node's output may carry goto; with goto the edges are not consulted",
			Nodes: "a: {kind: exec, command: [x], ends: {one: b, two: c}}\nb: {kind: pass}\nc: {kind: pass}",
			Do:    map[string]Act{"a": {Out: map[string]any{"goto": "two"}}},
			Edges: "a > b\nb > END\nc > END", Want: Want{Path: "a c"},
		},
		{
			Name: "a list in goto fans out", Says: "§6 a list fans out, an item may be {to, input}",
			Nodes: "a: {kind: exec, command: [x], ends: {one: b, two: c}}\nb: {kind: pass}\nc: {kind: pass}",
			Do:    map[string]Act{"a": {Out: map[string]any{"goto": []any{"two", map[string]any{"to": "one", "input": 7}}}}},
			Edges: "a > b\nb > END\nc > END", Want: Want{Path: "a c b", Saw: map[string]string{"b.input": "7"}},
		},
		{
			Name: "an unknown label", Says: "§6 an unknown label is invalid_output",
			Nodes: "a: {kind: exec, command: [x], ends: {one: b}}\nb: {kind: pass}",
			Do:    map[string]Act{"a": {Out: map[string]any{"goto": "three"}}},
			Edges: "a > b\nb > END", Want: Want{Status: "failed", Error: "invalid_output a"},
		},
		{
			Name: "goto by expression", Says: "§6 or the node a goto: expr over output and state",
			Nodes: "a: {kind: exec, command: [x], writes: [k], goto: \"k > 2 ? 'END' : 'a'\", ends: [a, END]}",
			Do:    map[string]Act{"a": {Out: 1}, "a#2": {Out: 3}},
			Edges: "a > END", Want: Want{Path: "a a", State: map[string]any{"k": 3}},
		},
		{
			Name: "a decision", Says: "§6 the llm_decide edges, together, are one decision: exactly one fires",
			Nodes: "a: {kind: pass}", Top: "models: {default: openai/x}", Do: map[string]Act{"a": {Out: "c"}},
			Edges: "a > b {condition: llm_decide}\na > c {condition: llm_decide}\nb > END\nc > END", Want: Want{Path: "a c", Quality: "clean"},
		},
		{
			Name: "a decision that fails", Says: "§9 Call fails: the edge with fallback: true fires alone and the run is degraded",
			Nodes: "a: {kind: pass}", Top: "models: {default: openai/x}", Do: map[string]Act{"a": {Never: true}},
			Edges: "a > b {condition: llm_decide, fallback: true}\na > c {condition: llm_decide}\nb > END\nc > END", Want: Want{Path: "a b", Quality: "degraded"},
		},
	}
}

func branchCases() []Case {
	return []Case{
		{
			Name: "branches run at their own pace", Says: "§5 Branches do not wait for each other",
			Do:    map[string]Act{"b": {Takes: 4 * time.Second}, "e": {Takes: 4 * time.Second}},
			Edges: "a > b d\nb > c\nd > e\nc > jz\ne > jz\njz > END",
			Want:  Want{Path: "a b d c e jz", Log: "a b d c e jz", Took: 7 * time.Second},
		},
		{
			Name: "a step sees its past only", Says: "§5 a branch sees what was there when its fan-out split, plus what it did itself",
			Do:    map[string]Act{"d": {Takes: 9 * time.Second}},
			Edges: "a > b d\nb > c\nd > e\nc > END\ne > END", Top: "parallel: {join: explicit}",
			Want: Want{Saw: map[string]string{"e.log": `["a","d"]`, "e.step": "3", "e.visits.b": "0", "c.log": `["a","b"]`, "c.nodes.d.visits": "0"}, Log: "a b d c e"},
		},
		{
			Name: "path order is rank, then declaration", Says: "§5 Path order is by rank, then by declaration order of the branches",
			Do:    map[string]Act{"b": {Takes: 9 * time.Second}},
			Edges: "a > b c\nc > d\nd > e\ne > END\nb > END", Top: "parallel: {join: explicit}",
			Want: Want{Path: "a b c d e", Log: "a b c d e"},
		},
		{
			Name: "edges in file order whatever their priority", Says: "§5 edges of a node in file order whatever their priority",
			Nodes: "a: {kind: pass, routing: all}",
			Edges: "a > b {when: 'true', priority: 1}\na > c {when: 'true', priority: 9}\nb > END\nc > END",
			Want:  Want{Path: "a b c", Log: "b c"},
		},
		{
			Name: "a joined node has the highest rank plus one", Says: "§5 a joined node has the highest rank in its past plus 1",
			Edges: "a > b c d\nb > b2\nb2 > jx\nc > jx\njx > END\nd > d2\nd2 > d3\nd3 > d4\nd4 > END", Top: "parallel: {join: explicit}",
			Want: Want{Path: "a b c d b2 d2 jx d3 d4"},
		},
		{
			Name: "a joined branch stands where the first was declared", Says: "§5 a joined branch stands where the first of those that arrived was declared",
			Edges: "a > b c d\nb > jx\nd > jx\njx > END\nc > c2\nc2 > END", Top: "parallel: {join: explicit}",
			Want: Want{Path: "a b c d jx c2"},
		},
		{
			Name: "a node that only some reach runs for each", Says: "§7 A node that only some branches can reach runs once for each that reaches it",
			Edges: "a > b c d\nb > x\nc > x\nx > END\nd > END",
			Want:  Want{Path: "a b c d x x", Saw: map[string]string{"x.visits.x": "1"}},
		},
		{
			Name: "an implicit join", Says: "§7 the first node that all branches of a fan-out can reach is such a barrier without saying so",
			Do:    map[string]Act{"b": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > d\nc > d\nd > END",
			Want:  Want{Path: "a b c d", Log: "a b c d", Saw: map[string]string{"d.keys(inputs)": `["b","c"]`, "d.step": "4"}},
		},
		{
			Name: "no implicit join if explicit", Says: "§7 unless parallel.join: explicit", Top: "parallel: {join: explicit}",
			Edges: "a > b c\nb > d\nc > d\nd > END",
			Want:  Want{Path: "a b c d d"},
		},
		{
			Name: "the first implicit join is the nearest", Says: "§7 First is the fewest edges on the longest of the shortest ways",
			Edges: "a > b c\nb > d\nc > c2\nc2 > d\nd > e\nb > e {when: 'n > 0'}\nc > e {when: 'n > 0'}\ne > END",
			Want:  Want{Path: "a b c d c2 d e", Steps: 7},
		},
		{
			Name: "an edge to END does not count", Says: "§7 an edge to END is a branch that ends at once and does not count here",
			Edges: "a > b c END\nb > d\nc > d\nd > END",
			Want:  Want{Path: "a b c d"},
		},
		{
			Name: "a branch that goes on to the join itself", Says: "§7 the first node that all branches can reach",
			Edges: "a > b d\nb > d\nd > END",
			Want:  Want{Path: "a b d", Saw: map[string]string{"d.keys(inputs)": `["a","b"]`}},
		},
		{
			Name: "implicit joins in a loop", Says: "§7 a branch that comes back to that node leaves the fan-out, and what it starts there is new",
			Edges: "a > b c\nb > d\nc > d\nd > a {when: 'visits.a < 2'}\nd > END",
			Want:  Want{Path: "a b c d a b c d", Saw: map[string]string{"d.visits.b": "2", "d.step": "8"}},
		},
		{
			Name: "nested branches", Says: "§7 N counts arrivals, those of nested branches too",
			Nodes: "jx: {kind: pass, join: {wait: 3}}",
			Edges: "a > b c\nb > d e\nd > jx\ne > jx\nc > jx\njx > END", Top: "parallel: {join: explicit}",
			Want: Want{Path: "a b c d e jx", Saw: map[string]string{"jx.keys(inputs)": `["c","d","e"]`}},
		},
		{
			Name: "concurrency", Says: "§5 ready steps start in order of rank, then declaration", Top: "limits: {max_concurrency: 1}",
			Edges: "a > b c\nb > b2\nb2 > jx\nc > jx\njx > END",
			Want:  Want{Path: "a b c b2 jx", Took: 5 * time.Second, Log: "a b c b2 jx"},
		},
		{
			Name: "the run completes when no branch is left", Says: "§7 The run completes when no branch is left",
			Edges: "a > b END\nb > c\nc > END", Want: Want{Path: "a b c", Quality: "clean", Took: 3 * time.Second},
		},
		{
			Name: "the last in path order gives the output", Says: "§2 the output of the node whose edge reached END, the last in path order",
			Do:    map[string]Act{"b": {Out: "b", Takes: 9 * time.Second}, "c": {Out: "c"}},
			Edges: "a > b c\nb > END\nc > END", Want: Want{Output: "c"},
		},
	}
}
