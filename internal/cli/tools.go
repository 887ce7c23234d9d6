// The tools command: list the tools of a flow and of its MCP servers.

package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/tool"
)

func newToolsCommand(a *app) *cobra.Command {
	return withOutput(&cobra.Command{
		Use:   "tools FLOW",
		Short: "List the tools of a flow and of its MCP servers",
		Long: `tools lists what the nodes of a flow can call: the tools that it declares and those of
its MCP servers, which it starts, asks and stops. It also lists the servers' resources
and prompts, by the names that parts of a prompt use. -o json adds the schemas of the
arguments.`,
		Example: `  graphrun tools flow.yaml
  graphrun tools flow.yaml -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFlow,
		PreRunE:           noSettings,
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
	list, failed := inspect.ListTools(cmd.Context(), registry, declared, bystander{a})
	var b strings.Builder
	for _, t := range list {
		b.WriteString(toolLine(&t))
	}
	if err := a.printWhole(cmd, list, b.String()); err != nil || !failed {
		return err
	}
	return silent(exitFailed)
}

func toolLine(t *inspect.ListedTool) string {
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
