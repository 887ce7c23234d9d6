// The rules as reports describe them.

package cli

import "github.com/graphrun/graphrun/internal/report"

// describedRules are the rules for forms that carry their documentation.
func describedRules() []report.Rule {
	var out []report.Rule
	for _, name := range ruleNames() {
		out = append(out, report.Rule{Name: name})
	}
	return out
}

// programVersion is the version that reports name.
func programVersion() string { return readBuildVersion().Version }
