// Checking triggers against the flows that they start.

package trigger

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// List holds the triggers of a settings file and their problems.
type List struct {
	Triggers []*Trigger
	Problems spec.Diagnostics
	file     *spec.File
}

// Check is Place for the flows beside the settings file.
func (l *List) Check() (spec.Diagnostics, error) {
	if len(l.Triggers)+len(l.Problems) == 0 {
		return nil, nil
	}
	flows, err := catalog.Open(filepath.Dir(l.file.Name), catalog.Rules{})
	if err != nil {
		return nil, err
	}
	return l.Place(flows), flows.Close()
}

// Place converts the flow paths of triggers from the settings file's folder to a catalog. It
// returns problems: missing or invalid flows and bad inputs.
func (l *List) Place(flows *catalog.Catalog) spec.Diagnostics {
	checked := List{file: l.file, Problems: slices.Clone(l.Problems)}
	for _, t := range l.Triggers {
		if t.Flow == "" {
			continue // reported already
		}
		file, err := filepath.Abs(filepath.Join(filepath.Dir(l.file.Name), filepath.FromSlash(t.Flow)))
		if err == nil {
			if dir, linkErr := filepath.EvalSymlinks(filepath.Dir(file)); linkErr == nil {
				file = filepath.Join(dir, filepath.Base(file))
			}
		}
		path := flows.PathOf(file)
		if err != nil || path == "" {
			checked.report(t.flowAt, "%q is not below %s", t.Flow, flows.Dir())
			continue
		}
		// The input of a webhook depends on the delivery.
		err = flows.Check(path, t.Input, t.Schedule != nil)
		var input *runner.InputError
		if errors.As(err, &input) {
			for _, problem := range input.Problems {
				checked.report(t.inputAt, "trigger of %q: %s", t.Flow, problem)
			}
		} else if err != nil {
			checked.report(t.flowAt, "%s", err)
		}
		t.Flow = path
	}
	return checked.Problems
}
