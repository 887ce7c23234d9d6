// Cases of branches within branches, loops and subgraphs (§3, §4, §7, §10).

package referencetest

import "time"

func deepCases() []Case {
	explicit := "parallel: {join: explicit}"
	inner := "graphs:\n  sub:\n    start: x\n    parallel: {%s}\n    state: {k: {}}\n    nodes: {x: {kind: pass}, y: {kind: exec, command: [x], writes: {k: 1}}, z: {kind: exec, command: [x], writes: {k: 2}}}\n    edges: [{from: x, to: [y, z]}, {from: [y, z], to: END}]"
	with := func(policy string) string { return replaceOnce(inner, "%s", policy) }
	return []Case{
		{
			Name: "joins in a loop", Says: "§7 so joins work in loops", Top: explicit,
			Edges: "a > b c\nb > jx\nc > jx\njx > a {when: 'visits.jx < 3'}\njx > END",
			Want:  Want{Path: "a b c jx a b c jx a b c jx", Saw: map[string]string{"jx.visits.jx": "3", "jx.step": "12", "jx.keys(inputs)": `["b","c"]`}},
		},
		{
			Name: "any in a loop", Says: "§7 it runs once per fan-out", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: any}}", Do: map[string]Act{"c": {Takes: 9 * time.Second}},
			Edges: "a > b c\nb > jx\nc > jx\njx > a {when: 'visits.jx < 3'}\njx > END",
			Want:  Want{Path: "a b jx a b jx a b jx", Quality: "clean", Took: 6 * time.Second},
		},
		{
			Name: "a branch that goes back", Says: "§7 a branch that comes back to that node leaves the fan-out", Top: explicit,
			Edges: "a > b c\nb > a {when: 'visits.a < 2'}\nb > jx\nc > jx\njx > END",
			Want:  Want{Path: "a b c a jx b c jx", Log: "a b c a jx b c jx", Saw: map[string]string{"jx.visits.c": "1"}},
		},
		{
			Name: "all nested branches fail", Says: "§7 continue_others drops the failed branch; §6 the failure propagates", Top: "parallel: {on_failure: continue_others}",
			Do:    map[string]Act{"d": failWith("tool"), "e": failWith("failed")},
			Edges: "a > b c\nb > d e\nd > g\ne > g\nc > g\ng > END",
			Want:  Want{Path: "a b c d e g", Quality: "degraded", Log: "a b c g", Saw: map[string]string{"g.visits.d": "1"}},
		},
		{
			Name: "all branches fail", Says: "§6 the failure propagates", Top: "parallel: {on_failure: continue_others}",
			Do:    map[string]Act{"b": {Fails: "tool", Takes: 5 * time.Second}, "c": failWith("failed")},
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{Status: "failed", Error: "tool b", Path: "a b c"},
		},
		{
			Name: "all branches fail under wait_all", Says: "§7 wait_all lets every branch end and gives the join node results and errors", Top: "parallel: {on_failure: wait_all}",
			Nodes: "d: {kind: set, set: {k: '[branches.b.error.kind, branches.c.error.kind]'}, join: {wait: all}}",
			Do:    map[string]Act{"b": failWith("tool"), "c": failWith("failed")},
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{Quality: "degraded", Path: "a b c d", State: map[string]any{"k": []any{"tool", "failed"}}},
		},
		{
			Name: "what a lost branch wrote stays behind the split", Says: "§7 first those of failed and cancelled branches (what they wrote since the split)",
			Top: "parallel: {on_failure: continue_others}", Do: map[string]Act{"d2": failWith("tool")},
			Edges: "a > b\nb > c d\nc > e\nd > d2\nd2 > e\ne > END", Want: Want{Path: "a b c d d2 e", Log: "a b d c e"},
		},
		{
			Name: "lost writes stay first at a later merge", Says: "§7 they stay first at every later merge",
			Top: "parallel: {on_failure: continue_others}", Do: map[string]Act{"e2": failWith("tool")},
			Edges: "a > b c\nb > d e\ne > e2\nd > f\ne2 > f\nf > g\nc > g\ng > END",
			Want:  Want{Path: "a b c d e e2 f g", Saw: map[string]string{"f.log": `["a","b","e","d"]`, "g.log": `["a","e","b","c","d","f"]`}},
		},
		{
			Name: "the nested join comes first", Says: "§7 the first node that all branches of a fan-out can reach",
			Edges: "a > b c\nb > d e\nd > f\ne > f\nf > g\nc > g\ng > END",
			Want:  Want{Path: "a b c d e f g", Log: "a b c d e f g", Saw: map[string]string{"f.visits.c": "0", "f.keys(inputs)": `["d","e"]`, "g.keys(inputs)": `["c","f"]`}},
		},
		{
			Name: "an implicit join waits for nested branches", Says: "§7 when all live branches that can still reach it have arrived",
			Do: map[string]Act{"e": {Takes: 9 * time.Second}}, Edges: "a > b c\nb > d e\nd > g\ne > e2\ne2 > g\nc > g\ng > END",
			Want: Want{Path: "a b c d e e2 g", Saw: map[string]string{"g.keys(inputs)": `["c","d","e2"]`}},
		},
		{
			Name: "a failure edge leads on", Says: "§7 can reach without failure edges", Do: map[string]Act{"b": failWith("tool")},
			Edges: "a > b c\nb > END\nb > d {condition: on_failure}\nc > d\nd > END",
			Want:  Want{Path: "a b c d d", Quality: "degraded"},
		},
		{
			Name: "routing all after a failure", Says: "§6 routing: all lets every matching edge of its outcome fire", Do: map[string]Act{"a": failWith("tool")},
			Nodes: "a: {kind: exec, command: [x], routing: all}",
			Edges: "a > b {condition: on_failure, when: \"error.kind == 'tool'\"}\na > c {condition: on_failure, when: 'error.attempt == 1'}\na > d {condition: on_failure}\na > END\nb > END\nc > END\nd > END",
			Want:  Want{Path: "a b c"},
		},
		{
			Name: "a single candidate", Says: "§9 a single candidate fires without a call", Nodes: "a: {kind: pass}", Top: "models: {default: openai/x}",
			Do: map[string]Act{"a": {Never: true}}, Edges: "a > b {condition: llm_decide, fallback: true}\nb > END", Want: Want{Path: "a b", Quality: "clean"},
		},
		{
			Name: "fail", Says: "§4 a failure of kind failed with message", Nodes: "f: {kind: fail, message: 'n is {{ n }}'}", Edges: "a > f {when: 'true'}\na > END",
			Want: Want{Status: "failed", Error: "failed f", Path: "a f"},
		},
		{
			Name: "finish", Says: "§2 each gets one on_success edge to END", Top: "finish: [b]", Edges: "a > b", Want: Want{Path: "a b"},
		},
		{
			Name: "flag", Says: "§11 flag is the same with limited: true", Top: "limits: {max_steps: 1, on_max_steps: flag}", Do: map[string]Act{"a": {Out: 4}},
			Edges: "a > b\nb > END", Want: Want{Path: "a", Quality: "degraded", Output: 4},
		},
		{
			Name: "an element waits for room", Says: "§5 an element of an each takes a place as a step does", Top: "limits: {max_concurrency: 2}",
			Nodes: "x: {kind: exec, command: [x], each: '[1, 2, 3, 4, 5]'}", Edges: "x > END", Want: Want{Took: 3 * time.Second},
		},
		{
			Name: "each keeps errors under wait_all", Says: "§7 same policies", Nodes: "x: {kind: exec, command: [x], each: '[1, 2]', parallel: {on_failure: wait_all}, writes: {k: 'output[1].error.kind'}}",
			Do: map[string]Act{"x[1]": failWith("tool")}, Edges: "x > END", Want: Want{Quality: "degraded", State: map[string]any{"k": "tool"}},
		},
		{
			Name: "an expression says how long", Says: "§4 for: an expression that gives a duration text or seconds", Nodes: "w: {kind: wait, for: n + 2}\nv: {kind: wait, for: \"'1s' + '500ms'\"}",
			Edges: "w > v\nv > END", Want: Want{Took: 3500 * time.Millisecond},
		},
		{
			Name: "an output that does not fit", Says: "§5 (6) validate output", Nodes: "a: {kind: exec, command: [x], output: {type: integer}, retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}}",
			Do: map[string]Act{"a": {Out: "x"}}, Edges: "a > END", Want: Want{Status: "failed", Error: "invalid_output a", Took: 3 * time.Second},
		},
		{
			Name: "messages", Says: "§3 messages (append by id, replace same id; ops remove, remove_all)", State: "m: {type: array, reducer: messages, default: []}",
			Nodes: "a: {kind: set, set: {m: \"[{id: 1, content: 'x'}, {id: 2, content: 'y'}]\"}}\nb: {kind: set, set: {m: \"[{id: 1, content: 'z'}, {op: 'remove', id: 2}]\"}}",
			Edges: "a > b\nb > END", Want: Want{State: map[string]any{"m": []any{map[string]any{"id": 1, "content": "z"}}}},
		},
		{
			Name: "a branch fails in a subgraph", Says: "§5 A subgraph has a state, limits and branches of its own", Top: with("on_failure: continue_others"),
			Nodes: "g: {kind: graph, graph: '#sub', writes: {k: output.quality}}", Do: map[string]Act{"g/y": failWith("tool")}, Edges: "g > END",
			Want: Want{Path: "g", Quality: "degraded", State: map[string]any{"k": "degraded"}, Steps: 4},
		},
		{
			Name: "a conflict in a subgraph", Says: "§7 a branch that ends at END is merged when the run (or the subgraph) ends, likewise", Top: with("conflict: error"),
			Nodes: "g: {kind: graph, graph: '#sub'}", Edges: "g > END", Want: Want{Status: "failed", Error: "child_failed g"},
		},
		{
			Name: "a subgraph per element", Says: "§7 each", Top: with("conflict: last_wins"),
			Nodes: "g: {kind: graph, graph: '#sub', each: '[1, 2]', writes: {k: 'map(output, .state.k)'}}", Do: map[string]Act{"g[1]/z": {Takes: 9 * time.Second}},
			Edges: "g > END", Want: Want{Steps: 7, State: map[string]any{"k": []any{2, 2}}, Took: 9 * time.Second},
		},
		{
			Name: "a subgraph that is retried", Says: "§4 Each attempt starts clean", Top: with("conflict: last_wins"),
			Nodes: "g: {kind: graph, graph: '#sub', retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}}", Do: map[string]Act{"g/y": failWith("tool")},
			Edges: "g > END", Want: Want{Status: "failed", Error: "child_failed g", Took: 3 * time.Second, Steps: 7},
		},
		{
			Name: "an input that is required", Says: "§3 required (must be given as input)", Top: "graphs:\n  sub:\n    start: x\n    state: {n: {type: integer, required: true}}\n    nodes: {x: {kind: pass}}\n    edges: [{from: x, to: END}]",
			Nodes: "g: {kind: graph, graph: '#sub', with: {n: k}}", Edges: "g > END", Want: Want{Status: "failed", Error: "invalid_input g"},
		},
		{
			Name: "forbidden behind it", Says: "§10 {forbid: refund, after: reject}", Top: "policies: [{forbid: c, after: b}]",
			Edges: "a > b\na > c {when: 'n > 0'}\nb > c\nc > END", Want: Want{Status: "failed", Reason: "policy", Path: "a b"},
		},
		{
			Name: "END out of reach", Says: "§10 {reach: END, from: charge} (END stays reachable)", Top: "policies: [{reach: END, from: a}]",
			Nodes: "f: {kind: fail, message: x}", Edges: "a > f {when: 'true'}\na > END", Want: Want{Status: "failed", Reason: "policy", Path: "a"},
		},
		{
			Name: "a question holds nothing up", Says: "§5 a question holds up its own branch and nothing else; §5 path is the same however long each step took", Top: explicit,
			Nodes: "q: {kind: human, prompt: x, writes: {log: output}}", Do: map[string]Act{"q": {Takes: 30 * time.Second, Out: "q"}},
			Edges: "a > q b\nq > jx\nb > c\nc > jx\njx > END", Want: Want{Path: "a q b c jx", Log: "a q b c jx", Took: 32 * time.Second},
		},
		{
			Name: "a retry delay holds nothing up", Says: "§5 a retry delay holds up its own branch and nothing else", Top: "limits: {max_concurrency: 1}\nparallel: {join: explicit}",
			Nodes: "b: {kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 10s, jitter: 0}}", Do: map[string]Act{"b": {Out: 1}, "b@1": failWith("tool")},
			Edges: "a > b c\nb > jx\nc > d\nd > jx\njx > END", Want: Want{Path: "a b c d jx", Quality: "clean", Took: 14 * time.Second},
		},
		{
			Name: "three branches of four meet", Says: "§7 the past of a joined node is that of every branch that arrived", Top: explicit,
			Edges: "a > b c d e\nb > jx\nc > jx\nd > jx\ne > e2\ne2 > jy\njx > f\nf > jy\njy > END",
			Want:  Want{Path: "a b c d e jx e2 f jy", Saw: map[string]string{"jx.visits.e": "0", "jy.step": "9"}},
		},
		{
			Name: "first_wins keeps to its branch", Says: "§7 first_wins the branch whose write comes first in it", Top: "parallel: {conflict: first_wins}",
			Nodes: "b2: {kind: set, set: {k: 'b'}}\nc: {kind: set, set: {k: \"'c'\"}}\nc2: {kind: set, set: {k: \"'c2'\"}}\nb: {kind: pass}",
			State: "b: {}", Edges: "a > b c\nb > b2\nc > c2\nb2 > d\nc2 > d\nd > END", Want: Want{State: map[string]any{"k": "c2"}},
		},
		{
			Name: "the inner policy decides first", Says: "§7 The policy is that of the node where the two writers' branches parted", Top: explicit,
			Nodes: "b: {kind: pass, parallel: {conflict: first_wins}}\nd: {kind: set, set: {k: \"'d'\"}}\ne2: {kind: set, set: {k: \"'e2'\"}}\nc2: {kind: set, set: {k: \"'c2'\"}}",
			Edges: "a > b c\nb > d e\ne > e2\nd > jx\ne2 > jx\njx > jy\nc > c2\nc2 > jy\njy > END",
			Want:  Want{Path: "a b c d e c2 e2 jx jy", State: map[string]any{"k": "c2"}, Saw: map[string]string{"jx.k": "d", "jy.k": "c2"}},
		},
		{
			Name: "a conflict within a branch", Says: "§7 error fails the join node", Top: explicit,
			Nodes: "b: {kind: pass, parallel: {conflict: error}}\nd: {kind: set, set: {k: \"'d'\"}}\ne2: {kind: set, set: {k: \"'e2'\"}}\nc2: {kind: set, set: {k: \"'c2'\"}}",
			Edges: "a > b c\nb > d e\ne > e2\nd > jy\ne2 > jy\nc > c2\nc2 > jy\njy > END",
			Want:  Want{Status: "failed", Error: "conflict jy"},
		},
		{
			Name: "before", Says: "§4 before: {k: expr} (added to its input)", Nodes: "p: {kind: pass, before: {v: step}}\nq: {kind: pass, before: {w: input.v + 1}}",
			Edges: "a > p\np > q\nq > END", Want: Want{Output: map[string]any{"v": 2, "w": 3}},
		},
		{
			Name: "a visit that is refused is not a step", Says: "§4 fail is a node failure of kind max_visits; §5 max_steps counts node executions", Top: "limits: {max_steps: 3}",
			Nodes: "a: {kind: exec, command: [x], max_visits: 1}", Edges: "a > a {when: 'visits.a < 5'}\na > END\na > b {condition: on_failure}\nb > c\nc > END",
			Want: Want{Quality: "degraded", Path: "a b c", Steps: 3, Saw: map[string]string{"b.error.kind": "max_visits", "b.step": "2", "b.visits.a": "1"}},
		},
	}
}
