// The table's top level: the keys of a graph file outside of nodes and edges.

package spec

func topKeys() []Key {
	return []Key{
		{Name: "graphrun", Type: TypeEnum, Enum: []string{"v1"}, Required: true, Doc: "The language version; its presence makes a file a graph file."},
		{Name: "name", Type: TypeName, Required: true, Doc: "The graph's name."},
		{Name: "description", Type: TypeString, Doc: "What the graph is for, for people."},
		{
			Name: "goal", Type: TypeOneOf, Doc: "What a run is to achieve; given to decisions, prompts and judges.",
			Forms: []Key{text("", RolePlain, ""), {Type: TypeObject, Keys: []Key{
				{Name: "description", Type: TypeText, Required: true, Doc: "The goal in words."},
				{Name: "success_criteria", Type: TypeList, Elem: &Key{Type: TypeString}, Doc: "What must hold at the end."},
				{Name: "constraints", Type: TypeList, Elem: &Key{Type: TypeString}, Doc: "What must hold all the time."},
			}}},
		},
		text("persona", RolePlain, "The identity layer of every prompt."),
		{Name: "start", Type: TypeName, Role: RoleNode, Required: true, Doc: "The first node."},
		{Name: "finish", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes that each get one `on_success` edge to `END`."},
		{
			Name: "output", Type: TypeOneOf, Role: RoleExpr, Default: "the output of the node that reached END",
			Forms: []Key{{Type: TypeString, Role: RoleExpr}, {Type: TypeMap, Elem: &Key{Type: TypeString, Role: RoleExpr}}},
			Doc:   "The run's output: an expression or a map of them.",
		},
		{Name: "state", Type: TypeMap, Names: NamesState, Elem: &Key{Type: TypeSchema, Keys: stateKeywords()}, Doc: "The declared keys of the shared state, each a JSON Schema with a few keywords more."},
		{Name: "strict_state", Type: TypeBool, Default: "true", Doc: "Whether undeclared state keys are refused."},
		{Name: "nodes", Type: TypeMap, Names: NamesID, Required: true, Elem: &Key{Type: TypeNode}, Doc: "The nodes by their ids."},
		{Name: "edges", Type: TypeList, Elem: &Key{Type: TypeObject, Keys: edgeKeys()}, Doc: "The edges; their order matters where several could fire."},
		{Name: "models", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeString}, Doc: "Roles of models, such as `default`, `router`, `judge`, `compact`; each a `provider/name`."},
		{Name: "providers", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeObject, Keys: providerKeys()}, Doc: "Servers of models besides the well-known ones."},
		{
			Name: "tools", Type: TypeMap, Names: NamesID, Doc: "Tools that nodes can call or offer to a model.",
			Elem: &Key{Type: TypeObject, Keys: toolKeys(), Choices: []Choice{{Keys: []string{"exec", "graph", "mcp"}, Required: true}}},
		},
		{
			Name: "secrets", Type: TypeMap, Names: NamesState, Doc: "Secrets by name; masked everywhere, never stored.",
			Elem: &Key{Type: TypeObject, Choices: []Choice{{Keys: []string{"env", "file"}, Required: true}}, Keys: []Key{
				{Name: "env", Type: TypeString, Doc: "The environment variable that holds the secret."},
				{Name: "file", Type: TypeString, Doc: "The file that holds the secret."},
			}},
		},
		{Name: "limits", Type: TypeObject, Keys: limitKeys(), Doc: "What a run may cost at most."},
		{Name: "parallel", Type: TypeObject, Keys: parallelKeys(), Doc: "What failing, conflicting and slow branches do."},
		{Name: "retry", Type: TypeOneOf, Forms: retryForms(), Doc: "Retry for every node that has no block of its own, but for `agent` nodes."},
		{Name: "cache", Type: TypeObject, Keys: cacheKeys(), Doc: "Cache for every node that has no block of its own."},
		{Name: "pause_before", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes before which a run pauses."},
		{Name: "pause_after", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes after which a run pauses."},
		{Name: "finally", Type: TypeOneOf, Role: RoleNode, Forms: oneOrMany(Key{Type: TypeName, Role: RoleNode}), Doc: "Nodes that run, one after the other, when the end of the run is decided, however it ends; they stand on no edge."},
		{Name: "concurrency", Type: TypeObject, Keys: concurrencyKeys(), Doc: "How many runs of a store run at once that are in one group; a subgraph's is ignored."},
		{Name: "graphs", Type: TypeMap, Names: NamesID, Elem: &Key{Type: TypeGraph}, Doc: "Graphs of this file, by name, which nodes and tools run as `graph: \"#name\"`. They have the keys of a file but for `graphrun` and `graphs`; `name` may be left out."},
		{Name: "conversation", Type: TypeOneOf, Forms: conversationForms(), Default: "continuous", Doc: "How model nodes share one list of messages."},
		{Name: "feedback_on_revisit", Type: TypeBool, Default: "true", Doc: "Whether a model node's prompt tells of its earlier visits."},
		{Name: "policies", Type: TypeOneOf, Forms: policyForms(), Doc: "Properties that every path must keep: decided on the graph, and watched while it runs; there a violation ends the run with reason `policy`. One, or a list of them; `{extends: path}` takes those of a file in."},
	}
}

func concurrencyKeys() []Key {
	return []Key{
		{Name: "group", Type: TypeString, Role: RoleExpr, Required: true, Doc: "Names the group, from what the run begins with: runs of any graph whose value is equal are in one. Null or an empty text: in none."},
		{Name: "limit", Type: TypeInt, Positive: true, Default: "1", Doc: "Runs of the group that run at once."},
		{Name: "on_busy", Type: TypeEnum, Enum: []string{"wait", "fail", "cancel_oldest"}, Default: "wait", Doc: "What a run does that finds no place: wait in turn, fail, or ask the run to cancel that is inside longest, and wait."},
	}
}

func limitKeys() []Key {
	return []Key{
		{Name: "max_steps", Type: TypeInt, Positive: true, Default: "100", Doc: "Node executions of a run."},
		{Name: "on_max_steps", Type: TypeEnum, Enum: []string{"fail", "return_last", "flag"}, Default: "fail", Doc: "How a run ends that has used up its steps."},
		{Name: "timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "Active time of the run."},
		{Name: "step_timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "Time of one superstep."},
		{Name: "node_timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "Time of one attempt of a node."},
		{Name: "max_visits", Type: TypeInt, Positive: true, Default: "none", Doc: "Visits of each node."},
		{Name: "max_concurrency", Type: TypeInt, Positive: true, Default: "16", Doc: "Tasks that run at once."},
		{Name: "max_tokens", Type: TypeInt, Positive: true, Default: "none", Doc: "Tokens of all model calls."},
		{Name: "max_cost_usd", Type: TypeNumber, Positive: true, Default: "none", Doc: "Cost of all model calls, in US dollars."},
		{Name: "max_state_bytes", Type: TypeInt, Positive: true, Default: "268435456, in a subgraph the limit of the run around it", Doc: "What the state may take, and each single value: 16 bytes for every value and the bytes of its texts and names."},
	}
}

func parallelKeys() []Key {
	return []Key{
		{Name: "on_failure", Type: TypeEnum, Enum: []string{"fail_all", "continue_others", "wait_all"}, Default: "fail_all", Doc: "What a failed branch does to its siblings."},
		{Name: "conflict", Type: TypeEnum, Enum: []string{"last_wins", "first_wins", "error"}, Default: "last_wins", Doc: "Which of two branches' writes to one key holds."},
		{Name: "branch_timeout", Type: TypeDuration, Positive: true, Default: "none", Doc: "Time of one branch."},
		{Name: "join", Type: TypeEnum, Enum: []string{"explicit", "auto"}, Default: "explicit", Doc: "Whether branches join by themselves at the first node that all can reach."},
	}
}

// retryForms are the shapes of `retry`: a block or a list of them.
func retryForms() []Key {
	block := Key{Type: TypeObject, Keys: retryKeys()}
	return []Key{block, {Type: TypeList, Elem: &block, NonEmpty: true}}
}

func retryKeys() []Key {
	return []Key{
		{Name: "max_attempts", Type: TypeInt, Positive: true, Default: "3", Doc: "Attempts, counting the first."},
		{Name: "initial_interval", Type: TypeDuration, Default: "1s", Doc: "Delay before the second attempt."},
		{Name: "backoff", Type: TypeNumber, Min: new(1.0), Default: "2", Doc: "Factor from one delay to the next."},
		{Name: "max_interval", Type: TypeDuration, Default: "30s", Doc: "The longest delay."},
		{Name: "jitter", Type: TypeNumber, Min: new(0.0), Max: new(1.0), Default: "0.1", Doc: "Part of a delay that is varied."},
		{Name: "on", Type: TypeOneOf, Forms: oneOrMany(Key{Type: TypeEnum, Enum: FailureKinds()}), Default: "every kind", Doc: "The failure kinds that are tried again."},
	}
}

func cacheKeys() []Key {
	return []Key{
		{Name: "ttl", Type: TypeDuration, Default: "0", Doc: "How long a result is kept; 0: for ever."},
		{Name: "key", Type: TypeOneOf, Forms: []Key{{Type: TypeString, Role: RoleExpr}, list(Key{Type: TypeString, Role: RoleState})}, Default: "everything the node reads", Doc: "What tells results apart: an expression or a list of state keys."},
		{Name: "version", Type: TypeOneOf, Forms: []Key{{Type: TypeString}, {Type: TypeNumber}}, Doc: "Change it to forget earlier results."},
	}
}

// conversationForms are the shapes of `conversation`; more modes may be added by the caller.
func conversationForms(more ...string) []Key {
	modes := append([]string{"continuous", "isolated"}, more...)
	return []Key{{Type: TypeEnum, Enum: modes}, {Type: TypeObject, Keys: []Key{
		{Name: "mode", Type: TypeEnum, Enum: modes, Default: "continuous", Doc: "Whether there is one shared list of messages."},
		{Name: "see", Type: TypeEnum, Enum: []string{"all", "branch", "own"}, Default: "all", Doc: "What of the shared list a node gets."},
		{Name: "compaction", Type: TypeObject, Doc: "When the oldest turns are summarised.", Keys: []Key{
			{Name: "max_tokens", Type: TypeInt, Positive: true, Doc: "The length from which on turns are summarised."},
			{Name: "keep_last", Type: TypeInt, Min: new(0.0), Doc: "Turns that are never summarised."},
			{Name: "output", Type: TypeSchema, Doc: "The JSON Schema of a summary; without it, it is a text."},
		}},
	}}}
}

func providerKeys() []Key {
	return []Key{
		{Name: "type", Type: TypeEnum, Enum: []string{"anthropic", "openai", "scripted"}, Required: true, Doc: "The protocol that the server speaks."},
		{Name: "api", Type: TypeEnum, Enum: []string{"chat", "responses"}, Doc: "Which of OpenAI's protocols; responses for OpenAI itself, chat for others."},
		{Name: "base_url", Type: TypeString, Role: RoleTemplate, Doc: "Where the server is."},
		{Name: "api_key", Type: TypeString, Role: RoleTemplate, Doc: "The key; a secret."},
		{Name: "headers", Type: TypeMap, Role: RoleTemplate, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "More headers of each request."},
		{Name: "timeout", Type: TypeDuration, Positive: true, Doc: "Time of one call."},
		{Name: "params", Type: TypeMap, Elem: &Key{Type: TypeAny}, Doc: "More parameters of each request."},
		{Name: "max_in_flight", Type: TypeInt, Positive: true, Default: "any number", Doc: "How many calls of its models go on at once."},
		{Name: "prices", Type: TypeMap, Doc: "What models of the server cost, by their names, in US dollars for a million tokens.", Elem: &Key{Type: TypeObject, Keys: []Key{
			{Name: "input", Type: TypeNumber, Min: new(0.0), Required: true, Doc: "Tokens that are sent."},
			{Name: "cached_input", Type: TypeNumber, Min: new(0.0), Default: "`input`", Doc: "Those of them that the server had cached."},
			{Name: "output", Type: TypeNumber, Min: new(0.0), Required: true, Doc: "Tokens that are answered."},
		}}},
	}
}

func toolKeys() []Key {
	env := Key{Name: "env", Type: TypeMap, Role: RoleTemplate, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "More environment variables of the program."}
	headers := Key{Name: "headers", Type: TypeMap, Role: RoleTemplate, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "More headers of each request."}
	command := Key{Name: "command", Type: TypeList, NonEmpty: true, Elem: &Key{Type: TypeString, Role: RoleTemplate}, Doc: "The program and its arguments."}
	required := command
	required.Required = true
	dir := Key{Name: "dir", Type: TypeString, Doc: "The folder in which the program starts."}
	return []Key{
		{
			Name: "mcp", Type: TypeObject, Choices: []Choice{{Keys: []string{"command", "url"}, Required: true}}, Doc: "A server of the Model Context Protocol.",
			Keys: []Key{command, {Name: "url", Type: TypeString, Role: RoleTemplate, Doc: "Where the server is."}, env, envPassKey(), headers, dir, {Name: "roots", Type: TypeList, Elem: &Key{Type: TypeString}, Default: "none", Doc: "Folders that the server may be told of, relative to that of the graph's file."}},
		},
		{Name: "exec", Type: TypeObject, Doc: "A program that gets its arguments as one JSON object on stdin.", Keys: []Key{required, parseKey(), env, envPassKey(), dir}},
		{Name: "graph", Type: TypeString, Doc: "A graph file that is run."},
		{Name: "description", Type: TypeString, Doc: "What the tool does, for the model."},
		{Name: "parameters", Type: TypeSchema, Doc: "The JSON Schema of the arguments."},
		{Name: "timeout", Type: TypeDuration, Positive: true, Doc: "Time of one call."},
		{Name: "approve", Type: TypeString, Default: "never", Doc: "When a person is asked before a call: `always`, or a condition over `args` and `state`."},
		{Name: "retry", Type: TypeOneOf, Forms: retryForms(), Default: "none", Doc: "How a failed call is repeated before the model hears of it, as on a node."},
		{Name: "max_in_flight", Type: TypeInt, Positive: true, Default: "any number", Doc: "How many calls of the tool, or of the server's tools, go on at once."},
		{Name: "max_result", Type: TypeInt, Positive: true, Default: "262144", Doc: "Bytes of a result that a model gets; the rest is cut, which the result says."},
		env, headers,
	}
}

func policyKeys() []Key {
	node := func(name, doc string) Key { return Key{Name: name, Type: TypeName, Role: RoleNode, Doc: doc} }
	return []Key{
		node("require", "A node that every path to `before` passes."),
		node("before", "The node that `require` guards, or `END`."),
		node("forbid", "A node, or `END`, that no path from `after` reaches."),
		node("after", "The node behind which `forbid` holds."),
		node("reach", "A node that some way from `from` leads to, or `END`, to which a way is left wherever a run goes from there. It speaks of the graph: a run that fails or gets stuck behind `from` ends as that."),
		node("from", "The node from which `reach` holds."),
		{Name: "max_visits", Type: TypeInt, Positive: true, Doc: "How often `node` may run."},
		node("node", "The node that `max_visits` bounds."),
		{Name: "never", Type: TypeString, Role: RoleExpr, Doc: "An expression that is false at `at`."},
		node("at", "The node at which `never` holds."),
		{Name: "extends", Type: TypeOneOf, Forms: oneOrSome(Key{Type: TypeString}), Doc: "A file of policies that graphs share, or several: a list of policies, or a map with the key `policies`; the path is relative to the file that names it. A policy there that speaks of a place that the graph lacks (`before`, `after`, `from`, `node`, `at`, `forbid`) asks nothing of it."},
		{Name: "description", Type: TypeString, Doc: "Why the policy exists."},
	}
}
