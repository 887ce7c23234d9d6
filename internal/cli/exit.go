// Exit codes, and the errors that stand for them.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

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

// usageError is a mistake in how the program was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usage marks an error as a usage error.
func usage(err error) error { return &usageError{err} }

// usagef is a new usage error.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// silentError ends the program with a code when all has been said already.
type silentError struct{ code int }

func (e *silentError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// silent is the error for an exit code; nil for exitOK.
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

// exitOfResult maps what a run came to to its exit code. With strict, a run
// that completed but not cleanly is a failure.
func exitOfResult(r *runner.Result, strict bool) int { return r.ExitCode(strict) }

// report prints an error that has not been said yet and returns its exit code.
func (a *app) report(err error) int {
	var said *silentError
	if errors.As(err, &said) {
		return said.code
	}
	text := err.Error()
	var input *runner.InputError
	if errors.As(err, &input) {
		text = "the input does not fit the graph\n" + strings.Join(input.Problems, "\n")
	}
	lines := strings.Split(strings.TrimSpace(a.escaped(text)), "\n")
	fmt.Fprintf(a.Stderr, "graphrun: %s\n", terminal.Line(lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintf(a.Stderr, "  %s\n", terminal.Line(strings.TrimSpace(line)))
	}
	return exitOf(err)
}

// escaped writes what a message quotes of the command line, such as a path, so
// that it can't break the line or speak to the terminal.
func (a *app) escaped(text string) string {
	for _, arg := range a.Args {
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return r == '=' || r == '@' }) {
			if quoted := strconv.Quote(word); strings.ContainsFunc(word, unicode.IsControl) {
				text = strings.ReplaceAll(text, word, quoted[1:len(quoted)-1])
			}
		}
	}
	return text
}
