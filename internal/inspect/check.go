// Checking one file: the only place that says which checks there are.

package inspect

import (
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// Checked is a graph file after all checks.
type Checked struct {
	// Graph is never nil, but lacks parts when the file has errors.
	Graph *spec.Graph
	// Found are the findings, sorted, but for those that comments silence.
	Found spec.Diagnostics
	// Broken are the errors of reading the file and of names that nothing has,
	// silenced or not: with any the graph is incomplete and must not be run.
	Broken spec.Diagnostics
}

// Check reads a graph and checks it, by the rules too that are off by default if
// optional is set.
func Check(name string, src []byte, optional bool) Checked {
	return CheckWith(name, src, optional, spec.Beside(name))
}

// CheckWith is Check of a graph whose other files load reads.
func CheckWith(name string, src []byte, optional bool, load func(path string) ([]byte, error)) Checked {
	g, found := spec.Parse(name, src, spec.Options{Load: load})
	structure := spec.Check(g)
	c := Checked{Graph: g, Broken: append(ErrorsOnly(found), dangling(structure)...).Sort()}
	found = append(found, structure...)
	found = append(found, lint.Check(g, lint.Options{Load: load, Price: Dearest, Broken: lint.FirstError(found), Optional: optional})...)
	c.Found = lint.Filter(g.File, found)
	return c
}

// dangling are the findings that leave a name of the graph without meaning.
func dangling(found spec.Diagnostics) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range found {
		if found[i].Rule == "unknown-node" || found[i].Rule == "missing-start" {
			out = append(out, found[i])
		}
	}
	return out
}

// ErrorsOnly are those of some findings that are errors.
func ErrorsOnly(ds spec.Diagnostics) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range ds {
		if ds[i].Severity == spec.Error {
			out = append(out, ds[i])
		}
	}
	return out
}
