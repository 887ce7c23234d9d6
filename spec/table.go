// The table's top level: the keys of a graph file outside of nodes and edges.

package spec

var topKeys = []Key{
	{Name: "graphrun", Type: TypeEnum, Enum: []string{"v1"}, Required: true, Doc: "The language version; its presence makes a file a graph file."},
	{Name: "name", Type: TypeName, Required: true, Doc: "The graph's name."},
	{Name: "description", Type: TypeString, Doc: "What the graph is for, for people."},
	{
		Name: "goal", Type: TypeOneOf, Doc: "What a run should achieve; decisions, prompts and judges see it.",
		Forms: []Key{textKey("", RolePlain, ""), {Type: TypeObject, Keys: []Key{
			{Name: "description", Type: TypeText, Required: true, Doc: "The goal in words."},
			{Name: "success_criteria", Type: TypeList, Elem: &Key{Type: TypeString}, Doc: "What must hold at the end."},
			{Name: "constraints", Type: TypeList, Elem: &Key{Type: TypeString}, Doc: "What must always hold."},
		}}},
	},
	textKey("persona", RolePlain, "The identity layer of every prompt."),
	{Name: "start", Type: TypeName, Role: RoleNode, Required: true, Doc: "The first node."},
	{Name: "finish", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes that each get an `on_success` edge to `END`."},
	{
		Name: "output", Type: TypeOneOf, Role: RoleExpr, Default: "the output of the node that reached END",
		Forms: []Key{{Type: TypeString, Role: RoleExpr}, {Type: TypeMap, Elem: &Key{Type: TypeString, Role: RoleExpr}}},
		Doc:   "The run's output: an expression or a map of them.",
	},
	{Name: "state", Type: TypeMap, Names: NamesState, Elem: &Key{Type: TypeSchema, Keys: stateKeywords}, Doc: "The keys of the shared state, each a JSON Schema with a few more keywords."},
	{Name: "strict_state", Type: TypeBool, Default: "true", Doc: "Whether undeclared state keys are refused."},
	{Name: "nodes", Type: TypeMap, Names: NamesID, Required: true, Elem: &Key{Type: TypeNode}, Doc: "The nodes by their ids."},
	{Name: "edges", Type: TypeList, Elem: &Key{Type: TypeObject, Keys: edgeKeys}, Doc: "The edges; their order matters if several could fire."},
	{Name: "models", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeString}, Doc: "Roles of models, such as `default`, `router`, `judge`, `compact`; each a `provider/name`."},
	{Name: "providers", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeObject, Keys: providerKeys}, Doc: "Model servers besides the built-in ones."},
	{
		Name: "tools", Type: TypeMap, Names: NamesID, Doc: "Tools that nodes can call or offer to a model.",
		Elem: &Key{Type: TypeObject, Keys: toolKeys, Choices: []Choice{{Keys: []string{"exec", "graph", "mcp"}, Required: true}}},
	},
	{
		Name: "secrets", Type: TypeMap, Names: NamesState, Doc: "Secrets by name; masked everywhere, never stored.",
		Elem: &Key{Type: TypeObject, Choices: []Choice{{Keys: []string{"command", "env", "file"}, Required: true}}, Keys: []Key{
			{Name: "command", Type: TypeList, NonEmpty: true, Elem: &Key{Type: TypeString}, Doc: "The program that prints the secret, and its arguments. It runs once per process, for 30 s at most; one line break at the end of its output does not count."},
			{Name: "env", Type: TypeString, Doc: "The environment variable that holds the secret."},
			{Name: "file", Type: TypeString, Doc: "The file that holds the secret."},
		}},
	},
	{Name: "limits", Type: TypeObject, Keys: limitKeys, Doc: "Limits of a run."},
	{Name: "parallel", Type: TypeObject, Keys: parallelKeys, Doc: "How to treat branches that fail, conflict or take too long."},
	{Name: "retry", Type: TypeOneOf, Forms: retryForms, Doc: "Retries of every node without a block of its own, except `agent` nodes."},
	{Name: "cache", Type: TypeObject, Keys: cacheKeys, Doc: "The cache of every node without a block of its own."},
	{Name: "pause_before", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes before which a run pauses."},
	{Name: "pause_after", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes after which a run pauses."},
	{Name: "finally", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes that run one after the other when the end of the run is decided, however it ends; no edge may name them."},
	{Name: "concurrency", Type: TypeObject, Keys: concurrencyKeys, Doc: "How many runs of a group are active at once, across the store; ignored in a subgraph."},
	{Name: "notify", Type: TypeList, Elem: &Key{Type: TypeObject, Keys: noticeKeys, Choices: []Choice{{Keys: []string{"command", "url"}, Required: true}}}, Doc: "Whom to tell of questions and of the end of a run, by a request or a program; ignored in a subgraph. Each is tried three times; one that fails is a warning."},
	{Name: "graphs", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeGraph}, Doc: "Graphs of this file, by name, which nodes and tools run as `graph: \"#name\"`. They have the keys of a file but for `graphrun` and `graphs`; `name` may be left out."},
	{Name: "conversation", Type: TypeOneOf, Forms: conversationForms(), Default: "continuous", Doc: "How model nodes share one list of messages."},
	{Name: "feedback_on_revisit", Type: TypeBool, Default: "true", Doc: "Whether the prompt of a model node reports its earlier visits."},
	{Name: "policies", Type: TypeOneOf, Forms: policyForms, Doc: "Properties that every path must keep, one or a list: `validate` decides them on the graph, and a run that would violate one ends with reason `policy`. `{extends: path}` includes those of a file."},
}

// Notices returns the occasions of notifications.
func Notices() []string {
	return []string{"question", "reminder", "completed", "failed", "limit", "stuck", "cancelled"}
}

var noticeKeys = []Key{
	{Name: "on", Type: TypeOneOf, Required: true, Forms: oneOrMany(Key{Type: TypeEnum, Enum: Notices()}), Doc: "When: a question opens, is still open (`remind`), or the run ends so."},
	{Name: "url", Type: TypeString, Role: RoleTemplate, Doc: "Where to POST to. Templates see `run`, `question`, `error`, `output` and `goal`."},
	{Name: "headers", Type: TypeMap, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "Headers of the request."},
	{Name: "body", Type: TypeAny, Role: RoleTemplate, Default: "all that templates see, and a sentence as `text`", Doc: "The body: text, or a value to send as JSON."},
	{Name: "command", Type: TypeList, NonEmpty: true, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "The program to run and its arguments; the default of `body` is on its standard input."},
}

var concurrencyKeys = []Key{
	{Name: "group", Type: TypeString, Role: RoleExpr, Required: true, Doc: "The name of the run's group, from its initial values; runs of any graph with an equal name are in one group. Null or empty text: no group."},
	{Name: "limit", Type: TypeInt, Positive: true, Default: "1", Doc: "The most active runs of the group."},
	{Name: "on_busy", Type: TypeEnum, Enum: []string{"wait", "fail", "cancel_oldest"}, Default: "wait", Doc: "What a run does if there is no place: wait its turn, fail, or ask the longest active run to cancel and wait."},
}

var limitKeys = []Key{
	{Name: "max_steps", Type: TypeInt, Positive: true, Default: "100", Doc: "The most node executions of a run."},
	{Name: "on_max_steps", Type: TypeEnum, Enum: []string{"fail", "return_last", "flag"}, Default: "fail", Doc: "How a run ends when its steps are used up."},
	{Name: "timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "The limit of the run's active time."},
	{Name: "step_timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "The time limit of a step: all its attempts and the delays between them."},
	{Name: "node_timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "The time limit of an attempt of a node."},
	{Name: "max_visits", Type: TypeInt, Positive: true, Default: "none", Doc: "The most visits of each node."},
	{Name: "max_concurrency", Type: TypeInt, Positive: true, Default: "16", Doc: "The most tasks at once."},
	{Name: "max_tokens", Type: TypeInt, Positive: true, Default: "none", Doc: "The most tokens of all model calls."},
	{Name: "max_cost_usd", Type: TypeNumber, Positive: true, Default: "none", Doc: "The highest cost of all model calls, in US dollars."},
	{Name: "max_state_bytes", Type: TypeInt, Positive: true, Default: "268435456, in a subgraph the limit of the run around it", Doc: "The largest size of the state and of each single value: 16 bytes for every value plus the bytes of its texts and names."},
}

var parallelKeys = []Key{
	{Name: "on_failure", Type: TypeEnum, Enum: []string{"fail_all", "continue_others", "wait_all"}, Default: "fail_all", Doc: "What happens to the other branches when one fails."},
	{Name: "conflict", Type: TypeEnum, Enum: []string{"last_wins", "first_wins", "error"}, Default: "last_wins", Doc: "Which write wins if two branches write one key."},
	{Name: "branch_timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "The time limit of a branch."},
	{Name: "join", Type: TypeEnum, Enum: []string{"auto", "explicit"}, Default: "auto", Doc: "Whether branches join automatically at the first node that all can reach."},
}

// retryForms are the shapes of `retry`: a block or a list of them.
var retryForms = oneOrSome(Key{Type: TypeObject, Keys: retryKeys})

var retryKeys = []Key{
	{Name: "max_attempts", Type: TypeInt, Positive: true, Default: "3", Doc: "Attempts, counting the first."},
	{Name: "initial_interval", Type: TypeDuration, Default: "1s", Doc: "Delay before the second attempt."},
	{Name: "backoff", Type: TypeNumber, Min: new(1.0), Default: "2", Doc: "The factor between one delay and the next."},
	{Name: "max_interval", Type: TypeDuration, Default: "30s", Doc: "The longest delay."},
	{Name: "jitter", Type: TypeNumber, Min: new(0.0), Max: new(1.0), Default: "0.1", Doc: "The share of a delay that varies."},
	{Name: "on", Type: TypeOneOf, Forms: oneOrMany(Key{Type: TypeEnum, Enum: FailureKinds()}), Default: "every kind", Doc: "The failure kinds to retry."},
	{Name: "when", Type: TypeString, Default: "every failure", Doc: "A condition over `error`: only failures for which it holds are retried, such as `error.details.status >= 500`."},
}

var cacheKeys = []Key{
	{Name: "ttl", Type: TypeDuration, Default: "0", Doc: "How long a result is valid. 0 means without end."},
	{Name: "key", Type: TypeOneOf, Forms: []Key{{Type: TypeString, Role: RoleExpr}, listOf(Key{Type: TypeString, Role: RoleState})}, Default: "everything the node reads", Doc: "The key of a result: an expression or a list of state keys."},
	{Name: "version", Type: TypeOneOf, Forms: []Key{{Type: TypeString}, {Type: TypeNumber}}, Doc: "Change it to discard earlier results."},
}

// conversationForms are the shapes of `conversation`; more modes may be added by the caller.
func conversationForms(more ...string) []Key {
	modes := append([]string{"continuous", "isolated"}, more...)
	return []Key{{Type: TypeEnum, Enum: modes}, {Type: TypeObject, Keys: []Key{
		{Name: "mode", Type: TypeEnum, Enum: modes, Default: "continuous", Doc: "Whether there is one shared list of messages."},
		{Name: "see", Type: TypeEnum, Enum: []string{"all", "branch", "own"}, Default: "all", Doc: "Which part of the shared list a node sees."},
		{Name: "compaction", Type: TypeObject, Doc: "When to summarise the oldest turns.", Keys: []Key{
			{Name: "max_tokens", Type: TypeInt, Positive: true, Doc: "The length in tokens above which turns are summarised."},
			{Name: "keep_last", Type: TypeInt, Min: new(0.0), Doc: "How many of the latest turns to keep unsummarised."},
			{Name: "output", Type: TypeSchema, Doc: "The JSON Schema of a summary; without it a summary is text."},
		}},
	}}}
}

var providerKeys = []Key{
	{Name: "type", Type: TypeEnum, Enum: []string{"anthropic", "openai", "scripted"}, Required: true, Doc: "The protocol that the server speaks."},
	{Name: "api", Type: TypeEnum, Enum: []string{"chat", "responses"}, Doc: "Which of OpenAI's APIs; by default responses for OpenAI itself, chat for others."},
	{Name: "base_url", Type: TypeString, Role: RoleTemplate, Doc: "Where the server is."},
	{Name: "api_key", Type: TypeString, Role: RoleTemplate, Doc: "The API key; a secret."},
	{Name: "headers", Type: TypeMap, Role: RoleTemplate, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "Additional headers of each request."},
	{Name: "timeout", Type: TypeDuration, Positive: true, Doc: "The time limit of a call."},
	{Name: "params", Type: TypeMap, Elem: &Key{Type: TypeAny}, Doc: "Additional parameters of each request."},
	{Name: "max_in_flight", Type: TypeInt, Positive: true, Default: "any number", Doc: "The most calls of its models at once."},
	{Name: "prices", Type: TypeMap, Doc: "The prices of the server's models, by name, in US dollars per million tokens.", Elem: &Key{Type: TypeObject, Keys: []Key{
		{Name: "input", Type: TypeNumber, Min: new(0.0), Required: true, Doc: "Price of sent tokens."},
		{Name: "cached_input", Type: TypeNumber, Min: new(0.0), Default: "`input`", Doc: "Price of sent tokens that the server had cached."},
		{Name: "output", Type: TypeNumber, Min: new(0.0), Required: true, Doc: "Price of tokens in answers."},
	}}},
}

var (
	toolEnv     = templateMapKey("env", "Additional environment variables of the program.")
	toolHeaders = templateMapKey("headers", "Additional headers of each request.")
	toolCommand = Key{Name: "command", Type: TypeList, NonEmpty: true, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "The program and its arguments."}
	toolDir     = Key{Name: "dir", Type: TypeString, Doc: "The folder in which the program starts."}
)

var toolKeys = []Key{
	{
		Name: "mcp", Type: TypeObject, Choices: []Choice{{Keys: []string{"command", "url"}, Required: true}}, Doc: "A server of the Model Context Protocol.",
		Keys: []Key{toolCommand, templateKey("url", "Where the server is."), toolEnv, envPassKey, toolHeaders, toolDir},
	},
	{Name: "exec", Type: TypeObject, Doc: "A program that gets its arguments as one JSON object on stdin.", Keys: []Key{requireKey(toolCommand), parseKey, toolEnv, envPassKey, toolDir}},
	{Name: "graph", Type: TypeString, Doc: "A graph file to run."},
	{Name: "description", Type: TypeString, Doc: "What the tool does, for the model."},
	{Name: "parameters", Type: TypeSchema, Doc: "The JSON Schema of the arguments."},
	{Name: "timeout", Type: TypeDuration, Positive: true, Doc: "The time limit of a call."},
	{Name: "approve", Type: TypeString, Default: "never", Doc: "When a person is asked before a call: `always`, or a condition over `args` and `state`."},
	{Name: "retry", Type: TypeOneOf, Forms: retryForms, Default: "none", Doc: "Retries of a failed call before the model hears of it, as on a node."},
	{Name: "max_in_flight", Type: TypeInt, Positive: true, Default: "any number", Doc: "The most calls of the tool, or of the server's tools, at once."},
	{Name: "max_result", Type: TypeInt, Positive: true, Default: "262144", Doc: "The most bytes of a result that a model gets; a longer one is cut and says so."},
	toolEnv, toolHeaders,
}

func requireKey(k Key) Key {
	k.Required = true
	return k
}

var policyKeys = []Key{
	nodeNameKey("require", "before", "A node that every path to `before` passes."),
	nodeNameKey("before", "require", "The node that `require` guards, or `END`."),
	nodeNameKey("forbid", "after", "A node, or `END`, that no path from `after` reaches."),
	nodeNameKey("after", "forbid", "The node behind which `forbid` holds."),
	nodeNameKey("reach", "from", "A node that some way from `from` leads to, or `END`, to which a way is left wherever a run goes from there. It speaks of the graph: a run that fails or gets stuck behind `from` ends as that."),
	nodeNameKey("from", "reach", "The node from which `reach` holds."),
	{Name: "max_visits", Type: TypeInt, Positive: true, Needs: "node", Doc: "How often `node` may run."},
	nodeNameKey("node", "max_visits", "The node that `max_visits` bounds."),
	{Name: "never", Type: TypeString, Role: RoleExpr, Needs: "at", Doc: "An expression that is false at `at`."},
	nodeNameKey("at", "never", "The node at which `never` holds."),
	{Name: "extends", Type: TypeOneOf, Forms: oneOrSome(Key{Type: TypeString}), Doc: "One or more files of shared policies: each a list of policies, or a map with the key `policies`; the path is relative to the file that names it. A policy there about a place that the graph lacks (`before`, `after`, `from`, `node`, `at`, `forbid`) does not apply."},
	{Name: "description", Type: TypeString, Doc: "Why the policy exists."},
}

func nodeNameKey(name, needs, doc string) Key {
	return Key{Name: name, Type: TypeName, Role: RoleNode, Needs: needs, Doc: doc}
}
