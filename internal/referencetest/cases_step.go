// Cases of steps, elements, subgraphs, limits, people and ends (§2, §4, §5, §10, §11).

package referencetest

import "time"

func stepCases() []Case {
	return []Case{
		{
			Name: "later assignments see earlier ones", Says: "§4 set evaluates in order (later ones see earlier ones)",
			Nodes: "a: {kind: set, set: {n: 2, k: 'n + 1'}}", Edges: "a > END", Want: Want{State: map[string]any{"n": 2, "k": 3}, Output: map[string]any{"n": 2, "k": 3}},
		},
		{
			Name: "pass yields its input", Says: "§4 pass: its input", Nodes: "p: {kind: pass}", Do: map[string]Act{"a": {Out: 5}},
			Edges: "a > p\np > END", Want: Want{Output: 5},
		},
		{
			Name: "the whole output of a single key", Says: "§4 for a single key whose name the output does not hold, the whole output is its value",
			Nodes: "a: {kind: exec, command: [x], writes: [k]}", Do: map[string]Act{"a": {Out: 5}}, Edges: "a > END", Want: Want{State: map[string]any{"k": 5}},
		},
		{
			Name: "keys that the output lacks", Says: "§4 the node's output must be an object holding each of them",
			Nodes: "a: {kind: exec, command: [x], writes: [k, n]}", Do: map[string]Act{"a": {Out: map[string]any{"k": 5}}}, Edges: "a > END",
			Want: Want{Status: "failed", Error: "invalid_output a"},
		},
		{
			Name: "a bad write changes nothing", Says: "§3 a bad write is a node failure of kind invalid_output and changes nothing",
			Nodes: "a: {kind: exec, command: [x], writes: {k: 1, n: \"output.v\"}}", Do: map[string]Act{"a": {Out: map[string]any{"v": "x"}}},
			Edges: "a > END\na > b {condition: on_failure}\nb > END", Want: Want{Path: "a b", State: map[string]any{"k": nil, "n": 0}},
		},
		{
			Name: "a stale output is cleared", Says: "§4 Before a revisit its output is cleared",
			Nodes: "a: {kind: exec, command: [x], writes: {k: 'nodes.a.output'}}", Do: map[string]Act{"a": {Out: 1}},
			Edges: "a > a {when: 'visits.a < 2'}\na > END", Want: Want{Path: "a a", State: map[string]any{"k": nil}},
		},
		{
			Name: "visits include the one just finished", Says: "§8 at routing visits.x and history.x include the visit just finished",
			Do:    map[string]Act{"a": {Out: 1}},
			Edges: "a > b {when: 'visits.a == 1 and len(history.a) == 1 and step == 1'}\na > c\nb > END\nc > END", Want: Want{Path: "a b"},
		},
		{
			Name: "retries", Says: "§4 A retry block sets max_attempts (counting the first), initial_interval, backoff",
			Nodes: "a: {kind: exec, command: [x], retry: {max_attempts: 3, initial_interval: 2s, backoff: 3, jitter: 0}}",
			Do:    map[string]Act{"a": {Out: 1}, "a@1": failWith("tool"), "a@2": failWith("tool")},
			Edges: "a > END", Want: Want{Quality: "clean", Path: "a", Took: 11 * time.Second, Output: 1, Steps: 1},
		},
		{
			Name: "retries end", Says: "§4 max_attempts", Nodes: "a: {kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 2s, jitter: 0}}",
			Do: map[string]Act{"a": failWith("tool")}, Edges: "a > END", Want: Want{Status: "failed", Error: "tool a", Took: 4 * time.Second},
		},
		{
			Name: "a list of retry blocks", Says: "§4 a list of such blocks is tried in order by error kind, each with its own count",
			Nodes: "a: {kind: exec, command: [x], retry: [{on: [tool], max_attempts: 2, initial_interval: 1s, jitter: 0}, {max_attempts: 2, initial_interval: 5s, jitter: 0}]}",
			Do:    map[string]Act{"a": {Out: 1}, "a@1": failWith("tool"), "a@2": failWith("failed")}, Edges: "a > END", Want: Want{Took: 9 * time.Second},
		},
		{
			Name: "the budget of attempts is per visit", Says: "§4 the budget is per visit",
			Nodes: "a: {kind: exec, command: [x], retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}}", Do: map[string]Act{"a@1": failWith("tool")},
			Edges: "a > a {when: 'visits.a < 3'}\na > END", Want: Want{Path: "a a a", Took: 9 * time.Second},
		},
		{
			Name: "some errors pass by themselves", Says: "§4 without a retry block, errors that may pass by themselves get 3 attempts, others one",
			Do:    map[string]Act{"a": {Out: 1}, "a@1": failWith("network"), "a@2": failWith("overloaded"), "b": failWith("tool")},
			Edges: "a > b\nb > END", Want: Want{Status: "failed", Path: "a b", Error: "tool b"},
		},
		{
			Name: "a timeout is per attempt", Says: "§4 timeout is per attempt", Nodes: "a: {kind: exec, command: [x], timeout: 3s, retry: {max_attempts: 2, initial_interval: 1s, jitter: 0}}",
			Do: map[string]Act{"a": {Takes: 9 * time.Second}, "a@2": {Takes: 2 * time.Second}}, Edges: "a > END", Want: Want{Took: 6 * time.Second},
		},
		{
			Name: "step_timeout is not retried", Says: "§2 step_timeout (one step: all its attempts and the delays between them; then a failure of kind timeout that is not retried)",
			Top: "limits: {step_timeout: 4s}\nretry: {max_attempts: 5, initial_interval: 1s, backoff: 1, jitter: 0}", Do: map[string]Act{"a": failWith("tool")},
			Edges: "a > END\na > b {condition: on_failure}\nb > END", Want: Want{Path: "a b", Took: 5 * time.Second, Saw: map[string]string{"b.error.kind": "timeout"}},
		},
		{
			Name: "a wait holds up its branch only", Says: "§5 a wait or a question holds up its own branch and nothing else", Top: "limits: {max_concurrency: 1}",
			Nodes: "w: {kind: wait, for: 5s}", Edges: "a > w b\nb > c\nc > END\nw > END", Want: Want{Path: "a w b c", Took: 6 * time.Second},
		},
		{
			Name: "max_visits fails", Says: "§4 fail is a node failure of kind max_visits (if it propagates, the run ends as limit)",
			Nodes: "a: {kind: exec, command: [x], max_visits: 2}", Edges: "a > a {when: 'step < 99'}\na > END", Want: Want{Status: "limit", Reason: "max_visits"},
		},
		{
			Name: "max_visits skips", Says: "§4 skip does not run the node: outcome success, null output, only unconditional edges are tried; it counts towards max_steps, not towards visits",
			Nodes: "a: {kind: pass, max_visits: 1, on_max_visits: skip}",
			Edges: "a > b {when: 'true'}\na > c\nb > a\nc > END", Want: Want{Path: "a b a c", Steps: 4, Saw: map[string]string{"c.visits.a": "1", "c.step": "4"}},
		},
		{
			Name: "max_visits counts the past", Says: "§5 max_visits counts the past of the step", Top: "parallel: {join: explicit}",
			Nodes: "x: {kind: pass, max_visits: 1}", Edges: "a > b c\nb > x\nc > x\nx > END", Want: Want{Path: "a b c x x"},
		},
		{
			Name: "each", Says: "§7 each: its output is the list of the elements' outputs in element order, and writes sees that list; it is one step and one visit",
			Nodes: "x: {kind: exec, command: [x], each: '[5, 6, 7]', writes: [k]}", Do: map[string]Act{"x[0]": {Out: "a", Takes: 9 * time.Second}, "x[1]": {Out: "b"}, "x[2]": {Out: "c"}},
			Edges: "x > END", Want: Want{Path: "x", Steps: 1, State: map[string]any{"k": []any{"a", "b", "c"}}, Took: 9 * time.Second},
		},
		{
			Name: "the window of each", Says: "§7 as a sliding window", Nodes: "x: {kind: exec, command: [x], each: '[1, 2, 3, 4]', max_concurrency: 2}",
			Do: map[string]Act{"x[0]": {Takes: 3 * time.Second}}, Edges: "x > END", Want: Want{Took: 3 * time.Second},
		},
		{
			Name: "each sets per element", Says: "§7 a set node instead writes per element, reduced in element order",
			Nodes: "x: {kind: set, each: '[5, 6]', set: {log: item, n: index, k: item}}", Edges: "x > END",
			Want: Want{Log: "5 6", State: map[string]any{"n": 1, "k": 6}},
		},
		{
			Name: "each fails with its first failure", Says: "§7 same policies", Nodes: "x: {kind: exec, command: [x], each: '[1, 2]'}",
			Do: map[string]Act{"x[0]": {Takes: 9 * time.Second}, "x[1]": failWith("tool")}, Edges: "x > END", Want: Want{Status: "failed", Error: "tool x", Took: time.Second},
		},
		{
			Name: "each goes on without an element", Says: "§7 same policies", Nodes: "x: {kind: exec, command: [x], each: '[1, 2]', parallel: {on_failure: continue_others}}",
			Do: map[string]Act{"x[0]": {Out: 1}, "x[1]": failWith("tool")}, Edges: "x > END", Want: Want{Quality: "degraded", Output: []any{1, nil}},
		},
		{
			Name: "an empty each", Says: "§7 each", Nodes: "x: {kind: exec, command: [x], each: '[]'}", Edges: "x > END", Want: Want{Output: []any{}, Steps: 1},
		},
	}
}

func endCases() []Case {
	sub := "graphs:\n  sub:\n    start: x\n    output: twice\n    state: {n: {type: integer}, twice: {type: integer}}\n    nodes: {x: {kind: set, set: {twice: n * 2}}}\n    edges: [{from: x, to: END}]"
	loop := "graphs:\n  sub:\n    start: x\n    limits: {max_steps: 3%s}\n    nodes: {x: {kind: pass}}\n    edges: [{from: x, to: x, when: step < 99}, {from: x, to: END}]"
	with := func(more string) string { return replaceOnce(loop, "%s", more) }
	asking := "graphs:\n  sub:\n    start: q\n    state: {k: {}}\n    nodes: {q: {kind: human, prompt: x, writes: [k]}}\n    edges: [{from: q, to: END}]"
	return []Case{
		{
			Name: "a subgraph", Says: "§4 graph: {output, state, status, quality} of the child; §5 path holds a graph's own nodes only", Top: sub,
			Nodes: "g: {kind: graph, graph: '#sub', with: {n: 4}, writes: {k: output.output}}", Edges: "g > END",
			Want: Want{Path: "g", Steps: 2, State: map[string]any{"k": 8}, Output: map[string]any{"output": 8, "state": map[string]any{"n": 4, "twice": 8}, "status": "completed", "quality": "clean"}},
		},
		{
			Name: "a subgraph that fails", Says: "§11 In a child, fail is child_failed", Top: with(""),
			Nodes: "g: {kind: graph, graph: '#sub'}", Edges: "g > END\ng > b {condition: on_failure}\nb > END",
			Want: Want{Path: "g b", Steps: 5, Saw: map[string]string{"b.error.kind": "child_failed"}},
		},
		{
			Name: "a subgraph that returns at its limit", Says: "§11 the others a success", Top: with(", on_max_steps: return_last"),
			Nodes: "g: {kind: graph, graph: '#sub'}", Edges: "g > END", Want: Want{Path: "g", Steps: 4, Quality: "degraded"},
		},
		{
			Name: "steps of a subgraph count around it", Says: "§5 its steps count towards the limits of all graphs around it", Top: "limits: {max_steps: 3}\n" + with(""),
			Nodes: "g: {kind: graph, graph: '#sub'}", Edges: "g > END", Want: Want{Status: "limit", Reason: "max_steps", Steps: 3},
		},
		{
			Name: "a subgraph that waits holds up its branch only", Says: "§5 holds up its own branch and nothing else", Top: asking,
			Nodes: "g: {kind: graph, graph: '#sub'}", Do: map[string]Act{"g/q": {Out: "ok", Takes: 9 * time.Second}},
			Edges: "a > g b\nb > c\nc > END\ng > END", Want: Want{Path: "a g b c", Took: 10 * time.Second},
		},
		{
			Name: "max_steps", Says: "§5 at the limit running steps end and no further one starts", Top: "limits: {max_steps: 3}",
			Edges: "a > a {when: 'step < 99'}\na > END", Want: Want{Status: "limit", Quality: "failed", Reason: "max_steps", Path: "a a a"},
		},
		{
			Name: "END on the last step", Says: "§5 reaching END on the last permitted step is a completion", Top: "limits: {max_steps: 2}",
			Edges: "a > b\nb > END", Want: Want{Path: "a b"},
		},
		{
			Name: "return_last", Says: "§11 return_last is completed, degraded", Top: "limits: {max_steps: 3, on_max_steps: return_last}\noutput: {a: n, b: k.x}",
			Edges: "a > a {when: 'step < 99'}\na > END", Want: Want{Quality: "degraded", Path: "a a a", Output: map[string]any{"a": 0, "b": nil}},
		},
		{
			Name: "the run's timeout", Says: "§2 timeout (active time of the run)", Top: "limits: {timeout: 5s}",
			Nodes: "q: {kind: human, prompt: x}", Do: map[string]Act{"q": {Takes: 20 * time.Second, Out: "x"}, "b": {Takes: 9 * time.Second}},
			Edges: "a > q\nq > b\nb > END", Want: Want{Status: "limit", Reason: "timeout", Path: "a q", Took: 25 * time.Second},
		},
		{
			Name: "a person answers", Says: "§4 human: the answer", Nodes: "q: {kind: human, prompt: x, writes: [k]}", Do: map[string]Act{"q": {Out: "fine"}},
			Edges: "q > END", Want: Want{State: map[string]any{"k": "fine"}, Quality: "clean"},
		},
		{
			Name: "a person does not answer", Says: "§5 The run is paused when only steps that wait for a person are left", Nodes: "q: {kind: human, prompt: x}", Do: map[string]Act{"q": {Never: true}},
			Edges: "a > q b\nb > c\nc > END\nq > END", Want: Want{Status: "paused", Path: "a b c", Pending: "q"},
		},
		{
			Name: "an absent person", Says: "§4 timeout with default answers for an absent person, without a default it fails",
			Nodes: "q: {kind: human, prompt: x, timeout: 5s, default: none, writes: [k]}\nr: {kind: human, prompt: x, timeout: 5s}", Do: map[string]Act{"q": {Never: true}, "r": {Never: true}},
			Edges: "q > r\nr > END", Want: Want{Status: "failed", Error: "timeout r", State: map[string]any{"k": "none"}},
		},
		{
			Name: "an interrupt", Says: "§4 with a clean exit the task pauses for an answer and runs again. Interrupts are never retried",
			Do: map[string]Act{"a": {Asks: []string{"one", "two"}, Out: "x"}}, Edges: "a > END", Want: Want{Path: "a", Steps: 1, Output: "x", Took: 3 * time.Second},
		},
		{
			Name: "pause_before", Says: "§2 pause_before: node lists: static interrupts; §5 no further step starts; running ones end", Top: "pause_before: [c]",
			Do: map[string]Act{"b": {Takes: 5 * time.Second}}, Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{Status: "paused", Path: "a b", Pending: "c", Took: 6 * time.Second},
		},
		{
			Name: "pause_after", Says: "§2 pause_after", Top: "pause_after: [a]", Edges: "a > b\nb > END", Want: Want{Status: "paused", Path: "a", Pending: "a"},
		},
		{
			Name: "cancel", Says: "§7 a running step that is cancelled writes nothing", Options: Options{CancelAt: 1500 * time.Millisecond},
			Edges: "a > b\nb > END", Want: Want{Status: "cancelled", Quality: "failed", Path: "a", Log: "a", Error: "cancelled"},
		},
		{
			Name: "finally", Says: "§2 finally: run one after the other when the end of the run is decided; they count no step against a limit", Top: "finally: [y, z]\nlimits: {max_steps: 1}",
			Nodes: "y: {kind: set, set: {k: run.status}}\nz: {kind: set, set: {log: error.kind}}", Do: map[string]Act{"a": failWith("tool")},
			Edges: "a > END", Want: Want{Status: "failed", Error: "tool a", State: map[string]any{"k": "failed"}, Log: "tool", Steps: 1},
		},
		{
			Name: "finally that fails", Says: "§2 one that fails makes a completed run degraded", Top: "finally: y",
			Nodes: "y: {kind: exec, command: [x]}", Do: map[string]Act{"y": failWith("tool"), "a": {Out: 1}},
			Edges: "a > END", Want: Want{Quality: "degraded", Output: 1},
		},
		{
			Name: "require", Says: "§10 on every path to deploy, approve has succeeded; what a sibling branch does is neither", Top: "policies: [{require: b, before: c2}]",
			Edges: "a > b c\nc > c2\nb > END\nc2 > END", Want: Want{Status: "failed", Reason: "policy", Path: "a b c"},
		},
		{
			Name: "forbid", Says: "§10 before and after speak of a step's past", Top: "policies: [{forbid: c, after: b}]",
			Edges: "a > b c\nb > END\nc > END", Want: Want{Path: "a b c"},
		},
		{
			Name: "never", Says: "§10 {never: EXPR, at: node}", Top: "policies: [{never: 'n > 1', at: s}]", Nodes: "s: {kind: set, set: {n: 1}}",
			Edges: "s > s {when: 'visits.s < 3'}\ns > END", Want: Want{Status: "failed", Reason: "policy", Path: "s s"},
		},
		{
			Name: "a policy of visits", Says: "§10 {max_visits: 3, node: write}", Top: "policies: [{max_visits: 2, node: a}]",
			Edges: "a > a {when: 'visits.a < 9'}\na > END", Want: Want{Status: "failed", Reason: "policy", Path: "a a"},
		},
	}
}
