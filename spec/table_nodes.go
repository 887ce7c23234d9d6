// The table's keys of every node and of edges.

package spec

// exprMapKey is a map of names to expressions.
func exprMapKey(name, doc string) Key {
	return Key{Name: name, Type: TypeMap, Role: RoleExpr, Elem: &Key{Type: TypeString, Role: RoleExpr}, Doc: doc}
}

// nodeKeys are the keys that every node may have, without `kind`.
var nodeKeys = []Key{
	{Name: "description", Type: TypeString, Doc: "What the node does, for people and decisions."},
	{Name: "reads", Type: TypeOneOf, Role: RoleState, Forms: oneOrMany(Key{Type: TypeString, Role: RoleState}), Default: "all", Doc: "The state keys that the node may see."},
	{
		Name: "writes", Type: TypeOneOf, Doc: "The state keys that the node writes: a list, or a map of expressions over `output`.",
		Forms: []Key{{Type: TypeString, Role: RoleState}, listOf(Key{Type: TypeString, Role: RoleState}), {Type: TypeMap, Elem: &Key{Type: TypeString, Role: RoleExpr}}},
	},
	{Name: "retry", Type: TypeOneOf, Forms: retryForms, Doc: "Retries of failed attempts: a block, or a list of blocks, where the first that takes the kind of the failure decides; each counts its own failures."},
	{Name: "timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "The time limit of an attempt."},
	{Name: "max_visits", Type: TypeInt, Positive: true, Default: "none", Doc: "How often the node may run."},
	{Name: "on_max_visits", Type: TypeEnum, Enum: []string{"fail", "skip"}, Default: "fail", Doc: "What happens on a visit beyond `max_visits`."},
	{Name: "queue", Type: TypeString, Doc: "On a Temporal cluster: only workers started with `--queue` and this name run the node. Otherwise ignored."},
	{Name: "cache", Type: TypeObject, Keys: cacheKeys, Doc: "Reuses results between visits and runs."},
	{Name: "routing", Type: TypeEnum, Enum: []string{"first", "all"}, Default: "first", Doc: "Whether the first matching edge fires or all do."},
	{Name: "goto", Type: TypeString, Role: RoleExpr, Doc: "An expression that gives a label of `ends`, or a list of them."},
	{
		Name: "ends", Type: TypeOneOf, Doc: "The legal targets of `goto`: a map from label to node or `END`, or a list of nodes.",
		Forms: []Key{listOf(Key{Type: TypeName, Role: RoleNode}), {Type: TypeMap, Elem: &Key{Type: TypeName, Role: RoleNode}}},
	},
	{Name: "join", Type: TypeObject, Doc: "Makes the node a barrier for branches.", Keys: []Key{
		{Name: "wait", Type: TypeOneOf, Required: true, Forms: []Key{{Type: TypeEnum, Enum: []string{"all", "any"}}, {Type: TypeInt, Positive: true}}, Doc: "How many branches the join waits for."},
		{Name: "on_bypass", Type: TypeEnum, Enum: []string{"continue", "drop", "fail"}, Default: "drop", Doc: "What happens when a branch that `wait: all` waits for leaves by a failure edge and does not come back: the arrived branches end (drop), continue without it (continue), or the node fails (fail)."},
	}},
	{Name: "decide", Type: TypeObject, Doc: "What the model that decides between the node's `llm_decide` edges sees besides goal, output, path and candidates.", Keys: []Key{
		{Name: "see", Type: TypeOneOf, Role: RoleState, Forms: oneOrMany(Key{Type: TypeString, Role: RoleState}), Doc: "State keys to show; secret values are masked."},
		{Name: "instructions", Type: TypeString, Doc: "How to decide; plain text, not a template."},
	}},
	{Name: "each", Type: TypeString, Role: RoleExpr, Doc: "A list; the node runs once for each element."},
	{Name: "max_concurrency", Type: TypeInt, Positive: true, Default: "that of `limits`", Doc: "The most elements of `each` at once."},
	{Name: "parallel", Type: TypeObject, Keys: parallelKeys, Doc: "The graph's `parallel` for the branches that start here."},
	{Name: "feedback", Type: TypeBool, Default: "feedback_on_revisit", Doc: "Whether the prompt reports earlier visits."},
	{Name: "conversation", Type: TypeOneOf, Forms: conversationForms("reset"), Doc: "How the node uses the conversation."},
	exprMapKey("before", "Expressions whose values are added to the node's `input`."),
	exprMapKey("emit", "Expressions whose values make a custom event after success."),
	{Name: "output", Type: TypeSchema, Doc: "The JSON Schema of the node's output."},
}

// Conditions of edges, in the order in which reports list them.
var conditions = []string{"always", "conditional", "llm_decide", "on_failure", "on_success"}

// edgeKeys are the keys of an edge.
var edgeKeys = []Key{
	{Name: "from", Type: TypeOneOf, Required: true, Role: RoleNode, Forms: oneOrSome(Key{Type: TypeName, Role: RoleNode}), Doc: "The node, or nodes, that the edge leaves."},
	{Name: "to", Type: TypeOneOf, Required: true, Role: RoleNode, Forms: oneOrSome(Key{Type: TypeName, Role: RoleNode}), Doc: "The node or `END` that the edge leads to; a list is a fan-out."},
	{Name: "condition", Type: TypeEnum, Enum: conditions, Default: "conditional with `when`, else on_success", Doc: "When the edge can fire."},
	{Name: "when", Type: TypeString, Role: RoleExpr, Doc: "The condition of a `conditional` edge, or a filter over `error` of an `on_failure` edge."},
	{Name: "id", Type: TypeName, Doc: "The edge's name."},
	{Name: "label", Type: TypeString, Doc: "The text of the edge in drawings."},
	{Name: "description", Type: TypeString, Doc: "What the edge means, for people and decisions."},
	{Name: "priority", Type: TypeInt, Default: "0", Doc: "Edges with a higher number are tried first."},
	{Name: "fallback", Type: TypeBool, Default: "false", Doc: "Whether the edge fires when a decision fails."},
	{
		Name: "transform", Type: TypeOneOf, Role: RoleExpr, Default: "the source's output", Doc: "The target's input: an expression or a map of them.",
		Forms: []Key{{Type: TypeString, Role: RoleExpr}, {Type: TypeMap, Elem: &Key{Type: TypeString, Role: RoleExpr}}},
	},
}
