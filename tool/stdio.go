// Servers that are programs: starting, reading and stopping them.

package tool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/process"
)

// program is a running server.
type program struct {
	cmd     *exec.Cmd
	process *process.Program
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	stderr  *process.Tail
	ended   chan struct{} // closed when the program and its process group have ended
	opts    *Options
}

func (s *server) startProgram() (*program, error) {
	dir, err := filepath.Abs(process.JoinPath(s.opts.Dir, s.Dir))
	if err != nil {
		return nil, err
	}
	env, err := s.environment(dir)
	if err != nil {
		return nil, err
	}
	path, err := process.Find(s.Command[0], dir, env)
	if err != nil {
		return nil, fmt.Errorf("program %q was not found in PATH", s.Command[0])
	}
	stdout, child, err := os.Pipe() // not StdoutPipe, which closes the pipe with unread data in it
	if err != nil {
		return nil, err
	}
	p := &program{stdout: stdout, stderr: &process.Tail{Keep: 4 << 10}, ended: make(chan struct{}), opts: s.opts}
	p.cmd = &exec.Cmd{Path: path, Args: s.Command, Dir: dir, Env: env, Stdout: child, Stderr: p.stderr, WaitDelay: time.Second}
	if s.opts.Stderr != nil {
		p.cmd.Stderr = io.MultiWriter(p.stderr, s.opts.Stderr(s.name))
	}
	p.process, _ = s.opts.Keeper.NewProgram() // without a folder it works, too
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.process.Start(p.cmd)
	}
	_ = child.Close()
	if err != nil {
		p.process.Close()
		return nil, errors.Join(err, stdout.Close())
	}
	go func() {
		_ = p.cmd.Wait()
		p.process.Kill(p.cmd) // kill its children: one could keep stdout open
		p.process.Close()
		close(p.ended)
	}()
	return p, nil
}

// environment returns the variables of graphrun that a shell needs, and those that the file adds.
func (s *server) environment(dir string) ([]string, error) {
	env, err := process.Environ(dir, s.EnvPass, s.opts.Withheld, s.opts.RunDir)
	if err != nil {
		return nil, err
	}
	for _, name := range keys.Sorted(s.Env) {
		env = append(env, name+"="+eval.Text(s.Env[name]))
	}
	return env, nil
}

// stopProgram ends the program: it closes stdin, then sends SIGTERM, then SIGKILL.
func (p *program) stopProgram() error {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(p.opts.Grace / 5):
	case <-p.opts.Kill:
	}
	p.process.Stop(p.cmd, p.ended, p.opts.Grace, p.opts.Kill)
	_ = p.stdout.Close()
	return nil
}

// lastLine returns the last line of stderr that mentions an error, else the last line that is not empty.
func (p *program) lastLine() string {
	last := ""
	for _, line := range slices.Backward(bytes.Split(p.stderr.Bytes(), []byte("\n"))) {
		text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
		if strings.Contains(strings.ToLower(text), "error") {
			return eval.Shorten(text, 500)
		}
		if last == "" {
			last = eval.Shorten(text, 500)
		}
	}
	return last
}

// maxLine bounds the bytes of a message.
const maxLine = 64 << 20

// filterMessages reads the lines that are messages. Other lines go to stray, unless it is full.
func filterMessages(stdout io.ReadCloser, stray chan<- string) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			line := lines.Bytes()
			if isMessage(line) {
				if _, err := in.Write(append(line, '\n')); err != nil {
					break
				}
			} else if text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD")); text != "" {
				select {
				case stray <- eval.Shorten(text, 200):
				default:
				}
			}
		}
		_ = in.CloseWithError(lines.Err()) // nil ends the stream
	}()
	return pipe{out, stdout}
}

// pipe is the output of a filter. Close also closes its source.
type pipe struct {
	*io.PipeReader
	source io.Closer
}

// Close ends the filter.
func (p pipe) Close() error {
	_ = p.PipeReader.Close()
	return p.source.Close()
}

// isMessage reports whether a line is a JSON object or a list.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line)
}
