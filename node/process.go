// Running one program: its process group, its streams, its timeout.

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"syscall"
	"unicode/utf8"

	procs "github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner"
)

var errTooMuchOutput = errors.New("too much output")

// process is a program to run.
type process struct {
	mark      *procs.Mark
	argv      []string
	dir       string   // absolute
	env       []string // later entries win
	stdin     []byte
	maxOutput int     // bytes of stdout
	timing    Options // Grace, Kill and Linger
	// outLog and errLog receive the output as it comes, unless they are nil.
	outLog, errLog io.Writer
}

// ending is how a program ended.
type ending struct {
	code    int    // as a shell reports it: 128 + n for signal n
	signal  string // "" or the signal's name
	stdout  []byte
	stderr  string // its end
	tooMuch bool   // it was stopped for more output than allowed
	stopped bool   // it was stopped at the end of the context
}

// run runs the program to the end of its streams. An error is a *runner.Failure.
func (p *process) run(ctx context.Context) (*ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdout := &capped{limit: p.maxOutput, over: func() { cancel(errTooMuchOutput) }}
	stderr := &procs.Tail{Keep: detailBytes + utf8.UTFMax}
	cmd := &exec.Cmd{
		Path: p.argv[0], Args: p.argv, Dir: p.dir, Env: p.env,
		Stdin: bytes.NewReader(p.stdin), Stdout: both(stdout, p.outLog), Stderr: both(stderr, p.errLog),
		WaitDelay: p.timing.Linger,
	}
	path, err := procs.Find(p.argv[0], p.dir, p.env)
	if err != nil {
		return nil, startFailure(p, err)
	}
	cmd.Path = path
	if err := p.mark.Start(cmd); err != nil {
		return nil, startFailure(p, err)
	}
	ended, stopped := make(chan struct{}), make(chan bool, 1)
	undo := context.AfterFunc(ctx, func() { stopped <- p.mark.Stop(cmd, ended, p.timing.Grace, p.timing.Kill) })
	err = cmd.Wait()
	close(ended)
	end := &ending{stopped: !undo() && <-stopped, tooMuch: stdout.exceeded, stdout: stdout.buf.Bytes(), stderr: tailText(stderr.Bytes(), detailBytes)}
	if cmd.ProcessState == nil {
		return nil, &runner.Failure{Kind: "internal", Message: fmt.Sprintf("lost sight of %q: %v", p.argv[0], err)}
	}
	end.code, end.signal = procs.ExitStatus(cmd.ProcessState)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, &runner.Failure{Kind: "internal", Message: fmt.Sprintf("can't read the output of %q: %v", p.argv[0], err)}
	}
	return end, nil
}

// both writes to w and, if there is one, to a log.
func both(w, log io.Writer) io.Writer {
	if log == nil {
		return w
	}
	return io.MultiWriter(log, w)
}

// capped keeps the first limit bytes and calls over once if there are more. It goes on
// accepting bytes, so that the program does not die of a closed pipe.
type capped struct {
	limit    int
	over     func()
	buf      bytes.Buffer
	exceeded bool
}

func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.limit - c.buf.Len(); n > room {
		p = p[:room]
		if !c.exceeded {
			c.exceeded = true
			c.over()
		}
	}
	c.buf.Write(p)
	return n, nil
}

// startFailure returns why a program did not start, and what to check.
func startFailure(p *process, err error) *runner.Failure {
	name := p.argv[0]
	message := fmt.Sprintf("can't start %q: %v", name, err)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		message = fmt.Sprintf("program %q was not found in PATH: check its name and that it is installed", name)
	case errors.Is(err, fs.ErrNotExist):
		message = fmt.Sprintf("program %q was not found: check its path, which is relative to %q, and the interpreter that its first line names", name, p.dir)
	case errors.Is(err, fs.ErrPermission):
		message = fmt.Sprintf("program %q can't be executed: check that it is a file with execute permission", name)
	case errors.Is(err, syscall.E2BIG):
		message = fmt.Sprintf("can't start %q: its arguments and environment are too large; give large data on stdin", name)
	}
	return &runner.Failure{Kind: "failed", Message: message}
}

// failure returns the failure of the task, or nil for a success.
func (e *ending) failure(ctx context.Context, p *process) *runner.Failure {
	name := p.argv[0]
	switch {
	case e.tooMuch:
		return &runner.Failure{
			Kind:    "invalid_output",
			Message: fmt.Sprintf("%q was stopped: it printed more than %d bytes (max_output)", name, p.maxOutput),
			Details: e.details(),
		}
	case e.stopped:
		failure := stoppedFailure(ctx, fmt.Sprintf("%q was stopped", name))
		failure.Details = e.details()
		return failure
	case e.code == 0:
		return nil
	}
	how := fmt.Sprintf("%q exited with code %d", name, e.code)
	if e.signal != "" {
		how = fmt.Sprintf("%q was killed by signal %s", name, e.signal)
	}
	if line := lastLine(e.stderr); line != "" {
		how += ": " + line
	}
	return &runner.Failure{Kind: "exit_status", Message: how, Details: e.details()}
}

func (e *ending) details() map[string]any {
	details := map[string]any{
		"exit_code": e.code,
		"stderr":    e.stderr,
		"stdout":    tailText(e.stdout, detailBytes),
	}
	if e.signal != "" {
		details["signal"] = e.signal
	}
	return details
}
