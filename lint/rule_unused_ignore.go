// unused-ignore: a comment that silences nothing. Filter finds them.

package lint

import (
	"slices"

	"github.com/graphrun/graphrun/internal/analysis/suppress"
	"github.com/graphrun/graphrun/spec"
)

func unusedIgnore() Rule {
	return Rule{
		Name: "unused-ignore", Group: "structure", Severity: spec.Warning,
		Summary: "a comment silences a rule that has nothing to say there",
		Doc:     "A comment `# graphrun: ignore rule-name` silences the rule on its own line, or, when it stands alone, on the next line that is no comment; where a block text begins, in all of the text; `# graphrun: ignore-file rule-name` does in all of the file. One that silences nothing, because the problem is solved or the name is wrong, would hide the next problem. Remove it.",
		Bad: example + `nodes:
  # graphrun: ignore missing-timeout it is fast
  a: {kind: pass}
edges:
  - {from: a, to: END}
`,
		change: []string{"kind: pass", "kind: exec, command: [date]"},
	}
}

// Filter drops the findings that comments of the file silence, and adds one
// for each comment that silences nothing. What it returns is sorted.
func Filter(file *spec.File, found spec.Diagnostics) spec.Diagnostics {
	rules := suppress.Rules{Names: RuleNames, Optional: OptionalRules}
	return suppress.Apply(file, oncePerValue(found.NameOdd()), rules).Sort()
}

// oncePerValue keeps the first of several findings that one value has the
// wrong type: the reader of the file and the compiler of its parts both say so.
func oncePerValue(found spec.Diagnostics) spec.Diagnostics {
	type place struct {
		file *spec.File
		span spec.Span
	}
	seen := map[place]bool{}
	return slices.DeleteFunc(found, func(d spec.Diagnostic) bool {
		if d.Rule != "type-mismatch" {
			return false
		}
		at := place{d.File, d.Span}
		again := seen[at]
		seen[at] = true
		return again
	})
}
