// Checking one file: the only place that says which checks there are.

package cli

import (
	"slices"

	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// checked is a graph file after all checks.
type checked struct {
	// graph is never nil, but lacks parts when the file has errors.
	graph *spec.Graph
	// found are the findings, sorted, but for those that comments silence.
	found spec.Diagnostics
	// broken are the errors of reading the file and of names that nothing has,
	// silenced or not: with any the graph is incomplete and must not be run.
	broken spec.Diagnostics
}

// check reads a graph and checks it, by the rules too that are off by default if
// optional is set.
func check(name string, src []byte, optional bool) checked {
	load := spec.Beside(name)
	g, found := spec.Parse(name, src, spec.Options{Load: load})
	structure := spec.Check(g)
	c := checked{graph: g, broken: append(errorsOnly(found), dangling(structure)...).Sort()}
	found = append(found, structure...)
	found = append(found, lint.Check(g, lint.Options{Load: load, Price: dearest, Broken: found.HasErrors(), Optional: optional})...)
	c.found = lint.Filter(g.File, found)
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

// loadFlow reads and checks the graph file of a command; "-" is stdin. When it
// is not valid it prints the findings on stderr and returns the error that ends
// the program. Roles are those for which the caller names models.
func (a *app) loadFlow(path string, roles ...string) (*spec.Graph, error) {
	src, err := a.readPath(path)
	if err != nil {
		return nil, usage(err)
	}
	name := path
	if path == "-" {
		name = stdinName
	}
	c := check(name, src, a.rules.optional(nil))
	if slices.Contains(roles, "default") && c.graph != nil && !hasDefault(c.graph) {
		c.found = slices.DeleteFunc(c.found, func(d spec.Diagnostic) bool { return d.Rule == "missing-model" })
	}
	if len(roles) > 0 { // the caller's models cost something else; the budget asks for each call
		c.found = slices.DeleteFunc(c.found, func(d spec.Diagnostic) bool { return d.Rule == "unknown-price" })
	}
	c.found = a.rules.apply(c.found, nil) // what is valid for validate is valid to run
	switch {
	case c.found.HasErrors():
		return nil, a.invalid(c.found)
	case len(c.broken) > 0:
		return nil, a.invalid(c.broken)
	}
	return c.graph, nil
}

func hasDefault(g *spec.Graph) bool {
	return slices.ContainsFunc(g.Models, func(f spec.Field) bool { return f.Key.Value == "default" })
}

// invalid prints findings on stderr and returns the error that ends the program.
func (a *app) invalid(found spec.Diagnostics) error {
	findings := report.Findings{Files: 1, Diagnostics: found}
	if err := report.Write(a.Stderr, "text", findings, report.Options{Color: a.colorOn(a.StderrTerminal)}); err != nil {
		return err
	}
	return silent(exitInvalid)
}

func errorsOnly(ds spec.Diagnostics) spec.Diagnostics {
	var out spec.Diagnostics
	for i := range ds {
		if ds[i].Severity == spec.Error {
			out = append(out, ds[i])
		}
	}
	return out
}
