// Checking one file: the only place that says which checks there are.

package cli

import (
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/spec"
)

// checked is a graph file after all checks.
type checked struct {
	// graph is nil when the file is no graph at all.
	graph *spec.Graph
	// found are the findings, sorted, but for those that comments silence.
	found spec.Diagnostics
	// broken are the errors of reading the file, silenced or not: with any the
	// graph is incomplete and must not be run.
	broken spec.Diagnostics
}

// check reads a graph and checks it.
func check(name string, src []byte) checked {
	g, found := spec.Parse(name, src, spec.Options{})
	c := checked{graph: g, broken: errorsOnly(found).Sort()}
	if g != nil {
		found = append(found, spec.Check(g)...)
		found = append(found, lint.Check(g, lint.Options{})...)
	}
	silenced := ignores(src)
	for _, d := range found.Sort() {
		if !silenced.has(d.File.Position(d.Span.From).Line, d.Rule) {
			c.found = append(c.found, d)
		}
	}
	return c
}

// loadFlow reads and checks the graph file of a command; "-" is stdin. When it
// is not valid it prints the findings on stderr and returns the error that ends
// the program.
func (a *app) loadFlow(path string) (*spec.Graph, error) {
	src, err := a.readPath(path)
	if err != nil {
		return nil, usage(err)
	}
	name := path
	if path == "-" {
		name = stdinName
	}
	c := check(name, src)
	switch {
	case c.found.HasErrors():
		return nil, a.invalid(c.found)
	case len(c.broken) > 0:
		return nil, a.invalid(c.broken)
	}
	return c.graph, nil
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
