// All checks of one file.

package inspect

import (
	"slices"

	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// Checked is a graph file after all checks.
type Checked struct {
	// Graph is never nil, but lacks parts when the file has errors.
	Graph *spec.Graph
	// Found holds the sorted findings that no comment silences.
	Found spec.Diagnostics
	// Broken holds syntax errors and unknown names, silenced or not. A graph with such errors is
	// incomplete and must not be run.
	Broken spec.Diagnostics
}

// Check parses and checks a graph. With optional, it uses rules that are off by default.
func Check(name string, src []byte, optional bool) Checked {
	return CheckWith(name, src, optional, spec.Beside(name))
}

// CheckWith checks a graph like Check and reads other files by load.
func CheckWith(name string, src []byte, optional bool, load func(path string) ([]byte, error)) Checked {
	g, found := spec.Parse(name, src, spec.Options{Load: load})
	structure := spec.Check(g)
	// Unknown names count as broken, too.
	names := selectFindings(structure, func(d spec.Diagnostic) bool { return d.Rule == "unknown-node" || d.Rule == "missing-start" })
	c := Checked{Graph: g, Broken: append(SelectErrors(found), names...).Sort()}
	found = append(found, structure...)
	found = append(found, lint.Check(g, lint.Options{Load: load, Price: BoundCost, Broken: lint.FirstError(found), Optional: optional})...)
	c.Found = lint.Filter(g.File, found)
	return c
}

// SelectErrors returns the errors among findings.
func SelectErrors(found spec.Diagnostics) spec.Diagnostics {
	return selectFindings(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Error })
}

// selectFindings returns the findings that a function accepts.
func selectFindings(found spec.Diagnostics, accept func(d spec.Diagnostic) bool) spec.Diagnostics {
	return slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool { return !accept(d) })
}
