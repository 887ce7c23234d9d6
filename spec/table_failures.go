// The kinds of failures, for `retry.on` and for help.

package spec

import "slices"

// FailureKind is a kind of a node's error and its meaning.
type FailureKind struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Help suggests a remedy.
	Help string `json:"help"`
}

// Failures returns the kinds of a node's error, sorted by name.
func Failures() []FailureKind { return slices.Clone(failures) }

var failures = []FailureKind{
	{"auth", "The key of a model or a server is missing, wrong, or lacks permission.", "Set the variable that the provider names; graphrun logs shows its message."},
	{"budget", "A model call could exceed max_tokens or max_cost_usd.", "Raise the limit and resume, or ask for less; graphrun bound shows what a flow may cost."},
	{"bypassed", "A join with on_bypass: fail can't fire, because a branch that it waits for left by a failure edge.", "Read branches.NAME.error at the join, or set on_bypass to drop or continue."},
	{"cancelled", "The execution was cut short: by a person, by the end of the run, by a failure beside it, or because a join had enough branches.", "Nothing is wrong with the node; a resume runs it again where the run ended."},
	{"child_failed", "The subgraph that the node runs did not complete.", "error.details.error is the failure inside; graphrun why RUN shows how it came about."},
	{"conflict", "Two branches wrote one state key at once, under conflict: error.", "Give the key a reducer, write it in one branch, or choose last_wins or first_wins."},
	{"escalated", "The judge of an agent escalated, gave no verdict, or could not be asked.", "Add an on_failure edge to a human node to hand it to a person."},
	{"exit_status", "A program exited with a code other than 0.", "graphrun logs RUN NODE shows its output; error.details has exit_code and the ends of both streams."},
	{"expression", "An expression or a template could not be evaluated: a null where a value was needed, a wrong type, a missing part.", "Write name? for what may be absent, or ?? for a default; graphrun why shows the values."},
	{"failed", "A fail node ran, or a program or a Go handler reported a failure of its own.", "The message is the author's."},
	{"filtered", "A provider's content filter withheld a model's answer.", "Change the prompt, use another model, or catch it with an on_failure edge."},
	{"http_status", "A server answered with a status that expect does not list.", "error.details has status, headers and the beginning of the body; list the statuses that you accept in expect."},
	{"internal", "Something went wrong in graphrun itself or in a Go handler.", "Please report it with graphrun runs events RUN."},
	{"invalid_input", "The input of a node does not fit: its with, its arguments, a part that a model can't take.", "The message names the value and the schema."},
	{"invalid_output", "A node's result does not fit the schema of what it writes, or of its output.", "Fix the program or the schema; for text that looks like JSON set parse: text."},
	{"llm", "A model call failed in another way: a bad request, an answer that can't be read, a script without a match.", "graphrun logs RUN NODE shows what the provider said."},
	{"loop_limit", "An agent used up its turns without an answer.", "Raise loop.max_turns, or read nodes.NAME.partial behind an on_failure edge."},
	{"max_visits", "A node was about to run more often than its max_visits.", "Set on_max_visits: skip, or lead a failure edge out of the loop."},
	{"network", "There was no answer: no connection, no such host, a stream that broke.", "It is retried by default; retry sets how often."},
	{"overloaded", "A server or a provider had no room: status 503 or 529.", "It is retried by default; retry sets how often."},
	{"policy", "The next step would violate a policy.", "graphrun why shows the step; policies names the property."},
	{"rate_limited", "A server or a provider asked to wait: status 429.", "The call is retried after the time that it asked for; retry sets how often, and max_in_flight limits the calls."},
	{"refused", "A model refused to answer.", "error.details has what it said; change the prompt, or catch it with an on_failure edge."},
	{"timeout", "An attempt, a branch, a step or the run exceeded its time limit.", "Raise timeout on the node, or limits.node_timeout, limits.step_timeout, limits.timeout, parallel.branch_timeout; --timeout sets that of the run."},
	{"tool", "A tool failed or does not exist.", "graphrun tools FLOW lists the flow's tools; graphrun logs shows what the server said."},
	{"truncated", "A model's answer was cut at its token limit.", "Raise max_tokens on the node, or accept it with accept: [truncated]."},
}

// FailureKinds returns the names of the kinds of a node's error, sorted.
func FailureKinds() []string {
	var names []string
	for _, f := range failures {
		names = append(names, f.Name)
	}
	return names
}

// failingKinds maps kinds of failures to the only kinds of nodes that have them.
var failingKinds = map[string]string{
	"exit_status": "exec", "http_status": "http", "rate_limited": "http llm", "overloaded": "http llm", "network": "http llm",
	"llm": "llm", "auth": "llm", "refused": "llm", "filtered": "llm", "truncated": "llm", "tool": "llm", "child_failed": "graph",
	"escalated": "", "loop_limit": "", // of agents
}

// FailsAs reports whether a node may fail with an error of a kind. Tools, agents and kinds of Go programs
// may fail with any error.
func (n *Node) FailsAs(kind string) bool {
	own, isOwn := failingKinds[kind]
	return !isOwn || hasWord(own, n.Kind.Value) || !hasWord("exec http llm graph human set pass wait", n.Kind.Value)
}
