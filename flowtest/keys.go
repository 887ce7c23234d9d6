// The table of the keys of test files.

package flowtest

import "github.com/graphrun/graphrun/spec"

// Keys returns the table of a test file's keys.
func Keys() []spec.Key {
	return []spec.Key{
		{Name: "graphrun-test", Type: spec.TypeEnum, Enum: []string{"v1"}, Required: true, Doc: "The version of test files; its presence makes a file a test file."},
		{Name: "flow", Type: spec.TypeString, Default: "this file's name without .test", Doc: "The graph file under test, relative to this file."},
		{Name: "description", Type: spec.TypeString, Doc: "What the file shows, for people."},
		{Name: "defaults", Type: spec.TypeObject, Keys: caseKeys(), Doc: "Defaults of every case, by key; stubs by node."},
		{Name: "cases", Type: spec.TypeList, NonEmpty: true, Required: true, Elem: &spec.Key{Type: spec.TypeObject, Keys: namedCase()}, Doc: "The cases, each a run of the flow."},
	}
}

func namedCase() []spec.Key {
	row := append([]spec.Key{{Name: "name", Type: spec.TypeString, Default: "the number of the row", Doc: "What the row shows."}}, caseKeys()...)
	return append([]spec.Key{
		{Name: "name", Type: spec.TypeString, Required: true, Doc: "What the case shows; unique in the file."},
		{Name: "description", Type: spec.TypeString, Doc: "More about the case, for people."},
		{Name: "each", Type: spec.TypeList, NonEmpty: true, Elem: &spec.Key{Type: spec.TypeObject, Keys: row}, Doc: "Rows: the case runs once for each row, whose keys replace those of the case."},
	}, caseKeys()...)
}

func newMapKey(name, doc string) spec.Key {
	return spec.Key{Name: name, Type: spec.TypeMap, Elem: &spec.Key{Type: spec.TypeAny}, Doc: doc}
}

// newTextsKey returns a key that takes a text or a list of texts.
func newTextsKey(name, doc string) spec.Key {
	text := spec.Key{Type: spec.TypeString}
	return spec.Key{Name: name, Type: spec.TypeOneOf, Forms: []spec.Key{text, {Type: spec.TypeList, Elem: &text}}, Doc: doc}
}

func caseKeys() []spec.Key {
	stub, decision := stubKey(2), newTextsKey("", "")
	return []spec.Key{
		newMapKey("input", "The run's input, by state key."),
		{Name: "stubs", Type: spec.TypeMap, Elem: &stub, Doc: "Results of nodes that do not run, by node (outer/inner in a subgraph): one stub for every visit, or a list with one a visit."},
		newMapKey("answers", "What people answer, by node, NODE:KEY for the question of a program, NODE[0] for an element: an answer, or a list of them by visit."),
		{Name: "decide", Type: spec.TypeMap, Elem: &decision, Doc: "What llm_decide edges decide, by node: a target, or a list of them by visit."},
		{Name: "models", Type: spec.TypeString, Doc: "A file of scripted answers, relative to this one: model nodes then run for real against it."},
		{Name: "tools", Type: spec.TypeMap, Elem: &stub, Doc: "Results of tools that are not called, by name (server.tool): one stub for every call, or a list with one a call."},
		{Name: "run", Type: spec.TypeObject, Keys: runKeys(), Doc: "Options of the run, like the flags of graphrun run."},
		{Name: "resume", Type: spec.TypeList, NonEmpty: true, Elem: &spec.Key{Type: spec.TypeObject, Keys: []spec.Key{
			newMapKey("answers", "What people answer then."),
			{Name: "after", Type: spec.TypeDuration, Default: "0s", Doc: "The virtual time that passes before."},
		}}, Doc: "How the paused run is resumed, one entry for each resume."},
		{Name: "expect", Type: spec.TypeOneOf, Forms: []spec.Key{
			{Type: spec.TypeObject, Keys: expectKeys()}, {Type: spec.TypeEnum, Enum: []string{"update"}},
		}, Doc: "What must hold at the end. test --update replaces update by the actual path and state."},
	}
}

// stubKey returns the key of a stub. deep bounds the nesting of entries.
func stubKey(deep int) spec.Key {
	entry := entryKey(deep)
	return spec.Key{Type: spec.TypeOneOf, Forms: []spec.Key{entry, {Type: spec.TypeList, NonEmpty: true, Elem: &entry}}}
}

func entryKey(deep int) spec.Key {
	event := newMapKey("", "")
	keys := []spec.Key{
		{Name: "output", Type: spec.TypeAny, Doc: "The node's output."},
		{Name: "error", Type: spec.TypeObject, Doc: "The node's failure.", Keys: []spec.Key{
			{Name: "kind", Type: spec.TypeString, Required: true, Doc: "The kind of the failure."},
			{Name: "message", Type: spec.TypeString, Doc: "The failure in words."},
			newMapKey("details", "More about the failure."),
		}},
		{Name: "expr", Type: spec.TypeString, Role: spec.RoleExpr, Doc: "An expression for the output; it reads what the node's own expressions read."},
		{Name: "real", Type: spec.TypeBool, Doc: "Runs the node as it is."},
		{Name: "delay", Type: spec.TypeDuration, Default: "0s", Doc: "How long it takes, in virtual time."},
		{Name: "events", Type: spec.TypeList, Elem: &event, Doc: "The events that the node emits, as a program does through GRAPHRUN_TASK_EVENTS."},
	}
	choice := []string{"error", "expr", "output", "real"}
	if deep > 0 {
		inner := entryKey(deep - 1)
		keys = append(keys,
			spec.Key{Name: "attempts", Type: spec.TypeList, NonEmpty: true, Elem: &inner, Doc: "One stub for each attempt."},
			spec.Key{Name: "items", Type: spec.TypeList, NonEmpty: true, Elem: &inner, Doc: "One stub for each element of an each."},
		)
		choice = []string{"attempts", "error", "expr", "items", "output", "real"}
	}
	return spec.Key{Type: spec.TypeObject, Keys: keys, Choices: []spec.Choice{{Keys: choice, Required: true}}}
}

func runKeys() []spec.Key {
	return []spec.Key{
		{Name: "max_steps", Type: spec.TypeInt, Positive: true, Doc: "The most node executions."},
		{Name: "max_concurrency", Type: spec.TypeInt, Positive: true, Doc: "The most nodes at once."},
		{Name: "timeout", Type: spec.TypeDuration, Positive: true, Doc: "The longest active time."},
		{Name: "goal", Type: spec.TypeString, Doc: "The goal of the run."},
		newTextsKey("pause_before", "Nodes to pause before."),
		newTextsKey("pause_after", "Nodes to pause after."),
		{Name: "session", Type: spec.TypeOneOf, Forms: []spec.Key{{Type: spec.TypeString}, newMapKey("", "")}, Doc: "The id of a new session, or the state keys that the session's last run left."},
		{Name: "labels", Type: spec.TypeMap, Elem: &spec.Key{Type: spec.TypeString}, Doc: "Labels of the run."},
	}
}

func expectKeys() []spec.Key {
	zero := 0.0
	count := func(name, doc string) spec.Key {
		return spec.Key{Name: name, Type: spec.TypeInt, Min: &zero, Doc: doc}
	}
	visits := count("", "")
	path := []spec.Key{
		newTextsKey("exactly", "The whole path."), newTextsKey("starts", "The path begins with these."), newTextsKey("ends", "The path ends with these."),
		newTextsKey("contains", "These are all on the path."), newTextsKey("order", "These are on the path in this order, others between them."),
		newTextsKey("never", "None of these is on the path."),
		{Name: "matches", Type: spec.TypeString, Doc: "A regular expression over the names, joined by a space."},
	}
	return []spec.Key{
		{Name: "status", Type: spec.TypeString, Doc: "How the run ended: completed, failed, stuck, limit, paused, cancelled."},
		{Name: "quality", Type: spec.TypeString, Doc: "clean, degraded or failed."},
		{Name: "reason", Type: spec.TypeString, Doc: "Why it ended."},
		count("exit", "The exit code."), count("steps", "Node executions."),
		{Name: "visits", Type: spec.TypeMap, Elem: &visits, Doc: "How often nodes ran."},
		{Name: "output", Type: spec.TypeAny, Doc: "The run's output. Of an object, only the keys named here count."},
		newMapKey("state", "The state at the end. Only the keys named here count, also in objects."),
		newMapKey("state_exactly", "The whole state at the end."),
		{Name: "error", Type: spec.TypeObject, Doc: "Why the run failed.", Keys: []spec.Key{
			{Name: "kind", Type: spec.TypeString, Doc: "The kind of the failure."},
			{Name: "node", Type: spec.TypeString, Doc: "The node that failed."},
			{Name: "message", Type: spec.TypeString, Doc: "The failure in words."},
			{Name: "attempt", Type: spec.TypeInt, Doc: "The last attempt."},
			newMapKey("details", "More about the failure."),
		}},
		{Name: "pending", Type: spec.TypeList, Elem: &spec.Key{Type: spec.TypeObject, Keys: []spec.Key{
			{Name: "node", Type: spec.TypeString, Doc: "The node that asks."},
			{Name: "key", Type: spec.TypeString, Doc: "The key under which a program asks."},
			{Name: "index", Type: spec.TypeInt, Doc: "The element that asks."},
			{Name: "kind", Type: spec.TypeString, Doc: "human, interrupt or tool."},
			{Name: "prompt", Type: spec.TypeString, Doc: "The text of the question."},
			{Name: "schema", Type: spec.TypeAny, Doc: "The schema of legal answers."},
		}}, Doc: "All open questions of the run."},
		{Name: "duration", Type: spec.TypeString, Doc: "The virtual time that passed, such as 48h."},
		{Name: "edges", Type: spec.TypeObject, Keys: []spec.Key{
			newTextsKey("fired", "Edges that fired, by id or as \"from -> to\"."), newTextsKey("not_fired", "Edges that did not fire."),
		}, Doc: "Which edges fired."},
		newTextsKey("where", "Expressions that are true at the end, over state keys, state, output, status, quality, reason, path, steps, visits, nodes, history, error, pending, duration (in seconds)."),
		{Name: "path", Type: spec.TypeOneOf, Forms: []spec.Key{{Type: spec.TypeList, Elem: &spec.Key{Type: spec.TypeString}}, {Type: spec.TypeObject, Keys: path}}, Doc: "The nodes that ran, in order: the whole list, or conditions on it."},
	}
}
