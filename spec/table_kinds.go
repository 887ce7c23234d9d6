// The kinds of nodes with their own keys, and the kinds of failures.

package spec

import (
	"math"
	"slices"
)

// BuiltinKinds are the built-in kinds of nodes, sorted by name. The list must not be changed.
var BuiltinKinds = []Kind{
	agentKind, execKind,
	{
		Name: "fail", Doc: "Ends in a failure of kind `failed`; no edge leaves it.",
		Keys: []Key{{Name: "message", Type: TypeString, Role: RoleTemplate, Required: true, Doc: "What went wrong."}},
	},
	{
		Name: "graph", Doc: "Runs another graph; the output is its output, state, status and quality.",
		Keys: []Key{
			{Name: "graph", Type: TypeString, Required: true, Doc: "A file, relative to this one, or `#name` of `graphs`."},
			{Name: "with", Type: TypeMap, Role: RoleSet, Elem: &Key{Type: TypeAny, Role: RoleSet}, Doc: "The subgraph's inputs: strings are expressions, other values literals."},
		},
	},
	httpKind, humanKind,
	{Name: "llm", Doc: "Makes one model call; the output is its text, or an object of the `output` schema.", Keys: modelKeys},
	{Name: "pass", Doc: "Does nothing: a place to route from; the output is its input."},
	{
		Name: "set", Doc: "Evaluates values in order and writes them to the state.",
		Keys: []Key{{Name: "set", Type: TypeMap, Role: RoleSet, Required: true, Elem: &Key{Type: TypeAny, Role: RoleSet}, Doc: "State keys and values: a string is an expression (a template if it contains `{{`), any other value a literal."}},
	},
	{
		Name: "tool", Doc: "Calls one tool; the output is its result.",
		Keys: []Key{
			{Name: "tool", Type: TypeString, Required: true, Doc: "The tool, as `name` or `server.name`."},
			{Name: "args", Type: TypeMap, Role: RoleTemplate, Elem: &Key{Type: TypeAny, Role: RoleTemplate}, Doc: "The arguments."},
		},
	},
	{
		Name: "tools", Doc: "Makes the tool calls of the model's last message; the output is the list of results in call order.",
		Keys: []Key{
			{Name: "tools", Type: TypeList, Elem: &textValue, Doc: "The tools that may be called."},
			{Name: "sequential", Type: TypeBool, Default: "false", Doc: "Whether calls run one after the other."},
		},
	},
	{
		Name: "wait", Doc: "Waits for a duration or until a time; the output is null.",
		Choices: []Choice{{Keys: []string{"for", "until"}, Required: true}},
		Keys: []Key{
			{Name: "for", Type: TypeDuration, Role: RoleExpr, Doc: "How long: a duration, or an expression that gives one as text or in seconds."},
			{Name: "until", Type: TypeString, Role: RoleExpr, Doc: "An expression that gives an RFC 3339 time."},
		},
	},
}

var parseKey = Key{Name: "parse", Type: TypeEnum, Enum: []string{"auto", "json", "text", "lines"}, Default: "auto", Doc: "How stdout becomes the output; auto: text if only text fits what the node writes, else JSON if it parses, else text."}

var envPassKey = Key{
	Name: "env_pass", Type: TypeOneOf, Forms: []Key{{Type: TypeEnum, Enum: []string{"all"}}, textList},
	Default: "what a shell needs", Doc: "Variables of the caller's environment that the program gets besides those that a shell needs.",
}

var execKind = Kind{
	Name: "exec", Doc: "Runs a program; the output is what it prints.",
	Choices: []Choice{{Keys: []string{"command", "script"}, Required: true}},
	Keys: []Key{
		{Name: "command", Type: TypeList, NonEmpty: true, Role: RoleTemplate, Elem: &templateValue, Doc: "The program and its arguments; no shell reads them."},
		{Name: "script", Type: TypeString, Role: RoleTemplate, Doc: "A script for `shell`."},
		{Name: "shell", Type: TypeString, Default: "sh", Doc: "The shell that runs `script`."},
		{Name: "dir", Type: TypeString, Role: RoleTemplate, Doc: "The folder in which the program starts."},
		{Name: "env", Type: TypeMap, Role: RoleTemplate, Elem: &templateValue, Doc: "Additional environment variables."},
		envPassKey,
		{Name: "stdin", Type: TypeAny, Role: RoleTemplate, Default: "JSON of state, input, node and visit", Doc: "What the program reads."},
		parseKey,
		{Name: "max_output", Type: TypeInt, Positive: true, Max: new(float64(math.MaxInt32)), Default: "8388608", Doc: "The most bytes of output to read."},
	},
}

var httpKind = Kind{
	Name: "http", Doc: "Makes a request; the output is its status, headers and body.",
	Keys: []Key{
		{Name: "method", Type: TypeEnum, Enum: []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}, Default: "GET, with a `body` POST", Doc: "The method."},
		{Name: "url", Type: TypeString, Role: RoleTemplate, Required: true, Doc: "Where the request goes."},
		{Name: "headers", Type: TypeMap, Role: RoleTemplate, Elem: &templateValue, Doc: "Headers of the request."},
		{Name: "query", Type: TypeMap, Role: RoleTemplate, Elem: &Key{Type: TypeAny, Role: RoleTemplate}, Doc: "Parameters to add to the URL."},
		{Name: "body", Type: TypeAny, Role: RoleTemplate, Doc: "The body: text, or a value to send as JSON."},
		{Name: "follow", Type: TypeEnum, Enum: []string{"none", "same_host", "any"}, Default: "same_host", Doc: "Which redirects to follow: none (the redirect is the answer), those to the same host, or all; another host does not get `headers`."},
		{Name: "expect", Type: TypeOneOf, Forms: []Key{statusValue, {Type: TypeList, Elem: &statusValue}}, Default: "200 to 299", Doc: "The statuses that count as success."},
		{Name: "max_body", Type: TypeInt, Positive: true, Max: new(float64(math.MaxInt32)), Default: "8388608", Doc: "The most bytes of the answer to read."},
	},
}

var humanKind = Kind{
	Name: "human", Doc: "Pauses until a person answers; the output is the answer.",
	Choices: []Choice{{Keys: []string{"choices", "schema"}}},
	Keys: []Key{
		{Name: "prompt", Type: TypeText, Role: RoleTemplate, Required: true, Doc: "The question."},
		{
			Name: "choices", Type: TypeOneOf, Doc: "The legal answers, or an expression that gives a list of them.",
			Forms: []Key{{Type: TypeList, NonEmpty: true, Elem: &Key{Type: TypeAny}}, {Type: TypeString, Role: RoleExpr}},
		},
		{Name: "schema", Type: TypeSchema, Doc: "The JSON Schema of the answer."},
		{Name: "default", Type: TypeAny, Doc: "The answer after `timeout`."},
		{Name: "remind", Type: TypeObject, Doc: "Repeats the notification of a question that is still open (`notify` with `on: reminder`).", Keys: []Key{
			{Name: "after", Type: TypeDuration, Positive: true, Required: true, Doc: "The time until the first reminder."},
			{Name: "every", Type: TypeDuration, Positive: true, Default: "`after`", Doc: "The time between reminders."},
			{Name: "max", Type: TypeInt, Positive: true, Default: "3", Doc: "The most reminders."},
		}},
	},
}

// partKey is a part of a prompt.
var partKey = &Key{Type: TypeOneOf, Forms: []Key{
	{Type: TypeString, Role: RoleContent},
	{Type: TypeObject, Choices: []Choice{{Keys: []string{"audio", "file", "image", "prompt", "resource", "text"}, Required: true}}, Keys: []Key{
		{Name: "text", Type: TypeString, Role: RoleContent, Doc: "A text."},
		{Name: "image", Type: TypeString, Role: RoleTemplate, Doc: "An image: a path relative to the graph's file, an address, or a data URI."},
		{Name: "file", Type: TypeString, Role: RoleTemplate, Doc: "A file, such as a PDF or a text, named like an image."},
		{Name: "audio", Type: TypeString, Role: RoleTemplate, Doc: "Audio, named like an image."},
		{Name: "resource", Type: TypeString, Role: RoleTemplate, Doc: "A resource of an MCP server of `tools`: `server:uri`."},
		{Name: "prompt", Type: TypeString, Role: RoleTemplate, Doc: "A prompt of such a server: `server:name`."},
		{Name: "args", Type: TypeMap, Role: RoleTemplate, Elem: &templateValue, Doc: "The arguments of that prompt."},
		{Name: "name", Type: TypeString, Role: RoleTemplate, Doc: "The name under which the model gets a file."},
	}},
}}

// modelKeys are the keys that llm and agent nodes share.
var modelKeys = []Key{
	{Name: "model", Type: TypeString, Default: "default", Doc: "A role of `models`, or `provider/name`."},
	{Name: "instructions", Type: TypeText, Role: RoleContent, Doc: "The focus layer of the prompt."},
	{Name: "prompt", Type: TypeText, Role: RoleContent, NonEmpty: true, Elem: partKey, Doc: "What the model is asked: a text, or a list of parts."},
	{Name: "messages", Type: TypeString, Role: RoleExpr, Doc: "The whole list of messages; replaces `prompt`."},
	{Name: "output_retries", Type: TypeInt, Min: new(0.0), Default: "2", Doc: "How often to ask again after an invalid output."},
	{Name: "accept", Type: TypeList, Elem: &Key{Type: TypeEnum, Enum: []string{"filtered", "refused", "truncated"}}, Doc: "Kinds of badly ended answers to accept anyway, with a warning; without it they are failures of these kinds."},
	{Name: "tools", Type: TypeList, Elem: &textValue, Doc: "The tools that the model is offered: `name`, `server.tool` or `server.*`."},
	{Name: "temperature", Type: TypeNumber, Min: new(0.0), Doc: "Randomness of the model."},
	{Name: "max_tokens", Type: TypeInt, Positive: true, Doc: "The most tokens of the answer."},
	{Name: "stop", Type: TypeOneOf, Forms: []Key{textValue, textList}, Doc: "Texts that end the answer."},
	{Name: "reasoning", Type: TypeAny, Doc: "How much the model reasons: a level, or a value that its provider takes."},
	{Name: "params", Type: TypeMap, Elem: &Key{Type: TypeAny}, Doc: "Additional parameters of the request."},
}

// loopKeys are the patterns of an agent's loop.
var loopKeys = []Key{
	{Name: "pattern", Type: TypeEnum, Enum: []string{"evaluator_optimizer", "finish_tool", "state_machine", "turn_limited"}, Default: "turn_limited", Doc: "The kind of loop."},
	{Name: "max_turns", Type: TypeInt, Positive: true, Default: "10", Doc: "The most model calls; in `evaluator_optimizer` per trial."},
	{Name: "stuck_after", Type: TypeInt, Positive: true, Default: "3", Doc: "How many equal turns in a row end the loop as stuck."},
	{Name: "max_cost_usd", Type: TypeNumber, Positive: true, Default: "none", Doc: "The cost of the loop's model calls, in US dollars, at which no further turn begins."},
	{Name: "finish_tool", Type: TypeString, Default: "finish, in `finish_tool`", Doc: "The tool whose call ends the loop."},
	{Name: "max_trials", Type: TypeInt, Positive: true, Default: "10", Doc: "The most trials of `evaluator_optimizer`."},
	{Name: "threshold", Type: TypeNumber, Min: new(0.0), Max: new(1.0), Default: "0.8", Doc: "The score at which a trial of `evaluator_optimizer` is good enough."},
	{Name: "patience", Type: TypeInt, Positive: true, Default: "3", Doc: "How many trials in a row without a better score end `evaluator_optimizer`."},
	{Name: "min_improvement", Type: TypeNumber, Min: new(0.0), Max: new(1.0), Default: "0.01", Doc: "How much higher a score must be to count as better."},
	{Name: "max_iterations", Type: TypeInt, Positive: true, Default: "100", Doc: "The most states that `state_machine` enters."},
	{Name: "initial", Type: TypeName, Default: "the first of `states`", Doc: "The state in which `state_machine` begins."},
	{Name: "states", Type: TypeMap, Names: NamesID, Doc: "The states of `state_machine`.", Elem: &Key{Type: TypeObject, Keys: []Key{
		{Name: "prompt", Type: TypeText, Role: RoleContent, Doc: "What the model is asked in this state."},
		{Name: "tools", Type: TypeList, Elem: &textValue, Doc: "The tools that the model is offered in this state; without it those of the node."},
		{Name: "transitions", Type: TypeList, Elem: &Key{Type: TypeName}, Doc: "The states that may follow; with several, the model chooses."},
		{Name: "terminal", Type: TypeBool, Default: "false", Doc: "Whether the loop ends here."},
	}}},
}

var agentKind = Kind{
	Name: "agent", Doc: "Runs a model with tools in a loop, optionally with a judge; the output is the final answer.",
	Keys: append(modelKeys,
		Key{Name: "loop", Type: TypeObject, Doc: "How the loop ends.", Keys: loopKeys},
		Key{Name: "judge", Type: TypeObject, Doc: "Who accepts the answer.", Keys: []Key{
			{Name: "model", Type: TypeString, Default: "judge", Doc: "A role of `models`, or `provider/name`."},
			{Name: "criteria", Type: TypeOneOf, Role: RoleTemplate, Forms: []Key{templateValue, {Type: TypeList, Elem: &templateValue}}, Doc: "The criteria that the answer must meet."},
			{Name: "max_rounds", Type: TypeInt, Positive: true, Default: "3", Doc: "The most rounds with the judge."},
		}},
	),
}

// FailureKind is a kind of a node's error and its meaning.
type FailureKind struct {
	Name  string `json:"name"`
	Doc   string `json:"doc"`
	Help  string `json:"help"` // suggests a remedy
	nodes string // the kinds of nodes that may have such errors, or "" for all
}

// Failures returns the kinds of a node's error, sorted by name.
func Failures() []FailureKind { return slices.Clone(failures) }

var failures = []FailureKind{
	{"auth", "The key of a model or a server is missing, wrong, or lacks permission.", "Set the variable that the provider names; graphrun logs shows its message.", "llm"},
	{"budget", "A model call could exceed max_tokens or max_cost_usd.", "Raise the limit and resume, or ask for less; graphrun bound shows what a flow may cost.", ""},
	{"bypassed", "A join with on_bypass: fail can't fire, because a branch that it waits for left by a failure edge.", "Read branches.NAME.error at the join, or set on_bypass to drop or continue.", ""},
	{"cancelled", "The execution was cut short: by a person, by the end of the run, by a failure beside it, or because a join had enough branches.", "Nothing is wrong with the node; a resume runs it again where the run ended.", ""},
	{"child_failed", "The subgraph that the node runs did not complete.", "error.details.error is the failure inside; graphrun why RUN shows how it came about.", "graph"},
	{"conflict", "Two branches wrote one state key at once, under conflict: error.", "Give the key a reducer, write it in one branch, or choose last_wins or first_wins.", ""},
	{"escalated", "The judge of an agent escalated, gave no verdict, or could not be asked.", "Add an on_failure edge to a human node to hand it to a person.", "agent"},
	{"exit_status", "A program exited with a code other than 0.", "graphrun logs RUN NODE shows its output; error.details has exit_code and the ends of both streams.", "exec"},
	{"expression", "An expression or a template could not be evaluated: a null where a value was needed, a wrong type, a missing part.", "Write name? for what may be absent, or ?? for a default; graphrun why shows the values.", ""},
	{"failed", "A fail node ran, or a program or a Go handler reported a failure of its own.", "The message is the author's.", ""},
	{"filtered", "A provider's content filter withheld a model's answer.", "Change the prompt, use another model, or catch it with an on_failure edge.", "llm"},
	{"http_status", "A server answered with a status that expect does not list.", "error.details has status, headers and the beginning of the body; list the statuses that you accept in expect.", "http"},
	{"internal", "Something went wrong in graphrun itself or in a Go handler.", "Please report it with graphrun runs events RUN.", ""},
	{"invalid_input", "The input of a node does not fit: its with, its arguments, a part that a model can't take.", "The message names the value and the schema.", ""},
	{"invalid_output", "A node's result does not fit the schema of what it writes, or of its output.", "Fix the program or the schema; for text that looks like JSON set parse: text.", ""},
	{"llm", "A model call failed in another way: a bad request, an answer that can't be read, a script without a match.", "graphrun logs RUN NODE shows what the provider said.", "llm"},
	{"loop_limit", "An agent used up its turns without an answer.", "Raise loop.max_turns, or read nodes.NAME.partial behind an on_failure edge.", "agent"},
	{"max_visits", "A node was about to run more often than its max_visits.", "Set on_max_visits: skip, or lead a failure edge out of the loop.", ""},
	{"network", "There was no answer: no connection, no such host, a stream that broke.", "It is retried by default; retry sets how often.", "http llm"},
	{"overloaded", "A server or a provider had no room: status 503 or 529.", "It is retried by default; retry sets how often.", "http llm"},
	{"policy", "The next step would violate a policy.", "graphrun why shows the step; policies names the property.", ""},
	{"rate_limited", "A server or a provider asked to wait: status 429.", "The call is retried after the time that it asked for; retry sets how often, and max_in_flight limits the calls.", "http llm"},
	{"refused", "A model refused to answer.", "error.details has what it said; change the prompt, or catch it with an on_failure edge.", "llm"},
	{"timeout", "An attempt, a branch, a step or the run exceeded its time limit.", "Raise timeout on the node, or limits.node_timeout, limits.step_timeout, limits.timeout, parallel.branch_timeout; --timeout sets that of the run.", ""},
	{"tool", "A tool failed or does not exist.", "graphrun tools FLOW lists the flow's tools; graphrun logs shows what the server said.", "llm"},
	{"truncated", "A model's answer was cut at its token limit.", "Raise max_tokens on the node, or accept it with accept: [truncated].", "llm"},
}

// FailureKinds returns the names of the kinds of a node's error, sorted.
func FailureKinds() []string {
	return collectNames(failures, func(f FailureKind) string { return f.Name })
}

// MayFailAs reports whether a node may fail with an error of a kind. Tools, agents, and kinds that Go programs
// add may fail with any error.
func (n *Node) MayFailAs(kind string) bool {
	f := find(failures, func(f *FailureKind) bool { return f.Name == kind })
	return f == nil || f.nodes == "" || hasWord(f.nodes, n.Kind.Value) ||
		!hasWord("exec http llm graph human set pass wait", n.Kind.Value)
}
