// Flows: graphs that are ready to run, with their subgraphs.

package runner

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/runner/internal/flowtree"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Flow is a graph that is ready to run, any number of times, also concurrently.
type Flow struct {
	runner *Runner
	tree   *flowtree.Tree
	// files are the texts of all files that the flow uses, by absolute path. It is nil for a subgraph.
	files map[string][]byte
}

// Prepare compiles a graph. The error is an *InvalidError if the graph or its kinds are invalid.
func (r *Runner) Prepare(g *spec.Graph) (*Flow, error) { return r.prepare(g, nil) }

// PrepareRecord compiles the graph of a recorded run from its stored texts.
func (r *Runner) PrepareRecord(run *store.RunRecord) (*Flow, error) {
	g, found := spec.Parse(run.File, run.Source, spec.Options{Kinds: r.kinds, Load: run.Load})
	if found.HasErrors() {
		return nil, &InvalidError{Diagnostics: found.Sort()}
	}
	return r.prepare(g, run.Files)
}

// prepare is like Prepare. kept holds texts by absolute path that replace files.
func (r *Runner) prepare(g *spec.Graph, kept map[string][]byte) (*Flow, error) {
	tree, files, found := flowtree.Build(g, flowtree.Config{Kinds: r.kinds, Load: r.cfg.Load, Rewrite: r.cfg.Rewrite, Kept: kept})
	if found.HasErrors() {
		return nil, &InvalidError{Diagnostics: found.Sort()}
	}
	return &Flow{runner: r, tree: tree, files: files}, nil
}

// Run runs the flow; see Runner.Run.
func (f *Flow) Run(ctx context.Context, opts Options) (*Result, error) {
	values, err := f.checkOptions(&opts)
	if err != nil {
		return nil, err
	}
	secrets, err := f.readSecrets(&opts)
	if err != nil {
		return nil, err
	}
	opts.Clock = f.chooseClock(&opts)
	opts.RunID = cmp.Or(opts.RunID, store.NewRunID(opts.Clock.Now()))
	opts.Dir = cmp.Or(opts.Dir, filepath.Dir(f.tree.Graph.File.Name))
	return newDriver(f, opts, secrets).startRun(ctx, values)
}

// CheckOptions returns the *InputError with which Run would refuse the options. It does not check
// secrets.
func (f *Flow) CheckOptions(opts Options) error {
	_, err := f.checkOptions(&opts)
	return err
}

// checkOptions validates the options and loads the session. It returns the input.
func (f *Flow) checkOptions(opts *Options) (values map[string]any, err error) {
	if err := opts.checkNames(); err != nil {
		return nil, err
	}
	if opts.session, err = f.loadSession(opts.Session); err != nil {
		return nil, err
	}
	has := opts.session.keys
	if has == nil {
		has = map[string]any{}
	}
	values, problems := input.Check(f.tree.Graph, opts.Input, has)
	if len(problems) == 0 {
		problems = input.CheckSecretLengths(f.tree.Graph, opts.Input)
	}
	if len(problems) == 0 {
		problems = f.checkTargets(opts)
	}
	return values, inputError(problems)
}

func (f *Flow) chooseClock(opts *Options) Clock {
	if opts.Clock != nil {
		return opts.Clock
	}
	return f.runner.cfg.Clock
}

// NewRecord returns the record of a new run of the flow, for a driver in another process.
func (f *Flow) NewRecord(opts Options) store.RunRecord {
	now := f.chooseClock(&opts).Now()
	opts.RunID = cmp.Or(opts.RunID, store.NewRunID(now))
	return f.newRecord(&opts, now)
}

func (f *Flow) newRecord(opts *Options, started time.Time) store.RunRecord {
	g := f.tree.Graph
	return store.RunRecord{
		ID: opts.RunID, Graph: g.Name.Value, File: flowtree.AbsolutePath(g.File.Name), Source: g.File.Src, Files: f.files,
		Labels: opts.Labels, Session: opts.Session, Started: started,
	}
}

// Graph returns the graph of the flow, as Config.Rewrite returned it.
func (f *Flow) Graph() *spec.Graph { return f.tree.Graph }

// Tools returns the graph's tools by name, with secrets in clear text. The error says which
// template needs a run, or which secret is missing.
func (f *Flow) Tools() (map[string]any, error) {
	secrets, wrong := input.ReadSecrets(f.tree.Graph)
	if len(wrong) > 0 {
		return nil, inputError(wrong)
	}
	return f.tree.Plan.Tools(secrets)
}

// FindNode returns the node at a path: its id, or outer/inner in a subgraph.
func (f *Flow) FindNode(path string) (*spec.Node, error) {
	in, id, err := f.tree.FindNode(path, false)
	if err != nil {
		return nil, err
	}
	return in.Graph.Node(id), nil
}

// CheckAnswer returns an error for a target that no question can have, or for an invalid answer.
func (f *Flow) CheckAnswer(target string, given []string) error {
	node, err := f.tree.CheckTarget(target)
	if err != nil {
		return err
	}
	return flowtree.CheckAnswers(node, target, given)
}

// EquipTask sets Graph and WantsText of a task that runs in another process than its driver.
func (f *Flow) EquipTask(task *Task) error {
	in, id, err := f.tree.FindNode(task.Node, false)
	if err == nil {
		task.Graph, task.WantsText = in.Graph, in.Plan.WantsText(id)
	}
	return err
}

// GraphsAround returns the graphs around the node at a path, outermost first, or nil.
func (f *Flow) GraphsAround(path string) []*spec.Graph {
	trees, _, _ := f.tree.FindAround(path, false)
	var out []*spec.Graph
	for _, tree := range trees {
		out = append(out, tree.Graph)
	}
	return out
}

// checkNames validates the run's id, session and labels. The error is an *InputError.
func (o *Options) checkNames() error {
	var problems []string
	for _, err := range []error{store.CheckLength("the run id", o.RunID), store.CheckLength("the session", o.Session), store.CheckLabels(o.Labels)} {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	return inputError(problems)
}

// inputError returns an *InputError, or nil without problems.
func inputError(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &InputError{Problems: problems}
}
