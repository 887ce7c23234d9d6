// Reading and checking the flow of a command.

package cli

import (
	"slices"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/spec"
)

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
	c := inspect.Check(name, src, a.rules.Optional(nil))
	if slices.Contains(roles, "default") && c.Graph != nil && !hasDefault(c.Graph) {
		c.Found = slices.DeleteFunc(c.Found, func(d spec.Diagnostic) bool { return d.Rule == "missing-model" })
	}
	if len(roles) > 0 { // the caller's models cost something else; the budget asks for each call
		c.Found = slices.DeleteFunc(c.Found, func(d spec.Diagnostic) bool { return d.Rule == "unknown-price" })
	}
	c.Found = a.rules.Shown(c.Found) // what is valid for validate is valid to run
	switch {
	case c.Found.HasErrors():
		return nil, a.invalid(c.Found)
	case len(c.Broken) > 0:
		return nil, a.invalid(c.Broken)
	}
	return c.Graph, nil
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
