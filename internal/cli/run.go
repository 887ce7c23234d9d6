// The run command: run a graph to its end, a pause or a limit.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/flowtest"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

type runFlags struct {
	driveFlags
	inputs    []string
	inputFile string
	goal      string
	dryRun    bool
	stubs     string
	replay    string
}

func newRunCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run FLOW",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runFlow(cmd.Context(), cmd, &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "a state key's value: key=value, key=@file or key:=json; repeatable")
	flags.StringVar(&f.inputFile, "input-file", "", "FILE with a JSON or YAML object of inputs, - for stdin; -i overrides it")
	flags.StringVar(&f.opts.RunID, "run-id", "", "id of the run (default: generated)")
	flags.StringVar(&f.goal, "goal", "", "goal that replaces the graph's: text, or @file")
	flags.BoolVar(&f.dryRun, "dry-run", false, "run with made-up values and print what each step would start, send, ask and write;\nnothing is executed, sent or stored")
	flags.StringVar(&f.stubs, "stubs", "", "`FILE` of stubs for --dry-run, in the form of a test case")
	addLabelFlag(cmd, &f.opts.Labels, "key=value: a label to find the run by; repeatable")
	completeFlag(cmd, "input", keyCandidates(parseNamedFlow))
	flags.StringVar(&f.opts.Session, "session", "", "ID of the session, which passes state keys with scope: session and the\nconversation from run to run")
	completeFlag(cmd, "session", a.listSessionIDs)
	flags.Var(repeated(f.readModel), "model", "ROLE=MODEL: the model of a role, for example default=openai/gpt-6-luna;\nreplaces the graph's, in subgraphs too; repeatable")
	flags.Var(repeated(f.readModelParam), "set-model-param", "[PATH/NODE:]KEY=JSON: a parameter of one model node or of all,\nfor example reasoning=low or outer/inner:max_tokens=200; repeatable")
	flags.StringVar(&f.record, "record", "", "FILE in which to record the answers of models and tools")
	flags.StringVar(&f.replay, "replay", "", "FILE from --record that supplies the answers of models and tools;\nno provider, script or tool is called, and delays are skipped")
	addDriveFlags(cmd, &f.driveFlags, parseNamedFlow)
	return cmd
}

// runFlow checks the graph, reads the input, runs and reports.
func (a *app) runFlow(ctx context.Context, cmd *cobra.Command, f *runFlags, path string) error {
	if err := f.checkRanges(cmd, store.CheckID("--run-id", f.opts.RunID), store.CheckID("--session", f.opts.Session)); err != nil {
		return err
	}
	goal, err := readTextOrFile(f.goal)
	switch {
	case err != nil:
		return usagef("--goal: %w", err)
	case path == "-" && f.inputFile == "-":
		return usagef("the graph and --input-file can't both be stdin")
	}
	g, err := a.loadFlow(path, slices.Collect(maps.Keys(f.opts.Models))...)
	if err != nil {
		return err
	}
	input, err := a.readInput(g, f.inputFile, f.inputs, f.dryRun || f.opts.Session != "")
	if err != nil {
		return err
	}
	opts := f.opts
	if err := f.checkModels(g); err != nil {
		return err
	}
	if err := f.openTape(); err != nil {
		return err
	}
	opts.Rush, opts.Input, opts.Goal, opts.Dir = f.replay != "", input, goal, filepath.Dir(path)
	if f.dryRun {
		return a.printDryRun(ctx, g, opts, f)
	}
	if opts.Session != "" && a.storePath() == "" && !a.usesCluster() {
		return usagef("--session %q: --store memory keeps nothing for the next run; name a file", opts.Session)
	}
	if err := a.requireStore(g, f); err != nil {
		return err
	}
	kept, err := a.openStore()
	if err != nil {
		return a.reportStoreError(g, f, err)
	}
	s, err := a.newSession(kept, g, &f.driveFlags)
	if err != nil {
		return err
	}
	flow, err := s.runner.Prepare(g)
	if err != nil {
		return errors.Join(err, s.out.close())
	}
	result, err := s.driveRun(ctx, &opts, func(ctx context.Context) (*runner.Result, error) {
		if a.usesCluster() {
			return a.engine.store.Begin(ctx, s.runner, flow, opts, f.tape)
		}
		return flow.Run(ctx, opts)
	})
	return s.finishRun(result, err)
}

// reportStoreError reports that the store could not be opened, with -o json also as an object.
func (a *app) reportStoreError(g *spec.Graph, f *runFlags, err error) error {
	if f.output.value != "json" || findExitCode(err) != exitFailed {
		return err
	}
	return errors.Join(err, writeJSON(a.Stdout, &runner.Result{
		RunID: f.opts.RunID, Graph: g.Name.Value, Status: machine.Failed, Reason: "store", Start: g.Start.Value, Path: []string{},
		State: map[string]any{}, Pending: []view.Pending{}, StartedAt: a.Now(), Error: &runner.Failure{Kind: "internal", Message: err.Error()},
	}, a.StdoutTerminal))
}

// readModel reads ROLE=PROVIDER/NAME.
func (f *runFlags) readModel(text string) error {
	role, model, ok := strings.Cut(text, "=")
	provider, name, whole := strings.Cut(model, "/")
	if !ok || role == "" || !whole || provider == "" || name == "" {
		return fmt.Errorf("%q: want ROLE=PROVIDER/NAME, such as default=openai/gpt-6-luna", text)
	}
	if f.opts.Models == nil {
		f.opts.Models = map[string]string{}
	}
	f.opts.Models[role] = model
	return nil
}

// checkModels returns an error for each role or provider of --model that the graph does not know.
func (f *runFlags) checkModels(g *spec.Graph) error {
	if hasSubgraphs(g) { // they may have other roles and providers
		return nil
	}
	var problems []error
	for _, role := range slices.Sorted(maps.Keys(f.opts.Models)) {
		provider, _, _ := strings.Cut(f.opts.Models[role], "/")
		for _, err := range []error{checkRole(g, role), checkProvider(g, provider)} {
			if err != nil {
				problems = append(problems, usagef("--model %s=%s: %w", role, f.opts.Models[role], err))
			}
		}
	}
	return asUsageError(errors.Join(problems...))
}

func listKeys(fields []spec.Field) []string {
	return mapSlice(fields, func(f spec.Field) string { return f.Key.Value })
}

func checkRole(g *spec.Graph, role string) error {
	known := append([]string{"compact", "default", "judge", "router"}, listKeys(g.Models)...)
	for _, n := range g.Nodes {
		for _, named := range []*spec.Value{n.Field("model"), n.Field("judge").Get("model")} {
			if named != nil && named.Kind == spec.String && !strings.Contains(named.Text.Value, "/") {
				known = append(known, named.Text.Value)
			}
		}
	}
	return checkName("nothing has the role %q", role, "roles", known)
}

func checkProvider(g *spec.Graph, name string) error {
	known := append([]string{"anthropic", "openai", "scripted"}, listKeys(g.Providers)...)
	return checkName("there is no provider %q", name, "providers", known)
}

// hasSubgraphs reports whether a graph runs other graphs, as nodes or as tools.
func hasSubgraphs(g *spec.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return n.Kind.Value == "graph" }) ||
		slices.ContainsFunc(g.Tools, func(f spec.Field) bool { return f.Value.Get("graph") != nil })
}

// openTape opens the recording of --record or --replay.
func (f *runFlags) openTape() (err error) {
	switch {
	case f.record != "" && f.replay != "":
		return usagef("--record and --replay exclude each other")
	case f.record != "":
		if err := cassette.CheckWritable(f.record); err != nil {
			return usagef("--record: %w", err)
		}
		f.tape = cassette.New()
	case f.replay != "":
		if f.tape, err = cassette.Open(f.replay); err != nil {
			return usagef("--replay: %w", err)
		}
	}
	return nil
}

// readModelParam reads [PATH/NODE:]KEY=JSON. A value that is not JSON is a text.
func (f *runFlags) readModelParam(text string) error {
	name, value, ok := strings.Cut(text, "=")
	p := handler.ModelParam{Key: name}
	if node, key, targeted := strings.Cut(name, ":"); targeted {
		p.Node, p.Key = node, key
		ok = ok && node != ""
	}
	if !ok || p.Key == "" {
		return fmt.Errorf("%q: want [PATH/NODE:]KEY=JSON, such as reasoning=low", text)
	}
	var err error
	if p.Value, err = input.ParseJSON([]byte(value)); err != nil {
		if value == "" || strings.ContainsAny(value[:1], `{["`) {
			return fmt.Errorf("%q: the value is not JSON: %w", text, err)
		}
		p.Value = value
	}
	f.opts.ModelParams = append(f.opts.ModelParams, p)
	return nil
}

// dryRunReport is the JSON of a dry run: the result and the plan.
type dryRunReport struct {
	*runner.Result
	DryRun bool                `json:"dry_run"`
	Plan   []*flowtest.Planned `json:"plan"`
}

// printDryRun runs a flow with made-up values and prints what each step would do.
func (a *app) printDryRun(ctx context.Context, g *spec.Graph, opts runner.Options, f *runFlags) error {
	stubs, err := readStubs(f.stubs)
	if err != nil {
		return err
	}
	opts.Clock = a.clock
	result, steps, err := flowtest.DryRun(ctx, flowtest.Config{}, g, opts, stubs, f.stubs)
	if err != nil {
		return err
	}
	if f.output.value != "text" {
		return writeJSON(a.Stdout, dryRunReport{result, true, steps}, f.output.value == "json" && a.StdoutTerminal)
	}
	for _, p := range steps {
		if _, err := io.WriteString(a.Stdout, p.Text()); err != nil {
			return err
		}
	}
	for _, line := range runview.Summarize(result, terminal.NewColors(a.usesColor(a.StderrTerminal))) {
		fmt.Fprintln(a.Stderr, line)
	}
	fmt.Fprintln(a.Stderr, "a dry run: nothing was executed, sent or stored, and outputs were made up")
	return nil
}

// readStubs reads a file of stubs: a map by node, or a map with the key stubs as in a case.
func readStubs(path string) (*spec.Value, error) {
	if path == "" {
		return nil, nil
	}
	src, err := bounded.ReadArgument(path, bounded.Text)
	if err != nil {
		return nil, usagef("--stubs: %w", err)
	}
	stubs, found := flowtest.ReadStubs(path, src)
	if found.HasErrors() {
		return nil, usagef("--stubs: %w", &spec.InvalidError{Findings: found})
	}
	return stubs, nil
}
