// A server that is a program: its process group, its streams, its end.

package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/process"
)

// program is a running server.
type program struct {
	cmd    *exec.Cmd
	mark   *process.Mark
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *lastBytes
	ended  chan struct{} // closed when it has, and its group is gone
	opts   *Options
}

// start starts the program in a process group of its own.
func (s *server) start() (*program, error) {
	dir := s.dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.opts.Dir, dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	argv := make([]string, len(s.command))
	for i := range argv {
		argv[i] = eval.Text(s.command[i])
	}
	env, err := s.environment(dir)
	if err != nil {
		return nil, err
	}
	path, err := process.Find(argv[0], dir, env)
	if err != nil {
		return nil, fmt.Errorf("program %q was not found in PATH", argv[0])
	}
	p := &program{stderr: &lastBytes{}, ended: make(chan struct{}), opts: s.opts}
	p.cmd = &exec.Cmd{Path: path, Args: argv, Dir: dir, Env: env, Stderr: p.stderr, WaitDelay: time.Second}
	if s.opts.Stderr != nil {
		p.cmd.Stderr = io.MultiWriter(p.stderr, s.opts.Stderr(s.name))
	}
	p.mark, _ = s.opts.Keeper.Mark() // one without a folder will do
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		p.mark.Close()
		return nil, err
	}
	// A pipe of our own: that of StdoutPipe is closed at the program's end with
	// what is still in it.
	stdout, child, err := os.Pipe()
	if err != nil {
		p.mark.Close()
		return nil, errors.Join(err, p.stdin.Close())
	}
	p.stdout, p.cmd.Stdout = stdout, child
	err = p.mark.Start(p.cmd)
	_ = child.Close()
	if err != nil {
		p.mark.Close()
		return nil, errors.Join(err, stdout.Close())
	}
	go p.watch()
	return p, nil
}

// environment is what a shell needs of graphrun's own, and what the file adds.
func (s *server) environment(dir string) ([]string, error) {
	of := process.Environment{Withheld: s.opts.Withheld}
	of.Read(s.envPass)
	env := append(of.Entries(), "PWD="+dir)
	if s.opts.RunDir != nil {
		folder, err := s.opts.RunDir()
		if err != nil {
			return nil, err
		}
		env = append(env, process.RunDirVariable+"="+folder)
	}
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		env = append(env, name+"="+eval.Text(s.env[name]))
	}
	return env, nil
}

// watch waits for the program's end and ends what it leaves behind: a child
// that holds stdout open would keep the connection waiting for ever.
func (p *program) watch() {
	_ = p.cmd.Wait()
	p.mark.Kill(p.cmd)
	p.mark.Close()
	close(p.ended)
}

// stop ends the program. Closing stdin asks first; who does not hear that gets
// SIGTERM, and then SIGKILL.
func (p *program) stop() error {
	_ = p.stdin.Close()
	if !p.endsWithin(p.opts.Grace / 5) {
		p.mark.Ask(p.cmd)
		if !p.endsWithin(p.opts.Grace) {
			p.mark.Kill(p.cmd)
		}
	}
	<-p.ended
	_ = p.stdout.Close()
	return nil
}

func (p *program) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
	case <-p.opts.Kill:
	}
	return false
}

// keptBytes is how much of a server's stderr is kept.
const keptBytes = 4 << 10

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	mu  sync.Mutex
	buf []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	if len(l.buf) > 2*keptBytes {
		l.buf = l.buf[:copy(l.buf, l.buf[len(l.buf)-keptBytes:])]
	}
	return len(p), nil
}

// last is the last line that speaks of an error, or else the last with visible
// text: what ends a stack trace says little.
func (l *lastBytes) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := ""
	for _, line := range slices.Backward(bytes.Split(l.buf, []byte("\n"))) {
		text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
		if strings.Contains(strings.ToLower(text), "error") {
			return head(text, 500)
		}
		if last == "" {
			last = head(text, 500)
		}
	}
	return last
}
