// The root command: what graphrun is, and the flags of every command.

package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/spec"
	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/settings"
	"github.com/graphrun/graphrun/internal/telemetry"
	"github.com/graphrun/graphrun/runner"
)

// app is what the commands share during one call.
type app struct {
	Program
	clock  runner.Clock // nil: the machine's
	color  enum
	store  storeFlags
	engine engineFlags
	rules  settings.Rules // of the settings file
	// triggers are those of the settings file.
	triggers triggerList
	always   *spec.Graph // whose notify holds for the runs of all graphs; nil: none does
	// misused is what is wrong with a command line that asks for help.
	misused error
	// started is set once cobra has accepted the command line: errors before
	// that are usage errors.
	started bool
	told    *telemetry.Telemetry // nil: off
}

// Command returns the command with all its subcommands, for man pages and completions.
func Command() *cobra.Command {
	return newRoot(&app{Program: Program{Stdout: io.Discard, Stderr: io.Discard}})
}

func newRoot(a *app) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "graphrun",
		Short: "Run, check and draw graphs of nodes, conditions and loops",
		Long: `graphrun runs graph files: YAML or JSON that declares nodes, the state they share and
the edges between them. It checks a file before it runs it, explains which edges were
taken, and stops at a limit instead of looping for ever.

Settings come from flags, then from environment variables (GRAPHRUN_MAX_STEPS for
--max-steps), then from the nearest graphrun.yaml, searched from the working directory
upwards and then in your configuration folder. Its keys are flag names:

  max-steps: 50
  color: never

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 invalid file, 4 stuck, 5 limit hit,
10 paused, 130 cancelled.`,
		Example: `  graphrun validate                       check every graph file below this folder
  graphrun run flow.yaml -i ticket="..."  run a graph
  graphrun dot flow.yaml | dot -Tsvg -o flow.svg`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.printVersion("text")
			}
			return cmd.Help()
		},
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
	}
	a.color = newEnum("auto", "always", "auto", "never")
	flags := root.PersistentFlags()
	enumFlag(root, flags, &a.color, "color", "", "colour the output: always, auto (on a terminal), never")
	setting(flags, "color")
	a.addStoreFlags(root)
	a.addEngineFlags(root)
	root.Flags().BoolVar(&version, "version", false, "print the version, like graphrun version")
	root.SetFlagErrorFunc(flagError)
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.helpOf(cmd, show) })
	wanted := a.wanted()
	for _, c := range wanted {
		root.AddCommand(c.make(a))
	}
	if len(wanted) == 1 {
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" || c.Name() == "help" {
			describeBuiltin(c)
		}
	}
	groupCommands(root)
	return root
}

// command is a command of the root: its name, and how it is made.
type command struct {
	name string
	make func(*app) *cobra.Command
}

func commands() []command {
	return []command{
		{"init", newInitCommand},
		{"run", newRunCommand},
		{"resume", newResumeCommand},
		{"answer", newAnswerCommand},
		{"fork", newForkCommand},
		{"runs", newRunsCommand},
		{"logs", newLogsCommand},
		{"worker", newWorkerCommand},
		{"sessions", newSessionsCommand},
		{"why", newWhyCommand},
		{"replay", newReplayCommand},
		{"serve", newServeCommand},
		{"mcp", newMCPCommand},
		{"cache", newCacheCommand},
		{"validate", newValidateCommand},
		{"explain", newExplainCommand},
		{"models", newModelsCommand},
		{"tools", newToolsCommand},
		{"bound", newBoundCommand},
		{"diff", newDiffCommand},
		{"test", newTestCommand},
		{"fmt", newFmtCommand},
		{"dot", newDotCommand},
		{"render", newRenderCommand},
		{"schema", newSchemaCommand},
		{"lsp", newLSPCommand},
		{"version", newVersionCommand},
	}
}

// commandGroups are what help lists commands under, by what one wants to do; what
// is in none comes last.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"Write a flow:", []string{"init", "schema", "fmt", "lsp"}},
		{"Check it without running it:", []string{"validate", "explain", "models", "bound", "diff", "test", "tools"}},
		{"Run it:", []string{"run", "resume", "fork", "replay", "serve", "mcp", "worker"}},
		{"Answer what it asks:", []string{"answer"}},
		{"Look at it and at what has run:", []string{"runs", "logs", "why", "dot", "render", "sessions", "cache"}},
	}
}

// commandGroup is a title of help, and the names of commands that stand under it.
type commandGroup struct {
	title string
	names []string
}

// groupCommands sorts the commands of the root into groups.
func groupCommands(root *cobra.Command) {
	for _, group := range commandGroups() {
		for _, name := range group.names {
			c, _, err := root.Find([]string{name})
			if err != nil || c == root {
				continue // a group may name what is not there
			}
			if !root.ContainsGroup(group.title) {
				root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
			}
			c.GroupID = group.title
		}
	}
}

// wanted are the commands that a command line needs: the one that it begins
// with, or else all. Making all of them takes longer than checking a small file.
func (a *app) wanted() []command {
	all := commands()
	if len(a.Args) == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.name == a.Args[0] })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// describeBuiltin gives cobra's own commands the examples that all others have.
func describeBuiltin(c *cobra.Command) {
	switch c.Name() {
	case "help":
		c.Example = "  graphrun help run"
		c.Args = func(_ *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil {
				return usage(err)
			}
			return noArgs(found, rest)
		}
	case "completion":
		c.Example = "  source <(graphrun completion bash)\n  graphrun completion fish > ~/.config/fish/completions/graphrun.fish"
	}
}

// oneFlow wants exactly one argument, the path of a graph file.
func oneFlow(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 1:
		return nil
	case 0:
		return usagef("%q needs the path of a graph file; see %s --help", cmd.CommandPath(), cmd.CommandPath())
	}
	return usagef("%q takes one graph file, got %d arguments: %s", cmd.CommandPath(), len(args), strings.Join(args, " "))
}

// completeFlow completes the path of a graph file.
func completeFlow(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// colorOn decides whether a stream is painted: --color, else NO_COLOR and
// TERM=dumb, else whether a person reads it.
func (a *app) colorOn(terminal bool) bool {
	switch a.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
