// Groups of rules, for --rule and for who reads about them.

package lint

import "slices"

type ruleGroup struct {
	name  string
	rules []string
}

// groups are all rules by what they are about.
func groups() []ruleGroup {
	return []ruleGroup{
		{"structure", []string{
			"duplicate-edge", "duplicate-key", "edge-from-end", "end-unreachable", "inescapable-cycle", "invalid-value", "missing-field", "missing-start",
			"no-outgoing-edge", "reserved-name", "subgraph-cycle", "subgraph-missing", "syntax", "unknown-key", "unknown-node", "unreachable-node", "unused-ignore",
		}},
		{"expressions", []string{
			"constant-condition", "expr-not-boolean", "expr-syntax", "expr-type", "expr-unknown-name", "missing-fallback", "shadowed-edge", "template-missing",
		}},
		{"data", []string{"read-before-write", "type-mismatch", "unknown-state-key", "unused-key", "unused-output"}},
		{"parallel", []string{"accidental-fanout", "join-never-fires", "join-without-fanout", "missing-join", "parallel-conflict"}},
		{"limits", []string{"missing-timeout", "step-limit-too-low", "unbounded-cycle"}},
		{"models", []string{
			"llm-decide-no-fallback", "llm-decide-single", "missing-model", "retry-on-agent", "unknown-model-provider", "unknown-price", "unknown-tool",
		}},
		{"security", []string{"plain-secret", "script-injection", "secret-leak", "url-injection"}},
		{"policies", []string{"policy-invalid", "policy-kept", "policy-undecided", "policy-violated"}},
	}
}

// RuleGroups lists the names of the groups of rules.
func RuleGroups() []string {
	var out []string
	for _, g := range groups() {
		out = append(out, g.name)
	}
	return out
}

// RuleGroup lists the rules of a group; nil when there is none of that name.
func RuleGroup(name string) []string {
	all := groups()
	if i := slices.IndexFunc(all, func(g ruleGroup) bool { return g.name == name }); i >= 0 {
		return all[i].rules
	}
	return nil
}
