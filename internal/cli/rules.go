// The names of the rules, for --rule and its completion.

package cli

import (
	"fmt"
	"slices"

	"github.com/graphrun/graphrun/internal/suggest"
)

// ruleNames lists the rules of the language, sorted.
func ruleNames() []string {
	return []string{
		"accidental-fanout", "constant-condition", "duplicate-edge", "duplicate-key", "edge-from-end",
		"end-unreachable", "expr-not-boolean", "expr-syntax", "expr-type", "expr-unknown-name",
		"inescapable-cycle", "invalid-value", "join-never-fires", "join-without-fanout",
		"llm-decide-no-fallback", "llm-decide-single", "missing-fallback", "missing-field", "missing-join",
		"missing-model", "missing-start", "missing-timeout", "no-outgoing-edge", "parallel-conflict",
		"plain-secret", "policy-invalid", "policy-violated", "read-before-write", "reserved-name",
		"retry-on-agent", "script-injection", "secret-leak", "shadowed-edge", "step-limit-too-low",
		"subgraph-cycle", "subgraph-missing", "syntax", "template-missing", "type-mismatch",
		"unbounded-cycle", "unknown-key", "unknown-model-provider", "unknown-node", "unknown-state-key",
		"unknown-tool", "unreachable-node", "unused-key",
	}
}

// ruleChoices are the words --rule takes.
func ruleChoices() []string {
	var out []string
	for _, name := range ruleNames() {
		out = append(out, "-"+name, "+"+name)
	}
	return out
}

func contains(sorted []string, s string) bool {
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}

// didYouMean is the end of a message about an unknown name; "" when nothing is near.
func didYouMean(name string, known []string) string {
	if near := suggest.New(known).Closest(name); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
