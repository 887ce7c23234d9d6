// The bound, diff and tools commands: facts about a flow that does not run.

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bound"
	"github.com/graphrun/graphrun/internal/flowdiff"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/lint"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

type boundFlags struct {
	maxSteps int
	maxCalls int
	maxUSD   float64
}

func newBoundCommand(a *app) *cobra.Command {
	var f boundFlags
	cmd := &cobra.Command{
		Use:   "bound FLOW",
		Short: "Bound the steps, model calls, tokens and cost of a run before it runs",
		Long: `bound prints the fewest steps, model calls, tokens and dollars with which a run can
complete, and the most that any run can take. It follows every path through the graph
and runs nothing.

It decides guards over visits, steps and numbers in the state as far as the writes of
the nodes allow. An input may be any value of its schema, so a loop that counts up is
bounded only if the schema has a minimum or a node sets the number first. Any other
guard may go either way. Retries count as model calls. If only a limit bounds a value,
bound names the limit; if nothing does, it says what would. It also says what bounds
each loop.

The bounds always hold. For steps and model calls, bound searches for runs that reach
them, with made-up results, and prints those that it finds: with one for each, the
bounds are exact.

Exit codes: 0, 1 when a bound is above one of the --max flags, 2 wrong usage, 3 invalid file.`,
		Example: `  graphrun bound flow.yaml
  graphrun bound flow.yaml --max-llm-calls 20 --max-usd 0.50`,
		Args:              requireFlowArg,
		ValidArgsFunction: completeFlow,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.bound(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	addOutput(cmd)
	flags.IntVar(&f.maxSteps, "max-steps", 0, "fail if a run can take more steps; 0: no limit")
	flags.IntVar(&f.maxCalls, "max-llm-calls", 0, "fail if a run can make more model calls; 0: no limit")
	flags.Float64Var(&f.maxUSD, "max-usd", 0, "fail if a run can cost more US dollars; 0: no limit")
	return cmd
}

func (a *app) bound(cmd *cobra.Command, f *boundFlags, path string) error {
	g, err := a.loadFlow(path)
	if err != nil {
		return err
	}
	b, ok := bound.Of(g, bound.Options{Load: spec.Beside(path), Price: inspect.BoundCost})
	if !ok {
		return usagef("%s: no run of this graph can complete, so there is nothing to bound", path)
	}
	r := inspect.NewBound(g, b, lint.Loops(g, lint.Options{Load: spec.Beside(path)}), b.Attain())
	for _, c := range []struct {
		flag string
		most float64
		have float64
	}{
		{"--max-steps", float64(f.maxSteps), b.Steps.Max},
		{"--max-llm-calls", float64(f.maxCalls), b.LLMCalls.Max},
		{"--max-usd", f.maxUSD, b.CostUSD.Max},
	} {
		if c.most > 0 && c.have > c.most {
			r.Exceeded = append(r.Exceeded, fmt.Sprintf("%s %s: a run can take %s", c.flag, runview.FormatNumber(c.most), runview.FormatNumber(c.have)))
		}
	}
	if err := a.printIndented(cmd, r, runview.FormatBound(&r)); err != nil || len(r.Exceeded) == 0 {
		return err
	}
	for _, line := range r.Exceeded {
		a.note("above " + line)
	}
	return silent(exitFailed)
}

func newDiffCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two versions of a graph and find changes that break callers",
		Long: `diff compares two versions of a graph: inputs, outputs, secrets, questions, nodes, edges,
guards, limits. It ignores how the files are written. One of the files may be - for stdin.

A change breaks callers if a call that worked may now fail: an input is removed, newly
required or accepts less; a part of the output is gone or may hold new values; a secret
is needed; a run may pause for a person where it did not before.

Exit codes: 0 nothing that breaks callers, 1 something does, 2 wrong usage, 3 a file is invalid.`,
		Example: `  graphrun diff old.yaml new.yaml
  git show HEAD:flow.yaml | graphrun diff - flow.yaml`,
		Args:              requireArgs(2, 2, "two graph files"),
		ValidArgsFunction: completeFiles,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.diff(cmd, args[0], args[1]) },
	})
}

type diffReport struct {
	Breaking bool              `json:"breaking"`
	Changes  []flowdiff.Change `json:"changes"`
}

func (a *app) diff(cmd *cobra.Command, before, after string) error {
	if before == "-" && after == "-" {
		return usagef("stdin holds one graph; name a file for the other")
	}
	old, err := a.loadFlow(before)
	if err != nil {
		return err
	}
	now, err := a.loadFlow(after)
	if err != nil {
		return err
	}
	r := diffReport{Changes: flowdiff.Compare(old, now)}
	if r.Changes == nil {
		r.Changes = []flowdiff.Change{}
	}
	breaking := 0
	var b strings.Builder
	for _, c := range r.Changes {
		mark := "  "
		if c.Breaking {
			breaking++
			mark = "! "
		}
		b.WriteString(mark + c.Kind + " " + c.Name + " " + c.Change)
		if c.Detail != "" {
			b.WriteString(": " + c.Detail)
		}
		b.WriteString("\n")
	}
	r.Breaking = breaking > 0
	if err := a.printIndented(cmd, r, b.String()); err != nil {
		return err
	}
	a.remark(cmd, describeChanges(len(r.Changes)-breaking, breaking))
	if r.Breaking {
		return silent(exitFailed)
	}
	return nil
}

func describeChanges(others, breaking int) string {
	switch {
	case others+breaking == 0:
		return "no changes"
	case breaking == 0:
		return eval.Count(others, "change") + ", none breaks callers"
	}
	return fmt.Sprintf("%s breaking callers (!), %s", eval.Count(breaking, "change"), eval.Count(others, "other"))
}

func newToolsCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:   "tools FLOW",
		Short: "List the tools of a flow and of its MCP servers",
		Long: `tools lists what the nodes of a flow can call: the tools that it declares and those of
its MCP servers, which it starts, asks and stops. It also lists the servers' resources
and prompts, by the names that parts of a prompt use. -o json adds the schemas of the
arguments.`,
		Example: `  graphrun tools flow.yaml
  graphrun tools flow.yaml -o json`,
		Args:              requireFlowArg,
		ValidArgsFunction: completeFlow,
		PreRunE:           skipSettings,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tools(cmd, args[0]) },
	})
}

func (a *app) tools(cmd *cobra.Command, path string) error {
	g, err := a.loadFlow(path)
	if err != nil {
		return err
	}
	r, err := a.newRunner(&store.Memory{}, node.Options{})
	if err != nil {
		return err
	}
	flow, err := r.Prepare(g)
	if err != nil {
		return err
	}
	declared, err := flow.Tools()
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	var withheld []string
	for _, secret := range g.Secrets {
		if secret.Env.IsSet() {
			withheld = append(withheld, secret.Env.Value)
		}
	}
	registry, err := tool.New(declared, tool.Options{Dir: filepath.Dir(path), Withheld: withheld})
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	defer func() { _ = registry.Close() }()
	list, failed := inspect.ListTools(cmd.Context(), registry, bystander{a})
	var b strings.Builder
	for _, t := range list {
		b.WriteString(formatTool(&t))
	}
	if err := a.printIndented(cmd, list, b.String()); err != nil || !failed {
		return err
	}
	return silent(exitFailed)
}

func formatTool(t *inspect.ListedTool) string {
	line := t.Name
	if t.Kind == "resource" || t.Kind == "prompt" {
		line += "  (" + t.Kind + ")"
	}
	switch text, _, more := strings.Cut(strings.TrimSpace(t.Description), "\n"); {
	case t.Error != "":
		line += ": " + terminal.Line(t.Error)
	case more:
		line += "  " + terminal.Line(text) + " …"
	case text != "":
		line += "  " + terminal.Line(text)
	}
	if t.Approve != "" {
		line += "  (a person approves: " + terminal.Line(t.Approve) + ")"
	}
	return line + "\n"
}

// bystander prints messages of servers and makes no calls.
type bystander struct{ app *app }

func (b bystander) Warn(message string) { b.app.note(terminal.Line(message)) }

var errNoCalls = errors.New("tools are listed, not called")

func (bystander) Exec(context.Context, string, map[string]any, map[string]any) (any, error) {
	return nil, errNoCalls
}

func (bystander) Graph(context.Context, string, map[string]any) (any, error) { return nil, errNoCalls }

func (bystander) StandIn(context.Context) (any, bool, error) { return nil, false, nil }

func (bystander) TraceParent() string { return "" }

func (bystander) Progress(string, string, float64, float64) {}

func (bystander) Ask(string, string, map[string]any) (any, bool) { return nil, false }
