// What the keys and kinds of other tools become here, where that is no single
// word.

package spec

import "fmt"

// nodeAdvice says how a graph says what other tools say by a key of a node; ""
// when nothing is known.
func nodeAdvice(key, node string, v *Value) string {
	if v.Kind == Map && v.Get("kind") != nil {
		return fmt.Sprintf("it looks like a node, and is indented too deep: nodes begin in the column of %q", node)
	}
	other := "other"
	if v.IsScalar() && isID(v.Text.Value) {
		other = v.Text.Value
	} else if v.Kind == List && len(v.Items) > 0 && isID(v.Items[0].Text.Value) {
		other = v.Items[0].Text.Value
	}
	switch key {
	case "needs", "depends_on", "dependson", "dependencies", "requires", "after", "upstream", "runs_after":
		advice := fmt.Sprintf("what runs before a node is said under edges: {from: %s, to: %s}", other, node)
		if v.Kind == List && len(v.Items) > 1 {
			advice += ", and join: {wait: all} on the node waits for all of them"
		}
		return advice
	case "next", "then", "transitions", "goto_node", "to", "successor", "downstream", "on_success", "edges", "branches":
		return fmt.Sprintf("what runs next is said under edges: {from: %s, to: %s}", node, other)
	case "on_failure", "on_error", "catch", "rescue", "onerror":
		return fmt.Sprintf("what follows a failure is said under edges: {from: %s, to: %s, condition: on_failure}", node, other)
	case "when", "if", "condition", "only_if", "run_if":
		return fmt.Sprintf("a condition stands on the edge to the node: {from: other, to: %s, when: …}", node)
	case "parallel_with", "fan_out", "fanout":
		return fmt.Sprintf("several edges from a node start branches: {from: %s, to: [one, two]}", node)
	case "retries", "max_retries", "max_attempts":
		return "attempts are said by retry: {max_attempts: 3}"
	}
	return ""
}

// kindAdvice says what a node of a kind that other tools have is here.
func kindAdvice(kind string, v *Value) string {
	switch kind {
	case "join", "merge", "barrier", "gather", "sync":
		if v.Get("join") != nil {
			return ""
		}
		return "a join is a node of any kind that has the key join: {kind: pass, join: {wait: all}}"
	case "parallel", "fork", "fan_out", "fanout", "split":
		return "several edges from one node start branches: {from: a, to: [b, c]}"
	case "choice", "switch", "router", "condition", "branch", "if", "decision":
		return "conditions stand on edges: {from: a, to: b, when: …}"
	case "loop", "while", "foreach", "for_each", "map":
		return "an edge back makes a loop, and each: list on a node runs it for every element"
	}
	return ""
}

// graphAdvice says that a key of the graph stands among its nodes.
func graphAdvice(key string, v *Value) string {
	if v.Kind == Map && v.Get("kind") != nil {
		return ""
	}
	switch key {
	case "edges", "limits", "state", "models", "providers", "tools", "secrets", "finish", "output", "policies", "finally", "graphs":
		return fmt.Sprintf("; %q is a key of the graph and is indented too deep: it begins in the column of \"nodes\"", key)
	}
	return ""
}
