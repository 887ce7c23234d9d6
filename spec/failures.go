// The kinds of failures, for the checks of `retry.on` and for those who read of one.

package spec

// FailureKind is a kind of a node's error and what it means.
type FailureKind struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Help says what can be done about it.
	Help string `json:"help"`
}

// Failures lists the kinds of a node's error, sorted by name.
func Failures() []FailureKind {
	return []FailureKind{
		{"auth", "A model's or a server's key is missing, wrong, or not allowed what was asked.", "Set the variable that the provider names; graphrun logs shows what was said."},
		{"budget", "A call of a model would go beyond max_tokens or max_cost_usd.", "Raise the limit and resume, or ask for less; graphrun bound says what a flow may cost."},
		{"bypassed", "A join with on_bypass: fail can't fire, because a branch that it waits for left by a failure edge.", "Read branches.NAME.error at the join, or set on_bypass to drop or continue."},
		{"cancelled", "The execution was cut short: by a person, by the end of the run, by a failure beside it, or because a join had enough branches.", "Nothing is wrong with the node; a resume runs it again where the run ended."},
		{"child_failed", "The graph that the node runs did not complete.", "error.details.error is the failure inside; graphrun why RUN shows the way to it."},
		{"conflict", "Two branches wrote one state key at once, under conflict: error.", "Give the key a reducer, write it in one branch, or choose last_wins or first_wins."},
		{"escalated", "The judge of an agent gave the answer up, gave no verdict, or could not be asked.", "An on_failure edge to a human node hands it to a person."},
		{"exit_status", "A program ended with another exit code than 0.", "graphrun logs RUN NODE shows what it said; error.details has exit_code and the ends of both streams."},
		{"expression", "An expression or a template could not be evaluated: a null where a value was needed, a wrong type, a missing part.", "Write name? for what may be absent, or ?? for another value; graphrun why shows the values."},
		{"failed", "A fail node was reached, or a program's or a Go handler's own failure.", "The message is the author's."},
		{"filtered", "A provider's filter held the answer of a model back.", "Change the prompt, take another model, or catch it with an on_failure edge."},
		{"http_status", "A server answered with a status that expect does not list.", "error.details has status, headers and the beginning of the body; list what is fine in expect."},
		{"internal", "Something went wrong in graphrun itself or in a Go handler.", "Please report it with graphrun runs events RUN."},
		{"invalid_input", "What a node was to work on does not fit: its with, its arguments, a part that a model can't take.", "The message names the value and the schema."},
		{"invalid_output", "What a node gave does not fit the schema of what it writes, or its output.", "Fix the program or the schema; for text that looks like JSON set parse: text."},
		{"llm", "The call of a model failed in another way: a bad request, an answer that can't be read, a script without a match.", "graphrun logs RUN NODE shows what the provider said."},
		{"loop_limit", "An agent used up its turns without an answer.", "Raise loop.max_turns, or read nodes.NAME.partial behind an on_failure edge."},
		{"max_visits", "A node was to run more often than its max_visits.", "Set on_max_visits: skip, or lead a failure edge out of the circle."},
		{"network", "No answer came at all: no connection, no such host, a stream that broke.", "It is tried again by itself; retry says how often."},
		{"overloaded", "A server or a provider had no room: status 503 or 529.", "It is tried again by itself; retry says how often."},
		{"policy", "What was to happen next would violate a policy.", "graphrun why shows the step; policies names the property."},
		{"rate_limited", "A server or a provider asked to wait: status 429.", "It is tried again after the time that it asked for; retry says how often, max_in_flight asks less."},
		{"refused", "A model refused to answer.", "error.details has what it said; change the prompt, or catch it with an on_failure edge."},
		{"timeout", "An attempt, a branch, a superstep or the run took longer than it may.", "Raise timeout on the node, or limits.node_timeout, limits.step_timeout, limits.timeout, parallel.branch_timeout; --timeout sets that of the run."},
		{"tool", "A tool failed, or is not there.", "graphrun tools FLOW shows what the flow's tools are; graphrun logs what the server said."},
		{"truncated", "A model's answer was cut at its limit of tokens.", "Raise max_tokens on the node, or take it all the same by accept: [truncated]."},
	}
}

// FailureKinds are the kinds of a node's error, sorted.
func FailureKinds() []string {
	var names []string
	for _, f := range Failures() {
		names = append(names, f.Name)
	}
	return names
}
