// Package cli is the command line of graphrun. Related commands share a file:
//
//	write, test           write a flow and check it
//	facts                 facts about a flow, and about graphrun
//	run, resume, serve    run flows
//	runs, history, store  what has run and what the store keeps
//	draw                  dot and render
//
// The other files are:
//
//	program          one call of graphrun: its commands, settings and exit codes
//	flags            types of flags, completion, usage errors, -o
//	drive            run, resume and fork: session, events, results
//	engine           the local and the Temporal engine
//	flow             finding, reading and checking files; input
//
// Package runview has the views of a run, settings reads graphrun.yaml, and inspect turns
// flows and runs into data.
package cli

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"golang.org/x/term"

	"github.com/graphrun/graphrun/internal/cli/settings"
	"github.com/graphrun/graphrun/internal/cli/telemetry"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Program is one call of graphrun: arguments, streams, signals and the clock. It uses the
// files and environment variables of the process.
type Program struct {
	// Args are the arguments after the program's name.
	Args []string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinTerminal, StdoutTerminal and StderrTerminal say which streams are terminals.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	// Columns returns the width of the terminal of Stderr, or 0 if it is unknown. If it is nil,
	// the width is unknown.
	Columns func() int

	// Notify delivers interrupts to a channel until stop is called. If it is nil, there are none.
	Notify func(c chan<- os.Signal) (stop func())
	// Now returns the time. If it is nil, the system clock is used.
	Now func() time.Time
	// ConfigDir is the folder of the user's settings, or "".
	ConfigDir string
	// Engine makes the engine of --engine temporal. If it is nil, the program graphrun-temporal runs.
	Engine func(EngineSettings) (Engine, error)
	// StateDir is the folder of the default store. If it is "", the default store is in memory.
	StateDir string
}

// System returns a Program with the arguments and streams of the process.
func System() Program {
	configDir, _ := os.UserConfigDir() // "" without a home folder
	stderr := int(os.Stderr.Fd())
	return Program{
		Args:  os.Args[1:],
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(stderr),
		Columns: func() int {
			columns, _, _ := term.GetSize(stderr) // 0 on an error
			return columns
		},
		Notify: func(c chan<- os.Signal) func() {
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
				signal.Notify(c, syscall.SIGHUP)
			}
			return func() { signal.Stop(c) }
		},
		ConfigDir: configDir,
		StateDir:  findStateDir(),
	}
}

// clock is a runner.Clock that takes the time from Program.Now.
type clock struct{ now func() time.Time }

func (c clock) Now() time.Time { return c.now() }

func (c clock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// Main runs the program and returns its exit code.
func Main(ctx context.Context, p Program) int {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Columns == nil {
		p.Columns = func() int { return 0 }
	}
	a := &app{Program: p, clock: clock{p.Now}}
	root := newRoot(a)
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if !a.started {
		err = asUsageError(err) // cobra's own: an unknown command or flag, a bad argument
	}
	code := a.printError(cmp.Or(err, a.helpError))
	if err := a.exporter.Close(); err != nil {
		fmt.Fprintf(a.Stderr, "graphrun: some telemetry was not exported: %v\n", err)
	}
	return max(code, a.printError(a.closeStore()))
}

// The exit codes.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitInvalid   = 3
	exitStuck     = 4
	exitLimit     = 5
	exitPaused    = 10
	exitCancelled = 130
)

// usageError is an error in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// asUsageError marks an error as a usage error. It returns nil for nil.
func asUsageError(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func usagef(format string, args ...any) error { return asUsageError(fmt.Errorf(format, args...)) }

// silentError is an exit code without a message.
type silentError struct{ code int }

func (e *silentError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exitWith returns the error for an exit code, or nil for exitOK.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &silentError{code}
}

func findExitCode(err error) int {
	quiet, isQuiet := errors.AsType[*silentError](err)
	switch {
	case err == nil:
		return exitOK
	case isQuiet:
		return quiet.code
	case hasType[*runner.InvalidError](err):
		return exitInvalid
	case hasType[*store.DrivenError](err), hasType[*usageError](err), hasType[*runner.InputError](err),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrRunExists), errors.Is(err, store.ErrNoRun):
		return exitUsage
	case errors.Is(err, store.ErrStopped):
		return exitCancelled
	}
	return exitFailed
}

// hasType reports whether an error is or wraps one of type E.
func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// printError prints an error, unless it was printed before, and returns its exit code.
func (a *app) printError(err error) int {
	if err == nil || hasType[*silentError](err) {
		return findExitCode(err)
	}
	if invalid, ok := errors.AsType[*runner.InvalidError](err); ok {
		return findExitCode(a.reportInvalid(invalid.Diagnostics))
	}
	text := err.Error()
	if input, ok := errors.AsType[*runner.InputError](err); ok {
		text = "the input does not fit the graph\n" + strings.Join(input.Problems, "\n")
	}
	lines := strings.Split(strings.TrimSpace(a.escapeArguments(text)), "\n")
	fmt.Fprintf(a.Stderr, "graphrun: %s\n", terminal.Line(lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintf(a.Stderr, "  %s\n", terminal.Line(strings.TrimSpace(line)))
	}
	return findExitCode(err)
}

// escapeArguments escapes control characters in the arguments that a message quotes, so that
// a path can't break the line or send sequences to the terminal.
func (a *app) escapeArguments(text string) string {
	for _, arg := range a.Args {
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return r == '=' || r == '@' }) {
			if quoted := strconv.Quote(word); strings.ContainsFunc(word, unicode.IsControl) {
				text = strings.ReplaceAll(text, word, quoted[1:len(quoted)-1])
			}
		}
	}
	return text
}

// app holds the state that commands share during one call.
type app struct {
	Program
	clock  clock
	color  enum
	store  storeFlags
	engine engineFlags
	// rules, triggers and notify come from the settings file. notify is a graph with its key
	// notify, or nil.
	rules    settings.Rules
	triggers trigger.List
	notify   *spec.Graph
	// helpError is the error of a help command, which cobra can't return.
	helpError error
	// started is set when cobra has accepted the command line. Earlier errors are usage errors.
	started  bool
	exporter *telemetry.Telemetry // nil if off
}

// Command returns the command with all its subcommands, for man pages and completions.
func Command() *cobra.Command {
	return newRoot(&app{Program: Program{Stdout: io.Discard, Stderr: io.Discard}})
}

func newRoot(a *app) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           "graphrun",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          rejectArgs,
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
	addEnumFlag(root, flags, &a.color, "color", "", "colour the output: always, auto (on a terminal), never")
	markSettings(flags, "color")
	a.addStoreFlags(root)
	a.addEngineFlags(root)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version, like graphrun version")
	root.SetFlagErrorFunc(describeFlagError)
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.showHelp(cmd, show) })
	wantedCommands := a.selectCommands()
	for _, wanted := range wantedCommands {
		if wanted.group != "" && !root.ContainsGroup(wanted.group) {
			root.AddGroup(&cobra.Group{ID: wanted.group, Title: wanted.group})
		}
		c := wanted.build(a)
		c.GroupID = wanted.group
		root.AddCommand(c)
		a.addDefaults(c)
	}
	disableFileCompletion(root)
	setHelp(root)
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

// selectCommands returns the command that the arguments name, or else all commands.
func (a *app) selectCommands() []command {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return len(a.Args) > 0 && c.name == a.Args[0] })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// helpTexts has a section for each command: its summary, help and examples.
//
//go:embed help.md
var helpTexts string

// setHelp sets the summary, the help and the examples of a command.
func setHelp(c *cobra.Command) {
	_, section, _ := strings.Cut(helpTexts, "\n## "+c.CommandPath()+"\n\n")
	section, _, _ = strings.Cut(section, "\n```\n")
	section, examples, _ := strings.Cut(section, "\n\n```sh\n")
	c.Short, c.Long, _ = strings.Cut(section, "\n\n")
	c.Example = "  " + strings.ReplaceAll(examples, "\n", "\n  ")
}

// addDefaults sets the help of a command. A command without Args takes the arguments that Use names.
// A command without PreRunE reads the settings.
func (a *app) addDefaults(c *cobra.Command) {
	setHelp(c)
	switch _, args, _ := strings.Cut(c.Use, " "); {
	case c.Args != nil || c.ValidArgsFunction != nil:
	case args == "FLOW":
		c.Args, c.ValidArgsFunction = requireFlowArg, completeFlow
	case args == "RUN":
		c.Args, c.ValidArgsFunction = requireRunArg, completeByPosition(a.listRunIDs)
	default:
		c.Args, c.ValidArgsFunction = rejectArgs, cobra.NoFileCompletions
	}
	if c.HasSubCommands() {
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if c.PreRunE == nil {
		c.PreRunE = a.loadSettings
	}
	disableFileCompletion(c)
	for _, sub := range c.Commands() {
		a.addDefaults(sub)
	}
}

// newGroupCommand returns a command that only has subcommands.
func newGroupCommand(name string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name}
	group.AddCommand(commands...)
	return group
}

// skipSettings is the PreRunE of commands that need no settings.
func skipSettings(*cobra.Command, []string) error { return nil }

// describeBuiltin adds examples to cobra's own commands.
func describeBuiltin(c *cobra.Command) {
	switch c.Name() {
	case "help":
		c.Example = "  graphrun help run"
		c.Args = func(_ *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil {
				return asUsageError(err)
			}
			return rejectArgs(found, rest)
		}
	case "completion":
		c.Example = "  source <(graphrun completion bash)\n  graphrun completion fish > ~/.config/fish/completions/graphrun.fish"
	}
}

func (a *app) newStdoutColors() terminal.Colors {
	return terminal.NewColors(a.usesColor(a.StdoutTerminal))
}

// usesColor reports whether to use colour, which NO_COLOR and TERM=dumb turn off on terminals.
func (a *app) usesColor(terminal bool) bool {
	switch a.color.value {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

const settingAnnotation = "graphrun_setting"

func markSettings(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, settingAnnotation, []string{"true"}); err != nil {
			panic(err) // an unknown flag: a mistake in this package, which every test would show
		}
	}
}

func isSetting(f *pflag.Flag) bool { return f.Annotations[settingAnnotation] != nil }

// listSettings returns the settings of all commands, sorted.
func listSettings(root *cobra.Command) []string {
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

// formatEnvName returns the variable of a setting: GRAPHRUN_MAX_STEPS for max-steps.
func formatEnvName(name string) string {
	return "GRAPHRUN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// loadSettings sets flags that were not given from the environment, then from the settings file.
func (a *app) loadSettings(cmd *cobra.Command, _ []string) error { return a.loadSettingsOf("", cmd) }

// loadFolderSettings is like loadSettings, but starts at the folder that args name.
func (a *app) loadFolderSettings(cmd *cobra.Command, args []string) error {
	folder := firstArgument(args, "")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = ""
	}
	return a.loadSettingsOf(folder, cmd)
}

func (a *app) loadSettingsOf(folder string, cmd *cobra.Command) error {
	file, err := settings.Read(folder, a.ConfigDir, func() []string { return listSettings(Command()) })
	if err != nil {
		return asUsageError(err)
	}
	a.rules, a.notify, a.triggers = file.Rules, file.Notify, file.Triggers
	v := viper.New()
	if err := v.MergeConfigMap(file.Values); err != nil {
		return asUsageError(fmt.Errorf("%s: %w", file.Path, err))
	}
	var problems []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) || f.Changed {
			return
		}
		if err := v.BindEnv(f.Name, formatEnvName(f.Name)); err != nil {
			problems = append(problems, err)
			return
		}
		if !v.IsSet(f.Name) {
			return
		}
		value := v.GetString(f.Name)
		if err := f.Value.Set(value); err != nil {
			source := file.Position(f.Name)
			if os.Getenv(formatEnvName(f.Name)) != "" {
				source = formatEnvName(f.Name)
			}
			problems = append(problems, fmt.Errorf("%s: %s: %w", source, f.Name, describeBadValue(f, value, err)))
			return
		}
		f.Changed = true
	})
	if len(problems) > 0 {
		return asUsageError(errors.Join(problems...))
	}
	if a.usesCluster() && a.Engine == nil {
		return a.execEngineProgram()
	}
	return nil
}
