// Package cli is the command line of graphrun. Related commands share a file:
//
//	write, validate, test    write a flow and check it
//	analysis, reference      facts about a flow, and about graphrun
//	run, resume, serve       run flows
//	runs, history, sessions  what has run
//	draw                     dot and render
//
// The other files are:
//
//	program, root    one call of graphrun, its commands, settings and exit codes
//	flags, complete  types of flags, usage errors, completion
//	drive, output    run, resume and fork: session, events
//	store, engine    the store of runs; the local and the Temporal engine
//	flow             finding, reading and checking files; input
//
// Package runview has the views of a run, settings reads graphrun.yaml, and inspect turns
// flows and runs into data.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
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
	// Columns returns the width of the terminal behind Stderr, or 0 if it is unknown. It may be nil.
	Columns func() int

	// Notify delivers interrupts to a channel until stop is called. If it is nil, there are none.
	Notify func(c chan<- os.Signal) (stop func())
	// Now returns the time. If it is nil, the system clock does.
	Now func() time.Time
	// ConfigDir is the folder of the user's settings, or "".
	ConfigDir string
	// Engine makes the engine of --engine temporal. If it is nil, another program has it.
	Engine func(EngineSettings) (Engine, error)
	// StateDir is the folder of the default store. If it is "", runs are kept in memory unless
	// --store names a file.
	StateDir string
}

// System returns a Program with the arguments and streams of the process.
func System() Program {
	configDir, err := os.UserConfigDir()
	if err != nil {
		configDir = "" // no home folder: no settings of the user
	}
	stderr := int(os.Stderr.Fd())
	return Program{
		Args:  os.Args[1:],
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(stderr),
		Columns: func() int {
			columns, _, err := term.GetSize(stderr)
			if err != nil {
				return 0
			}
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
		StateDir:  stateDir(),
	}
}

// givenClock is a clock made from Program.Now.
type givenClock struct{ now func() time.Time }

// Now returns the time.
func (c givenClock) Now() time.Time { return c.now() }

// AfterFunc calls f after d.
func (c givenClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Main runs the program and returns its exit code.
func Main(ctx context.Context, p Program) int {
	a := &app{Program: p}
	if a.Now != nil {
		a.clock = givenClock{a.Now}
	} else {
		a.Now = time.Now
	}
	root := newRoot(a)
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = usage(err) // cobra's own: an unknown command or flag, a bad argument
	}
	if err == nil {
		err = a.misused
	}
	code := exitOK
	if err != nil {
		code = a.printError(err)
	}
	if err := a.told.Close(); err != nil {
		fmt.Fprintf(a.Stderr, "graphrun: what OpenTelemetry was to be told is lost: %v\n", err)
	}
	if err := a.closeStore(); err != nil {
		return max(code, a.printError(err))
	}
	return code
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

// usage marks an error as a usage error.
func usage(err error) error { return &usageError{err} }

// usagef formats a usage error.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// usageErrors joins errors into one usage error, or returns nil.
func usageErrors(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return usage(errors.Join(problems...))
}

// silentError is an exit code without a message.
type silentError struct{ code int }

func (e *silentError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// silent returns the error for an exit code, or nil for exitOK.
func silent(code int) error {
	if code == exitOK {
		return nil
	}
	return &silentError{code}
}

// exitOf maps an error to its exit code.
func exitOf(err error) int {
	var said *silentError
	var bad *usageError
	var input *runner.InputError
	var invalid *runner.InvalidError
	var driven *store.DrivenError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &said):
		return said.code
	case errors.As(err, &invalid):
		return exitInvalid
	case errors.As(err, &driven), errors.As(err, &bad), errors.As(err, &input), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, store.ErrRunExists), errors.Is(err, store.ErrNoRun):
		return exitUsage
	case errors.Is(err, store.ErrStopped):
		return exitCancelled
	}
	return exitFailed
}

// printError prints an error, unless it was printed before, and returns its exit code.
func (a *app) printError(err error) int {
	var said *silentError
	if errors.As(err, &said) {
		return said.code
	}
	text := err.Error()
	var input *runner.InputError
	if errors.As(err, &input) {
		text = "the input does not fit the graph\n" + strings.Join(input.Problems, "\n")
	}
	lines := strings.Split(strings.TrimSpace(a.escapeArguments(text)), "\n")
	fmt.Fprintf(a.Stderr, "graphrun: %s\n", terminal.Line(lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintf(a.Stderr, "  %s\n", terminal.Line(strings.TrimSpace(line)))
	}
	return exitOf(err)
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
