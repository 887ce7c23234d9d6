// The rules as reports describe them.

package cli

import (
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/lint"
)

// describedRules are the rules for forms that carry their documentation.
func describedRules() []report.Rule {
	var out []report.Rule
	for _, r := range lint.Rules() {
		out = append(out, report.Rule{Name: r.Name, Severity: r.Severity, Off: r.Off, Summary: r.Summary, Doc: r.Doc})
	}
	return out
}

// programVersion is the version that reports name.
func programVersion() string { return readBuildVersion().Version }
