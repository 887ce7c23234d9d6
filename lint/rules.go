// The list of the rules that this package checks.

package lint

// checked lists the rules that this package checks by itself.
func checked() []Rule {
	return []Rule{
		accidentalFanout(), constantCondition(), joinNeverFires(), joinWithoutFanout(), llmDecideNoFallback(), llmDecideSingle(),
		missingFallback(), missingJoin(), missingModel(), missingTimeout(), parallelConflict(), plainSecret(), policyInvalid(),
		policyViolated(), policyUndecided(), policyKept(), readBeforeWrite(), scriptInjection(), secretLeak(), shadowedEdge(), stepLimitTooLow(), subgraphCycle(),
		subgraphMissing(), templateMissing(), unboundedCycle(), unknownModelProvider(), unknownPrice(), unknownTool(), unusedIgnore(), unusedKey(),
		urlInjection(),
	}
}
