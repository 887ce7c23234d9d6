// Cases of joins, merging and failures of branches (§7).

package referencetest

import "time"

func joinCases() []Case {
	explicit := "parallel: {join: explicit}"
	return []Case{
		{
			Name: "a barrier", Says: "§7 it runs once per fan-out, when all live branches that can still reach it have arrived", Top: explicit,
			Do:    map[string]Act{"c": {Takes: 9 * time.Second}},
			Edges: "a > b c d\nb > jx\nc > jx\nd > jx\njx > END",
			Want:  Want{Path: "a b c d jx", Quality: "clean"},
		},
		{
			Name: "who ends elsewhere is not waited for", Says: "§7 a branch that ends elsewhere is no longer waited for", Top: explicit,
			Edges: "a > b c\nb > jx\nc > END {when: 'true'}\nc > jx\njx > END",
			Want:  Want{Path: "a b c jx", Quality: "clean", Saw: map[string]string{"jx.visits.c": "0", "jx.step": "3"}},
		},
		{
			Name: "what never comes to the join is not seen behind it", Says: "§7 a branch that goes elsewhere is merged when the run ends", Top: explicit,
			Edges: "a > b c d\nb > jx\nc > jx\nd > e\ne > END\njx > f\nf > END",
			Want:  Want{Path: "a b c d jx e f", Log: "a b c d jx e f", Saw: map[string]string{"f.log": `["a","b","c","jx"]`}},
		},
		{
			Name: "any", Says: "§7 any/N cancel what is still on its way to them", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: any}}", Do: map[string]Act{"b": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > jx\nc > jx\njx > END",
			Want:  Want{Path: "a c jx", Quality: "clean", Log: "a c", Took: 2 * time.Second},
		},
		{
			Name: "a quorum", Says: "§7 when N live branches have arrived", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: 2}}", Do: map[string]Act{"c": {Takes: 5 * time.Second}, "c2": {Takes: 5 * time.Second}},
			Edges: "a > b c d\nb > jx\nc > jx\nd > jx\njx > END",
			Want:  Want{Path: "a b d jx", Quality: "clean", Took: 2 * time.Second},
		},
		{
			Name: "what a cancelled branch wrote stays first", Says: "§7 first those of failed and cancelled branches (what they wrote since the split), then all others", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: any}}", Do: map[string]Act{"b2": {Takes: 5 * time.Second}, "c": {Takes: 2 * time.Second}},
			Edges: "a > c b\nb > b2\nb2 > jx\nc > jx\njx > END",
			Want:  Want{Path: "a c b jx", Log: "a b c", Took: 3 * time.Second},
		},
		{
			Name: "a quorum that can't be reached is dropped", Says: "§7 When fewer than N branches are left, on_bypass decides: a quorum is never silently lowered", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: 2}}",
			Edges: "a > b c\nb > jx\nc > END {when: 'true'}\nc > jx\njx > d\nd > END",
			Want:  Want{Path: "a b c", Quality: "degraded"},
		},
		{
			Name: "a quorum that can't be reached goes on", Says: "§7 on_bypass stands beside all and N; continue without all that were wanted is at best degraded", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: 2, on_bypass: continue}}",
			Edges: "a > b c\nb > jx\nc > END {when: 'true'}\nc > jx\njx > d\nd > END",
			Want:  Want{Path: "a b c jx d", Quality: "degraded"},
		},
		{
			Name: "bypass drops", Says: "§7 a → [b, c] → d never runs d when b left by a failure edge", Do: map[string]Act{"b": failWith("tool")},
			Edges: "a > b c\nb > d\nc > d\nb > e {condition: on_failure}\nd > END\ne > END",
			Want:  Want{Path: "a b c e", Quality: "degraded", Log: "a c e"},
		},
		{
			Name: "bypass continues", Says: "§7 continue (the join runs with those that arrived)", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: all, on_bypass: continue}}", Do: map[string]Act{"b": failWith("tool")},
			Edges: "a > b c\nb > jx\nc > jx\nb > e {condition: on_failure}\njx > END\ne > END",
			Want:  Want{Path: "a b c e jx", Quality: "degraded", Saw: map[string]string{"jx.visits.b": "0"}},
		},
		{
			Name: "bypass fails", Says: "§7 fail (the join node fails, kind bypassed, and its own failure edges apply)", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: all, on_bypass: fail}}", Do: map[string]Act{"b": failWith("tool")},
			Edges: "a > b c\nb > jx\nc > jx\nb > e {condition: on_failure}\njx > END\njx > f {condition: on_failure}\ne > END\nf > END",
			Want:  Want{Path: "a b c e jx f", Quality: "degraded", Saw: map[string]string{"f.error.kind": "bypassed"}},
		},
		{
			Name: "bypass fails though nobody arrived", Says: "§7 fail fails also when nobody arrived", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: all, on_bypass: fail}}", Do: map[string]Act{"b": failWith("tool"), "c": failWith("tool")},
			Edges: "a > b c\nb > jx\nc > jx\nb > END {condition: on_failure}\nc > END {condition: on_failure}\njx > END",
			Want:  Want{Status: "failed", Error: "bypassed jx"},
		},
		{
			Name: "nobody arrived", Says: "§7 the others then do nothing", Top: explicit,
			Do:    map[string]Act{"b": failWith("tool"), "c": failWith("tool")},
			Edges: "a > b c\nb > jx\nc > jx\nb > END {condition: on_failure}\nc > END {condition: on_failure}\njx > END",
			Want:  Want{Path: "a b c", Quality: "degraded"},
		},
		{
			Name: "a repair comes back", Says: "§7 took a failure edge and can no longer reach", Top: explicit, Do: map[string]Act{"b": failWith("tool")},
			Edges: "a > b c\nb > jx\nc > jx\nb > r {condition: on_failure}\nr > jx\njx > END",
			Want:  Want{Path: "a b c r jx", Quality: "degraded", Saw: map[string]string{"jx.visits.b": "1"}},
		},
		{
			Name: "a dropped join bypasses the next", Says: "§7 A failure never counts as an arrival", Top: explicit, Do: map[string]Act{"d": failWith("tool")},
			Edges: "a > b c\nb > d e\nd > jx\ne > jx\nd > END {condition: on_failure}\njx > jy\nc > jy\njy > END",
			Want:  Want{Path: "a b c d e", Quality: "degraded"},
		},
		{
			Name: "joins that wait for each other", Says: "§7 When all that is left waits for each other, the join that stands first in the file runs", Top: explicit,
			Nodes: "jx: {kind: pass, join: {wait: all}}\njy: {kind: pass, join: {wait: all}}",
			Edges: "a > b c\nb > jx\nc > jy\njx > jy {when: 'visits.jx < 2'}\njx > END\njy > jx {when: 'visits.jy < 2'}\njy > END",
			Want:  Want{Path: "a b c jx jy jx"},
		},
		{
			Name: "inputs of a join", Says: "§7 At a join inputs.<source> holds what came along each edge", Top: explicit,
			Do:    map[string]Act{"b": {Out: 1}, "c": {Out: 2}},
			Edges: "a > b c\nb > jx {transform: 'output * 10'}\nc > jx\njx > END",
			Want:  Want{Saw: map[string]string{"jx.inputs": `{"b":10,"c":2}`, "jx.input": `{"b":10,"c":2}`}},
		},
		{
			Name: "one source several times", Says: "§7 a list in path order where one source arrived several times",
			Nodes: "x: {kind: pass}", Top: explicit, Do: map[string]Act{"b": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > x\nc > x\nx > jx {transform: 'keys(inputs)[0]'}\njx > END",
			Want:  Want{Path: "a b c x x jx", Saw: map[string]string{"jx.inputs": `{"x":["b","c"]}`, "jx.visits.x": "2"}},
		},
		{
			Name: "the last wins", Says: "§7 last_wins takes the last in this order",
			Nodes: "b: {kind: exec, command: [x], writes: {k: \"'b'\"}}\nc: {kind: exec, command: [x], writes: {k: \"'c'\"}}",
			Do:    map[string]Act{"b": {Takes: 9 * time.Second}},
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{State: map[string]any{"k": "c"}, Saw: map[string]string{"d.k": "c"}},
		},
		{
			Name: "the first wins", Says: "§7 first_wins the branch whose write comes first in it", Top: "parallel: {conflict: first_wins}",
			Nodes: "b: {kind: exec, command: [x], writes: {k: \"'b'\"}}\nc: {kind: exec, command: [x], writes: {k: \"'c'\"}}\nb2: {kind: set, set: {k: \"k + '2'\"}}",
			Edges: "a > b c\nb > b2\nb2 > d\nc > d\nd > END", Want: Want{State: map[string]any{"k": "b2"}},
		},
		{
			Name: "a conflict", Says: "§7 error fails the join node, kind conflict", Top: "parallel: {conflict: error}",
			Nodes: "b: {kind: set, set: {k: 1}}\nc: {kind: set, set: {k: 2}}",
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{Status: "failed", Error: "conflict d", Path: "a b c d"},
		},
		{
			Name: "a conflict that an edge takes", Says: "§7 Behind a failure edge that takes it the key has its value at the split, and the conflict is decided", Top: "parallel: {conflict: error}",
			Nodes: "a: {kind: set, set: {k: 0}}\nb: {kind: set, set: {k: 1, n: 1}}\nc: {kind: set, set: {k: 2, n: 1}}",
			Edges: "a > b c\nb > d\nc > d\nd > END\nd > e {condition: on_failure}\ne > END",
			Want:  Want{Quality: "degraded", Path: "a b c d e", State: map[string]any{"k": 0, "n": 2}, Saw: map[string]string{"e.k": "0", "e.n": "2"}},
		},
		{
			Name: "a conflict at the end", Says: "§7 at the end of a run without a join: the run, with no node", Top: "parallel: {conflict: error}",
			Nodes: "b: {kind: set, set: {k: 1}}\nc: {kind: set, set: {k: 2}}",
			Edges: "a > b c\nb > END\nc > END", Want: Want{Status: "failed", Error: "conflict "},
		},
		{
			Name: "no conflict with a write in the past", Says: "§7 neither of which is in the other's past", Top: "parallel: {conflict: error}",
			Nodes: "a: {kind: set, set: {k: 0}}\nb: {kind: set, set: {k: 1}}",
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{State: map[string]any{"k": 1}},
		},
		{
			Name: "the node that fanned out has its own policy", Says: "§7 The policy is that of the node where the two writers' branches parted",
			Nodes: "a: {kind: pass, parallel: {conflict: first_wins}}\nb: {kind: set, set: {k: 1}}\nc: {kind: set, set: {k: 2}}",
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{State: map[string]any{"k": 1}},
		},
		{
			Name: "reducers reduce every write again", Says: "§7 two branches that append give both elements and two that sum give both amounts",
			State: "big: {type: integer, reducer: max, default: 3}\nset: {type: array, reducer: union, default: [0]}\nmix: {type: integer, reducer: 'current * 10 + update', default: 1}\nobj: {type: object, reducer: merge, default: {}}\npre: {type: array, reducer: prepend, default: []}",
			Nodes: "b: {kind: set, set: {n: 2, big: 5, set: [1, 2], mix: 2, obj: \"{a: 1, b: 1}\", pre: [1]}}\nc: {kind: set, set: {n: 3, big: 4, set: [2, 3], mix: 3, obj: \"{b: 2}\", pre: [2]}}",
			Edges: "a > b c\nb > d\nc > d\nd > END",
			Want:  Want{State: map[string]any{"n": 5, "big": 5, "set": []any{0, 1, 2, 3}, "mix": 123, "obj": map[string]any{"a": 1, "b": 2}, "pre": []any{2, 1}}},
		},
		{
			Name: "nodes and history add up", Says: "§7 visits and steps add up, nodes.<id> is the last in this order, history lists all", Top: explicit,
			Nodes: "x: {kind: exec, command: [x], before: {v: 1}}", Do: map[string]Act{"b": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > x\nc > c2\nc2 > x\nx > jx\njx > END",
			Want:  Want{Saw: map[string]string{"jx.len(history.x)": "2", "jx.nodes.x.visits": "2", "jx.step": "7"}},
		},
	}
}

func failureCases() []Case {
	return []Case{
		{
			Name: "fail_all", Says: "§7 fail_all cancels the siblings at once and the failure propagates", Do: map[string]Act{"b": failWith("tool"), "c": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > d\nc > d\nd > END",
			Want:  Want{Status: "failed", Path: "a b", Error: "tool b", Took: 2 * time.Second},
		},
		{
			Name: "continue_others", Says: "§7 continue_others drops the failed branch, the run is at best degraded", Top: "parallel: {on_failure: continue_others}",
			Do:    map[string]Act{"b2": failWith("tool"), "c": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > b2\nb2 > d\nc > d\nd > END",
			Want:  Want{Path: "a b c b2 d", Quality: "degraded", Log: "a b c d", Saw: map[string]string{"d.visits.b2": "1", "d.keys(inputs)": `["c"]`}},
		},
		{
			Name: "what a failed branch wrote comes first", Says: "§7 first those of failed and cancelled branches, then all others", Top: "parallel: {on_failure: continue_others}",
			Do:    map[string]Act{"c2": failWith("tool")},
			Edges: "a > b c\nb > d\nc > c2\nc2 > d\nd > END",
			Want:  Want{Path: "a b c c2 d", Log: "a c b d"},
		},
		{
			Name: "wait_all", Says: "§7 wait_all gives the join node results and errors", Top: "parallel: {on_failure: wait_all}",
			Nodes: "d: {kind: set, set: {k: 'branches.b.error.kind'}, join: {wait: all}}",
			Do:    map[string]Act{"b": failWith("tool"), "c": {Out: 4}},
			Edges: "a > b c\nb > d\nc > d\nd > END",
			Want:  Want{Path: "a b c d", Quality: "degraded", State: map[string]any{"k": "tool"}, Saw: map[string]string{"d.branches.c.output": "4"}},
		},
		{
			Name: "an enclosing branch fails", Says: "§6 a fail_all fails the enclosing branch, else the run", Do: map[string]Act{"d": failWith("tool"), "e": {Takes: 5 * time.Second}, "c": {Takes: 9 * time.Second}},
			Nodes: "a: {kind: pass, parallel: {on_failure: continue_others}}",
			Edges: "a > b c\nb > d e\nd > f\ne > f\nf > g\nc > g\ng > END",
			Want:  Want{Path: "a b c d g", Quality: "degraded", Log: "b c g"},
		},
		{
			Name: "a join is outside of its fan-out", Says: "§7 A join belongs to what surrounds its fan-out: its failure is no failure of a branch of it", Do: map[string]Act{"d": failWith("tool")},
			Nodes: "a: {kind: pass, parallel: {on_failure: continue_others}}",
			Edges: "a > b c\nb > d\nc > d\nd > END",
			Want:  Want{Status: "failed", Error: "tool d", Path: "a b c d"},
		},
		{
			Name: "branch_timeout", Says: "§2 branch_timeout (a branch failure of kind timeout)", Top: "parallel: {on_failure: continue_others, branch_timeout: 3s}",
			Do:    map[string]Act{"b2": {Takes: 9 * time.Second}},
			Edges: "a > b c\nb > b2\nb2 > d\nc > d\nd > END",
			Want:  Want{Path: "a b c d", Quality: "degraded", Log: "a b c d", Took: 5 * time.Second},
		},
		{
			Name: "expression errors end the run", Says: "§6 stuck and expression errors end the run at once, wherever they happen", Top: "parallel: {on_failure: continue_others}",
			Nodes: "b: {kind: set, set: {k: k.x.y}}", Do: map[string]Act{"c": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > d\nc > d\nd > END", Want: Want{Status: "failed", Error: "expression b"},
		},
		{
			Name: "stuck in a branch", Says: "§6 stuck and expression errors end the run at once, wherever they happen", Top: "parallel: {on_failure: continue_others}",
			Do:    map[string]Act{"c": {Takes: 5 * time.Second}},
			Edges: "a > b c\nb > END {when: 'n > 0'}\nc > END", Want: Want{Status: "stuck", Path: "a b", Took: 2 * time.Second},
		},
		{
			Name: "a failure edge at a branch", Says: "§7 A failure that continue_others dropped is not waited for", Top: "parallel: {on_failure: continue_others, join: explicit}",
			Do:    map[string]Act{"b": failWith("tool")},
			Edges: "a > b c d\nb > jx\nc > jx\nd > jx\njx > END",
			Want:  Want{Path: "a b c d jx", Quality: "degraded"},
		},
	}
}
