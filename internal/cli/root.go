// The root command, and the flags of every command.

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/graphrun/graphrun/internal/settings"
	"github.com/graphrun/graphrun/internal/telemetry"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// app holds what commands share during one call.
type app struct {
	Program
	clock  runner.Clock // nil for the system clock
	color  enum
	store  storeFlags
	engine engineFlags
	rules  settings.Rules // of the settings file
	// triggers are the triggers of the settings file.
	triggers trigger.List
	always   *spec.Graph // a graph with the notify of graphrun.yaml, or nil
	// misused is the error of a help command, which cobra can't return.
	misused error
	// started is set when cobra has accepted the command line. Earlier errors are usage errors.
	started bool
	told    *telemetry.Telemetry // nil if off
}

// Command returns the command with all its subcommands, for man pages and completions.
func Command() *cobra.Command {
	return newRoot(&app{Program: Program{Stdout: io.Discard, Stderr: io.Discard}})
}

func newRoot(a *app) *cobra.Command {
	var showVersion bool
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
			if showVersion {
				_, err := fmt.Fprintln(a.Stdout, readBuildVersion())
				return err
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
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, like graphrun version")
	root.SetFlagErrorFunc(flagError)
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.helpOf(cmd, show) })
	wantedCommands := a.wantedCommands()
	for _, wanted := range wantedCommands {
		if wanted.group != "" && !root.ContainsGroup(wanted.group) {
			root.AddGroup(&cobra.Group{ID: wanted.group, Title: wanted.group})
		}
		c := wanted.build(a)
		c.GroupID = wanted.group
		root.AddCommand(c)
		a.addDefaults(c)
	}
	completeNoFiles(root)
	if root.CompletionOptions.DisableDefaultCmd = len(wantedCommands) == 1; root.CompletionOptions.DisableDefaultCmd {
		return root
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		describeBuiltin(c)
	}
	return root
}

// command is a command of graphrun and the group in which help lists it.
type command struct {
	group, name string
	build       func(*app) *cobra.Command
}

// commands returns all commands in the order of help.
func commands() []command {
	const (
		write  = "Write a flow:"
		check  = "Check it without running it:"
		run    = "Run it:"
		answer = "Answer what it asks:"
		look   = "Look at it and at what has run:"
	)
	return []command{
		{write, "init", newInitCommand},
		{write, "schema", newSchemaCommand},
		{write, "fmt", newFmtCommand},
		{write, "lsp", newLSPCommand},
		{check, "validate", newValidateCommand},
		{check, "explain", newExplainCommand},
		{check, "models", newModelsCommand},
		{check, "bound", newBoundCommand},
		{check, "diff", newDiffCommand},
		{check, "test", newTestCommand},
		{check, "tools", newToolsCommand},
		{run, "run", newRunCommand},
		{run, "resume", newResumeCommand},
		{run, "fork", newForkCommand},
		{run, "replay", newReplayCommand},
		{run, "serve", newServeCommand},
		{run, "mcp", newMCPCommand},
		{run, "worker", newWorkerCommand},
		{answer, "answer", newAnswerCommand},
		{look, "runs", newRunsCommand},
		{look, "logs", newLogsCommand},
		{look, "why", newWhyCommand},
		{look, "dot", newDotCommand},
		{look, "render", newRenderCommand},
		{look, "sessions", newSessionsCommand},
		{look, "cache", newCacheCommand},
		{"", "version", newVersionCommand},
	}
}

// wantedCommands returns the command that the arguments name, or else all commands.
func (a *app) wantedCommands() []command {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return len(a.Args) > 0 && c.name == a.Args[0] })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// addDefaults sets Args and PreRunE of commands without them: no arguments, and reading the
// settings.
func (a *app) addDefaults(c *cobra.Command) {
	if c.Args == nil && c.ValidArgsFunction == nil {
		c.Args, c.ValidArgsFunction = noArgs, cobra.NoFileCompletions
	}
	if c.HasSubCommands() {
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if c.PreRunE == nil {
		c.PreRunE = a.loadSettings
	}
	completeNoFiles(c)
	for _, sub := range c.Commands() {
		a.addDefaults(sub)
	}
}

// noSettings is the PreRunE of commands that do without settings.
func noSettings(*cobra.Command, []string) error { return nil }

// describeBuiltin adds examples to cobra's own commands.
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

// stdoutColors returns the colours for stdout.
func (a *app) stdoutColors() terminal.Colors { return terminal.NewColors(a.colorOn(a.StdoutTerminal)) }

// colorOn reports whether to use colour: by --color, else NO_COLOR and TERM=dumb, else
// whether the stream is a terminal.
func (a *app) colorOn(terminal bool) bool {
	switch a.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const settingAnnotation = "graphrun_setting"

// setting marks flags as settings.
func setting(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, settingAnnotation, []string{"true"}); err != nil {
			panic(err) // an unknown flag: a mistake in this package, which every test would show
		}
	}
}

func isSetting(f *pflag.Flag) bool { return f.Annotations[settingAnnotation] != nil }

// settingNames returns the settings of all commands, sorted.
func settingNames(root *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, f.Name)
		}
	}
	root.PersistentFlags().VisitAll(add)
	for _, c := range root.Commands() {
		c.Flags().VisitAll(add)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// envName returns the variable of a setting: GRAPHRUN_MAX_STEPS for max-steps.
func envName(name string) string {
	return "GRAPHRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// loadSettings sets flags that were not given from the environment, then from the settings
// file. It is the PreRunE of commands with settings.
func (a *app) loadSettings(cmd *cobra.Command, _ []string) error { return a.loadSettingsOf("", cmd) }

// loadFolderSettings is loadSettings for commands that take a folder of flows. It reads
// the settings file of that folder.
func (a *app) loadFolderSettings(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			return a.loadSettingsOf(args[0], cmd)
		}
	}
	return a.loadSettingsOf("", cmd)
}

func (a *app) loadSettingsOf(folder string, cmd *cobra.Command) error {
	file, err := settings.Read(folder, a.ConfigDir, func() []string { return settingNames(Command()) })
	if err != nil {
		return usage(err)
	}
	a.rules, a.always, a.triggers = file.Rules, file.Notify, file.Triggers
	v := viper.New()
	if err := v.MergeConfigMap(file.Values); err != nil {
		return usage(fmt.Errorf("%s: %w", file.Path, err))
	}
	var problems []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) || f.Changed {
			return
		}
		if err := v.BindEnv(f.Name, envName(f.Name)); err != nil {
			problems = append(problems, err)
			return
		}
		if !v.IsSet(f.Name) {
			return
		}
		value := v.GetString(f.Name)
		if err := f.Value.Set(value); err != nil {
			source := file.Place(f.Name)
			if os.Getenv(envName(f.Name)) != "" {
				source = envName(f.Name)
			}
			problems = append(problems, fmt.Errorf("%s: %s: %w", source, f.Name, badValue(f, value, err)))
			return
		}
		f.Changed = true
	})
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	if a.onCluster() && a.Engine == nil {
		return a.execEngineProgram()
	}
	return nil
}
