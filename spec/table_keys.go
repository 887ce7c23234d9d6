// The keys of a graph file, of its nodes and edges, and of the JSON Schemas in it.

package spec

import (
	"slices"
	"strings"
	"sync"
)

// TopKeys are the keys of a file. The list must not be changed.
var TopKeys = []Key{
	{Name: "graphrun", Type: TypeEnum, Enum: []string{"v1"}, Required: true, Doc: "The language version; its presence makes a file a graph file."},
	{Name: "name", Type: TypeName, Required: true, Doc: "The graph's name."},
	{Name: "description", Type: TypeString, Doc: "What the graph is for, for people."},
	{
		Name: "goal", Type: TypeOneOf, Doc: "What a run should achieve; decisions, prompts and judges see it.",
		Forms: []Key{{Type: TypeText, Role: RolePlain}, {Type: TypeObject, Keys: []Key{
			{Name: "description", Type: TypeText, Required: true, Doc: "The goal in words."},
			{Name: "success_criteria", Type: TypeList, Elem: &textValue, Doc: "What must hold at the end."},
			{Name: "constraints", Type: TypeList, Elem: &textValue, Doc: "What must always hold."},
		}}},
	},
	{Name: "persona", Type: TypeText, Role: RolePlain, Doc: "The identity layer of every prompt."},
	{Name: "start", Type: TypeName, Role: RoleNode, Required: true, Doc: "The first node."},
	{Name: "finish", Type: TypeOneOf, Role: RoleNode, Forms: []Key{nodeValue, nodeList}, Doc: "Nodes that each get an `on_success` edge to `END`."},
	{Name: "output", Type: TypeOneOf, Role: RoleExpr, Forms: []Key{exprValue, exprMap}, Default: "the output of the node that reached END", Doc: "The run's output: an expression or a map of them."},
	{Name: "state", Type: TypeMap, Names: NamesState, Elem: &Key{Type: TypeSchema, Keys: stateKeywords}, Doc: "The keys of the shared state, each a JSON Schema with a few more keywords."},
	{Name: "strict_state", Type: TypeBool, Default: "true", Doc: "Whether undeclared state keys are refused."},
	{Name: "nodes", Type: TypeMap, Names: NamesID, Required: true, Elem: &Key{Type: TypeNode}, Doc: "The nodes by their ids."},
	{Name: "edges", Type: TypeList, Elem: &Key{Type: TypeObject, Keys: edgeKeys}, Doc: "The edges; their order matters if several could fire."},
	{Name: "models", Type: TypeMap, Names: NamesID, Elem: &textValue, Doc: "Roles of models, such as `default`, `router`, `judge`, `compact`; each a `provider/name`."},
	{Name: "providers", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeObject, Keys: providerKeys}, Doc: "Model servers besides the built-in ones."},
	{
		Name: "tools", Type: TypeMap, Names: NamesID, Doc: "Tools that nodes can call or offer to a model.",
		Elem: &Key{Type: TypeObject, Keys: toolKeys, Choices: []Choice{{Keys: []string{"exec", "graph", "mcp"}, Required: true}}},
	},
	{
		Name: "secrets", Type: TypeMap, Names: NamesState, Doc: "Secrets by name; masked everywhere, never stored.",
		Elem: &Key{Type: TypeObject, Choices: []Choice{{Keys: []string{"command", "env", "file"}, Required: true}}, Keys: []Key{
			{Name: "command", Type: TypeList, NonEmpty: true, Elem: &textValue, Doc: "The program that prints the secret, and its arguments. It runs once per process, for 30 s at most; one line break at the end of its output does not count."},
			{Name: "env", Type: TypeString, Doc: "The environment variable that holds the secret."},
			{Name: "file", Type: TypeString, Doc: "The file that holds the secret."},
		}},
	},
	{Name: "limits", Type: TypeObject, Keys: limitKeys, Doc: "Limits of a run."},
	{Name: "parallel", Type: TypeObject, Keys: parallelKeys, Doc: "How to treat branches that fail, conflict or take too long."},
	{Name: "retry", Type: TypeOneOf, Forms: retryForms, Doc: "Retries of every node without a block of its own, except `agent` nodes."},
	{Name: "cache", Type: TypeObject, Keys: cacheKeys, Doc: "The cache of every node without a block of its own."},
	{Name: "pause_before", Type: TypeOneOf, Role: RoleNode, Forms: []Key{nodeValue, nodeList}, Doc: "Nodes before which a run pauses."},
	{Name: "pause_after", Type: TypeOneOf, Role: RoleNode, Forms: []Key{nodeValue, nodeList}, Doc: "Nodes after which a run pauses."},
	{Name: "finally", Type: TypeOneOf, Role: RoleNode, Forms: []Key{nodeValue, nodeList}, Doc: "Nodes that run one after the other when the end of the run is decided, however it ends; no edge may name them."},
	{Name: "concurrency", Type: TypeObject, Keys: concurrencyKeys, Doc: "How many runs of a group are active at once, across the store; ignored in a subgraph."},
	{Name: "notify", Type: TypeList, Elem: &Key{Type: TypeObject, Keys: noticeKeys, Choices: []Choice{{Keys: []string{"command", "url"}, Required: true}}}, Doc: "Whom to tell of questions and of the end of a run, by a request or a program; ignored in a subgraph. Each is tried three times; one that fails is a warning."},
	{Name: "graphs", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeGraph}, Doc: "Graphs of this file, by name, which nodes and tools run as `graph: \"#name\"`. They have the keys of a file but for `graphrun` and `graphs`; `name` may be left out."},
	{Name: "conversation", Type: TypeOneOf, Forms: conversationForms("continuous", "isolated"), Default: "continuous", Doc: "How model nodes share one list of messages."},
	{Name: "feedback_on_revisit", Type: TypeBool, Default: "true", Doc: "Whether the prompt of a model node reports its earlier visits."},
	{Name: "policies", Type: TypeOneOf, Forms: policyForms, Doc: "Properties that every path must keep, one or a list: `validate` decides them on the graph, and a run that would violate one ends with reason `policy`. `{extends: path}` includes those of a file."},
}

// Notices are the occasions of notifications. The list must not be changed.
var Notices = []string{"question", "reminder", "completed", "failed", "limit", "stuck", "cancelled"}

var noticeKeys = []Key{
	{Name: "on", Type: TypeOneOf, Required: true, Forms: []Key{noticeValue, {Type: TypeList, Elem: &noticeValue}}, Doc: "When: a question opens, is still open (`remind`), or the run ends so."},
	{Name: "url", Type: TypeString, Role: RoleTemplate, Doc: "Where to POST to. Templates see `run`, `question`, `error`, `output` and `goal`."},
	{Name: "headers", Type: TypeMap, Elem: &templateValue, Doc: "Headers of the request."},
	{Name: "body", Type: TypeAny, Role: RoleTemplate, Default: "all that templates see, and a sentence as `text`", Doc: "The body: text, or a value to send as JSON."},
	{Name: "command", Type: TypeList, NonEmpty: true, Elem: &templateValue, Doc: "The program to run and its arguments; the default of `body` is on its standard input."},
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

// retryForms are the forms of `retry`: a block or a list of blocks.
var (
	retryForms = []Key{retryBlock, {Type: TypeList, Elem: &retryBlock, NonEmpty: true}}
	retryBlock = Key{Type: TypeObject, Keys: retryKeys}
)

var retryKeys = []Key{
	{Name: "max_attempts", Type: TypeInt, Positive: true, Default: "3", Doc: "Attempts, counting the first."},
	{Name: "initial_interval", Type: TypeDuration, Default: "1s", Doc: "Delay before the second attempt."},
	{Name: "backoff", Type: TypeNumber, Min: new(1.0), Default: "2", Doc: "The factor between one delay and the next."},
	{Name: "max_interval", Type: TypeDuration, Default: "30s", Doc: "The longest delay."},
	{Name: "jitter", Type: TypeNumber, Min: new(0.0), Max: new(1.0), Default: "0.1", Doc: "The share of a delay that varies."},
	{Name: "on", Type: TypeOneOf, Forms: []Key{failureValue, {Type: TypeList, Elem: &failureValue}}, Default: "every kind", Doc: "The failure kinds to retry."},
	{Name: "when", Type: TypeString, Default: "every failure", Doc: "A condition over `error`: only failures for which it holds are retried, such as `error.details.status >= 500`."},
}

var cacheKeys = []Key{
	{Name: "ttl", Type: TypeDuration, Default: "0", Doc: "How long a result is valid. 0 means without end."},
	{Name: "key", Type: TypeOneOf, Forms: []Key{exprValue, stateList}, Default: "everything the node reads", Doc: "The key of a result: an expression or a list of state keys."},
	{Name: "version", Type: TypeOneOf, Forms: []Key{{Type: TypeString}, {Type: TypeNumber}}, Doc: "Change it to discard earlier results."},
}

// conversationForms returns the forms of a `conversation` that may have the given modes.
func conversationForms(modes ...string) []Key {
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
	{Name: "headers", Type: TypeMap, Role: RoleTemplate, Elem: &templateValue, Doc: "Additional headers of each request."},
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
	toolEnv     = Key{Name: "env", Type: TypeMap, Role: RoleTemplate, Elem: &templateValue, Doc: "Additional environment variables of the program."}
	toolHeaders = Key{Name: "headers", Type: TypeMap, Role: RoleTemplate, Elem: &templateValue, Doc: "Additional headers of each request."}
	toolDir     = Key{Name: "dir", Type: TypeString, Doc: "The folder in which the program starts."}
)

var toolKeys = []Key{
	{
		Name: "mcp", Type: TypeObject, Choices: []Choice{{Keys: []string{"command", "url"}, Required: true}}, Doc: "A server of the Model Context Protocol.",
		Keys: []Key{{Name: "command", Type: TypeList, NonEmpty: true, Elem: &templateValue, Doc: "The program and its arguments."}, {Name: "url", Type: TypeString, Role: RoleTemplate, Doc: "Where the server is."}, toolEnv, envPassKey, toolHeaders, toolDir},
	},
	{Name: "exec", Type: TypeObject, Doc: "A program that gets its arguments as one JSON object on stdin.", Keys: []Key{{Name: "command", Type: TypeList, NonEmpty: true, Required: true, Elem: &templateValue, Doc: "The program and its arguments."}, parseKey, toolEnv, envPassKey, toolDir}},
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

var policyKeys = []Key{
	{Name: "require", Type: TypeName, Role: RoleNode, Needs: "before", Doc: "A node that every path to `before` passes."},
	{Name: "before", Type: TypeName, Role: RoleNode, Needs: "require", Doc: "The node that `require` guards, or `END`."},
	{Name: "forbid", Type: TypeName, Role: RoleNode, Needs: "after", Doc: "A node, or `END`, that no path from `after` reaches."},
	{Name: "after", Type: TypeName, Role: RoleNode, Needs: "forbid", Doc: "The node behind which `forbid` holds."},
	{Name: "reach", Type: TypeName, Role: RoleNode, Needs: "from", Doc: "A node that some way from `from` leads to, or `END`, to which a way is left wherever a run goes from there. It speaks of the graph: a run that fails or gets stuck behind `from` ends as that."},
	{Name: "from", Type: TypeName, Role: RoleNode, Needs: "reach", Doc: "The node from which `reach` holds."},
	{Name: "max_visits", Type: TypeInt, Positive: true, Needs: "node", Doc: "How often `node` may run."},
	{Name: "node", Type: TypeName, Role: RoleNode, Needs: "max_visits", Doc: "The node that `max_visits` bounds."},
	{Name: "never", Type: TypeString, Role: RoleExpr, Needs: "at", Doc: "An expression that is false at `at`."},
	{Name: "at", Type: TypeName, Role: RoleNode, Needs: "never", Doc: "The node at which `never` holds."},
	{Name: "extends", Type: TypeOneOf, Forms: []Key{textValue, {Type: TypeList, Elem: &textValue, NonEmpty: true}}, Doc: "One or more files of shared policies: each a list of policies, or a map with the key `policies`; the path is relative to the file that names it. A policy there about a place that the graph lacks (`before`, `after`, `from`, `node`, `at`, `forbid`) does not apply."},
	{Name: "description", Type: TypeString, Doc: "Why the policy exists."},
}

// NodeKeys are the keys that every node may have, without `kind`. The list must not be changed.
var NodeKeys = []Key{
	{Name: "description", Type: TypeString, Doc: "What the node does, for people and decisions."},
	{Name: "reads", Type: TypeOneOf, Role: RoleState, Forms: []Key{stateValue, stateList}, Default: "all", Doc: "The state keys that the node may see."},
	{
		Name: "writes", Type: TypeOneOf, Doc: "The state keys that the node writes: a list, or a map of expressions over `output`.",
		Forms: []Key{stateValue, stateList, exprMap},
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
		Forms: []Key{nodeList, {Type: TypeMap, Elem: &nodeValue}},
	},
	{Name: "join", Type: TypeObject, Doc: "Makes the node a barrier for branches.", Keys: []Key{
		{Name: "wait", Type: TypeOneOf, Required: true, Forms: []Key{{Type: TypeEnum, Enum: []string{"all", "any"}}, {Type: TypeInt, Positive: true}}, Doc: "How many branches the join waits for."},
		{Name: "on_bypass", Type: TypeEnum, Enum: []string{"continue", "drop", "fail"}, Default: "drop", Doc: "What happens when a branch that `wait: all` waits for leaves by a failure edge and does not come back: the arrived branches end (drop), continue without it (continue), or the node fails (fail)."},
	}},
	{Name: "decide", Type: TypeObject, Doc: "What the model that decides between the node's `llm_decide` edges sees besides goal, output, path and candidates.", Keys: []Key{
		{Name: "see", Type: TypeOneOf, Role: RoleState, Forms: []Key{stateValue, stateList}, Doc: "State keys to show; secret values are masked."},
		{Name: "instructions", Type: TypeString, Doc: "How to decide; plain text, not a template."},
	}},
	{Name: "each", Type: TypeString, Role: RoleExpr, Doc: "A list; the node runs once for each element."},
	{Name: "max_concurrency", Type: TypeInt, Positive: true, Default: "that of `limits`", Doc: "The most elements of `each` at once."},
	{Name: "parallel", Type: TypeObject, Keys: parallelKeys, Doc: "The graph's `parallel` for the branches that start here."},
	{Name: "feedback", Type: TypeBool, Default: "feedback_on_revisit", Doc: "Whether the prompt reports earlier visits."},
	{Name: "conversation", Type: TypeOneOf, Forms: conversationForms("continuous", "isolated", "reset"), Doc: "How the node uses the conversation."},
	{Name: "before", Type: TypeMap, Role: RoleExpr, Elem: &exprValue, Doc: "Expressions whose values are added to the node's `input`."},
	{Name: "emit", Type: TypeMap, Role: RoleExpr, Elem: &exprValue, Doc: "Expressions whose values make a custom event after success."},
	{Name: "output", Type: TypeSchema, Doc: "The JSON Schema of the node's output."},
}

// Conditions of edges, in the order in which reports list them.
var conditions = []string{"always", "conditional", "llm_decide", "on_failure", "on_success"}

var edgeKeys = []Key{
	{Name: "from", Type: TypeOneOf, Required: true, Role: RoleNode, Forms: []Key{nodeValue, {Type: TypeList, Elem: &nodeValue, NonEmpty: true}}, Doc: "The node, or nodes, that the edge leaves."},
	{Name: "to", Type: TypeOneOf, Required: true, Role: RoleNode, Forms: []Key{nodeValue, {Type: TypeList, Elem: &nodeValue, NonEmpty: true}}, Doc: "The node or `END` that the edge leads to; a list is a fan-out."},
	{Name: "condition", Type: TypeEnum, Enum: conditions, Default: "conditional with `when`, else on_success", Doc: "When the edge can fire."},
	{Name: "when", Type: TypeString, Role: RoleExpr, Doc: "The condition of a `conditional` edge, or a filter over `error` of an `on_failure` edge."},
	{Name: "id", Type: TypeName, Doc: "The edge's name."},
	{Name: "label", Type: TypeString, Doc: "The text of the edge in drawings."},
	{Name: "description", Type: TypeString, Doc: "What the edge means, for people and decisions."},
	{Name: "priority", Type: TypeInt, Default: "0", Doc: "Edges with a higher number are tried first."},
	{Name: "fallback", Type: TypeBool, Default: "false", Doc: "Whether the edge fires when a decision fails."},
	{Name: "transform", Type: TypeOneOf, Role: RoleExpr, Forms: []Key{exprValue, exprMap}, Default: "the source's output", Doc: "The target's input: an expression or a map of them."},
}

// reducers lists the names of the built-in reducers, sorted.
var reducers = []string{"append", "max", "merge", "messages", "min", "prepend", "replace", "sum", "union"}

// stateKeywords are the keywords of a state key that JSON Schema does not have.
var stateKeywords = []Key{
	{Name: "default", Type: TypeAny, Doc: "The value at the start of a run."},
	{Name: "schema", Type: TypeSchema, Doc: "The JSON Schema of the key, instead of its keywords beside the others: needed where it has a `required` of its own."},
	{Name: "required", Type: TypeOneOf, Forms: []Key{{Type: TypeBool}, textList}, Default: "false", Doc: "Whether the key must be an input; a list is JSON Schema's `required`."},
	{Name: "secret", Type: TypeBool, Default: "false", Doc: "Whether the value is masked in every output."},
	{Name: "once", Type: TypeBool, Default: "false", Doc: "Whether the key goes back to its default after a model node has read it."},
	{Name: "scope", Type: TypeEnum, Enum: []string{"run", "session"}, Default: "run", Doc: "How long the value lives."},
	{Name: "reducer", Type: TypeString, Role: RoleExpr, Default: "replace", Doc: "How a write changes the value: append, max, merge, messages, min, prepend, replace, sum, union, or an expression over `current` and `update`."},
}

// stateSchemaKeywords returns all keywords of a state key.
var stateSchemaKeywords = sync.OnceValue(func() []Key { return slices.Concat(stateKeywords, schemaKeywords()) })

// schemaTypes are the types of JSON Schema, sorted.
var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// schemaKeywords returns the keywords of JSON Schema.
var schemaKeywords = sync.OnceValue(func() []Key {
	schema, typeName := Key{Type: TypeSchema}, Key{Type: TypeEnum, Enum: schemaTypes}
	var keys []Key
	add := func(k Key, names string) {
		for _, name := range strings.Fields(names) {
			k.Name = name
			keys = append(keys, k)
		}
	}
	add(Key{Type: TypeOneOf, Forms: []Key{typeName, {Type: TypeList, Elem: &typeName, NonEmpty: true}}}, "type")
	add(Key{Type: TypeList, Elem: &Key{Type: TypeAny}}, "enum")
	add(textList, "required")
	add(schema, "items additionalItems additionalProperties propertyNames contains not if then else contentSchema")
	add(Key{Type: TypeMap, Elem: &schema}, "properties patternProperties $defs definitions")
	add(Key{Type: TypeList, Elem: &schema}, "allOf anyOf oneOf prefixItems")
	add(Key{Type: TypeNumber}, "minimum maximum exclusiveMinimum exclusiveMaximum")
	add(Key{Type: TypeNumber, Positive: true}, "multipleOf")
	add(Key{Type: TypeInt, Min: new(0.0)}, "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains")
	add(Key{Type: TypeBool}, "uniqueItems deprecated readOnly writeOnly")
	add(Key{Type: TypeString}, "title description format pattern contentEncoding contentMediaType $ref $id $schema $anchor $comment $dynamicRef $dynamicAnchor")
	add(Key{Type: TypeAny}, "const default examples $vocabulary")
	return keys
})
