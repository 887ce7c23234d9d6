// The table of rules. Their texts and examples are in rules.md.

package lint

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
)

// Rule is one check with its documentation. The examples are complete graph files: a test
// checks that Bad raises the rule and that Good raises nothing.
type Rule struct {
	// Name is the slug that findings carry and that flags and comments use.
	Name string `json:"rule"`
	// Group is one of RuleGroups.
	Group    string        `json:"-"`
	Severity spec.Severity `json:"severity"`
	// Off says that only Options.Optional checks the rule.
	Off bool `json:"off_by_default,omitempty"`
	// Summary is the meaning in one line, lower case, without a period.
	Summary string `json:"summary"`
	// Doc explains why it matters and what to do, in sentences.
	Doc string `json:"doc"`
	// Bad raises the rule, Good does not.
	Bad  string `json:"bad"`
	Good string `json:"good"`
	// Files are the other files that the examples refer to, by path.
	Files map[string]string `json:"files,omitempty"`

	needs need
	// check reports findings. It is nil for rules of the parser, spec.Check and the compiler.
	check func(*facts)
}

// need says what a rule draws conclusions from. On a graph without it the rule is silent, since its
// findings might only be a consequence.
type need int

const (
	needNode  need = iota // single nodes: good on any graph
	needShape             // all nodes and edges
	needAll               // every expression too
)

// allRules lists the rules without their texts, in the order in which they are checked.
func allRules() []Rule {
	return []Rule{
		{Name: "syntax", Group: "structure", Severity: spec.Error},
		{Name: "duplicate-key", Group: "structure", Severity: spec.Error},
		{Name: "unknown-key", Group: "structure", Severity: spec.Error},
		{Name: "missing-field", Group: "structure", Severity: spec.Error, needs: needNode, check: checkArguments},
		{Name: "invalid-value", Group: "structure", Severity: spec.Error, needs: needNode, check: checkPeopleInFinally},
		{Name: "reserved-name", Group: "structure", Severity: spec.Error},
		{Name: "missing-start", Group: "structure", Severity: spec.Error},
		{Name: "unknown-node", Group: "structure", Severity: spec.Error, needs: needNode, check: checkLabels},
		{Name: "no-outgoing-edge", Group: "structure", Severity: spec.Error},
		{Name: "edge-from-end", Group: "structure", Severity: spec.Error},
		{Name: "duplicate-edge", Group: "structure", Severity: spec.Warning, needs: needAll, check: checkPointlessConditions},
		{Name: "unreachable-node", Group: "structure", Severity: spec.Error},
		{Name: "end-unreachable", Group: "structure", Severity: spec.Error},
		{Name: "inescapable-cycle", Group: "structure", Severity: spec.Error},
		{Name: "unknown-state-key", Group: "data", Severity: spec.Error, needs: needNode, check: checkChildKeys},
		{Name: "type-mismatch", Group: "data", Severity: spec.Error, needs: needNode, check: checkTypes},
		{Name: "retry-on-agent", Group: "models", Severity: spec.Error},
		{Name: "expr-syntax", Group: "expressions", Severity: spec.Error},
		{Name: "expr-type", Group: "expressions", Severity: spec.Error},
		{Name: "expr-unknown-name", Group: "expressions", Severity: spec.Error},
		{Name: "expr-not-boolean", Group: "expressions", Severity: spec.Error},
		{Name: "constant-condition", Group: "expressions", Severity: spec.Warning, needs: needAll, check: checkConstantConditions},
		{Name: "shadowed-edge", Group: "expressions", Severity: spec.Warning, needs: needAll, check: checkShadowedEdges},
		{Name: "missing-fallback", Group: "expressions", Severity: spec.Warning, needs: needAll, check: checkMissingFallbacks},
		{Name: "read-before-write", Group: "data", Severity: spec.Warning, needs: needAll, check: checkReadBeforeWrite},
		{Name: "template-missing", Group: "expressions", Severity: spec.Warning, needs: needAll, check: checkTemplateMissing},
		{Name: "unused-ignore", Group: "structure", Severity: spec.Warning},
		{Name: "unused-key", Group: "data", Severity: spec.Warning, needs: needAll, check: checkUnusedKeys},
		{Name: "accidental-fanout", Group: "parallel", Severity: spec.Warning, needs: needShape, check: checkAccidentalFanout},
		{Name: "parallel-conflict", Group: "parallel", Severity: spec.Warning, needs: needShape, check: checkParallelConflict},
		{Name: "join-never-fires", Group: "parallel", Severity: spec.Error, needs: needShape, check: checkJoinNeverFires},
		{Name: "join-without-fanout", Group: "parallel", Severity: spec.Warning, needs: needShape, check: checkJoinWithoutFanout},
		{Name: "missing-join", Group: "parallel", Severity: spec.Warning, needs: needShape, check: checkMissingJoin},
		{Name: "unbounded-cycle", Group: "limits", Severity: spec.Warning, needs: needAll, check: checkUnboundedCycle},
		{Name: "missing-timeout", Group: "limits", Severity: spec.Warning, needs: needNode, check: checkMissingTimeout},
		{Name: "step-limit-too-low", Group: "limits", Severity: spec.Warning, needs: needShape, check: checkStepLimit},
		{Name: "policy-invalid", Group: "policies", Severity: spec.Error, needs: needNode, check: checkPolicyInvalid},
		{Name: "policy-violated", Group: "policies", Severity: spec.Error, needs: needAll, check: checkPolicies},
		{Name: "policy-undecided", Group: "policies", Severity: spec.Info, needs: needAll, check: func(f *facts) { f.reportVerdicts(false) }},
		{Name: "policy-kept", Group: "policies", Severity: spec.Info, Off: true, needs: needAll, check: func(f *facts) { f.reportVerdicts(true) }},
		{Name: "plain-secret", Group: "security", Severity: spec.Warning, needs: needNode, check: checkPlainSecret},
		{Name: "secret-leak", Group: "security", Severity: spec.Error, needs: needNode, check: checkSecretLeak},
		{Name: "script-injection", Group: "security", Severity: spec.Warning, needs: needNode, check: checkScriptInjection},
		{Name: "url-injection", Group: "security", Severity: spec.Warning, needs: needNode, check: checkURLInjection},
		{Name: "llm-decide-no-fallback", Group: "models", Severity: spec.Warning, needs: needNode, check: checkDecisionFallback},
		{Name: "llm-decide-single", Group: "models", Severity: spec.Warning, needs: needNode, check: checkDecisionSingle},
		{Name: "missing-model", Group: "models", Severity: spec.Error, needs: needNode, check: checkMissingModel},
		{Name: "unknown-model-provider", Group: "models", Severity: spec.Error, needs: needNode, check: checkModelProvider},
		{Name: "unknown-price", Group: "models", Severity: spec.Error, needs: needNode, check: checkUnknownPrice},
		{Name: "unknown-tool", Group: "models", Severity: spec.Error, needs: needNode, check: checkUnknownTool},
		{Name: "subgraph-missing", Group: "structure", Severity: spec.Error, needs: needNode, check: checkSubgraphMissing},
		{Name: "subgraph-cycle", Group: "structure", Severity: spec.Error, needs: needNode, check: checkSubgraphCycle},
	}
}

//go:embed rules.md
var ruleTexts string

// Rules lists every rule, sorted by name. Each call builds a new list.
func Rules() []Rule {
	sections := map[string]string{}
	for _, section := range strings.Split(ruleTexts, "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n\n")
		sections[name] = text
	}
	all := allRules()
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	for i := range all {
		all[i].readTexts(sections[all[i].Name])
	}
	return all
}

// readTexts sets the summary, the explanation and the examples of a rule.
func (r *Rule) readTexts(section string) {
	prose, blocks, _ := strings.Cut(section, "\n\n```yaml ")
	r.Summary, r.Doc, _ = strings.Cut(prose, "\n\n")
	r.Files = map[string]string{}
	for _, block := range strings.Split(blocks, "\n```yaml ") {
		name, text, _ := strings.Cut(block, "\n")
		text, _, _ = strings.Cut(text, "```")
		switch name {
		case "bad":
			r.Bad = text
		case "good":
			r.Good = text
		default:
			r.Files[name] = text
		}
	}
}

// RuleNames lists the names of all rules, sorted.
func RuleNames() []string { return selectNames(func(*Rule) bool { return true }) }

// OptionalRules lists the names of the rules that are off by default, sorted.
func OptionalRules() []string { return selectNames(func(r *Rule) bool { return r.Off }) }

// RuleGroups lists the names of the groups of rules.
func RuleGroups() []string {
	return []string{"structure", "expressions", "data", "parallel", "limits", "models", "security", "policies"}
}

// RuleGroup lists the rules of a group, or nil.
func RuleGroup(name string) []string {
	return selectNames(func(r *Rule) bool { return r.Group == name })
}

func selectNames(match func(*Rule) bool) []string {
	var names []string
	for _, r := range allRules() {
		if match(&r) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// FindRule returns the rule of that name.
func FindRule(name string) (rule Rule, ok bool) {
	all := Rules()
	if i := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name }); i >= 0 {
		return all[i], true
	}
	return Rule{}, false
}
