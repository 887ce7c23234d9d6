// The kind exec: preparing and running a program, reading its result, and the events that
// it appends to GRAPHRUN_TASK_EVENTS.

package node

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	procs "github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// taskPrefix begins the names of variables that describe the task to its program.
const taskPrefix = "GRAPHRUN_TASK_"

type execHandler struct {
	// source is the tool that runs the program, or "" for an exec node.
	source string
	timing Options
}

// Run runs the program and returns its output.
func (h *execHandler) Run(ctx context.Context, task *runner.Task) (any, error) {
	job, err := readExec(task)
	if err != nil {
		return nil, err
	}
	job.timing = h.timing
	if ctx.Err() != nil {
		return nil, stoppedFailure(ctx, fmt.Sprintf("%q was not started", job.argv[0]))
	}
	var keeper *procs.Keeper
	if task.Scope != nil {
		keeper = findKeeper(task.Scope)
	} else { // outside of a run
		keeper = procs.NewKeeper("")
		defer keeper.Close()
	}
	var events *eventFile
	if job.program, err = keeper.NewProgram(); err == nil {
		events, err = openEvents(job.program.Dir(), func(said runner.Said) { emitSaid(task, said) })
	}
	defer job.program.Close()
	if err != nil {
		// Without a writable folder, programs can still run.
		emitWarning(task, "%v: graphrun ignores events of this task", err)
		events = &eventFile{path: os.DevNull}
	}
	job.env = append(job.env, taskPrefix+"EVENTS="+events.path)
	if parent := handler.TraceParent(ctx); parent != "" {
		job.env = append(job.env, "TRACEPARENT="+parent)
	}
	job.outLog, job.errLog = io.Discard, io.Discard
	if task.OpenLog != nil {
		outLog, errLog := task.OpenLog(h.source, "stdout"), task.OpenLog(h.source, "stderr")
		defer outLog.Close()
		defer errLog.Close()
		job.outLog, job.errLog = outLog, errLog
	}
	stdout, err := job.runProgram(ctx)
	questions := events.closeFile()
	if err != nil {
		return nil, err
	}
	if _, err := task.InterruptAll(questions...); err != nil {
		return nil, err
	}
	return parseOutput(job.Parse, job.argv[0], stdout, task.WantsText)
}

// keeperKey is the key of the keeper in the scope of a run.
type keeperKey struct{}

// findKeeper returns the keeper of a run's programs, or of all runs: its watchdog is expensive.
func findKeeper(scope *handler.Scope) *procs.Keeper {
	scope = scope.Outermost()
	return scope.GetOrOpen(keeperKey{}, func() any { return procs.NewKeeper(scope.TasksDir()) }).(*procs.Keeper)
}

// process is a program to run.
type process struct {
	Parse     string         `key:"parse" default:"auto"`
	MaxOutput int            `key:"max_output" default:"8388608" min:"1"` // bytes of stdout
	Command   []any          `key:"command"`
	Script    string         `key:"script"`
	Shell     string         `key:"shell" default:"sh"`
	Dir       string         `key:"dir"`
	Env       map[string]any `key:"env"`
	EnvPass   any            `key:"env_pass"`

	program *procs.Program
	argv    []string
	dir     string   // absolute
	env     []string // later entries win
	stdin   []byte
	timing  Options // Grace, Kill and Linger
	// outLog and errLog receive the output as it comes.
	outLog, errLog io.Writer
}

func readExec(task *runner.Task) (*process, error) {
	job := &process{}
	if err := decodeConfig(task.Config, job); err != nil {
		return nil, err
	}
	job.argv = keys.Texts(job.Command)
	if job.Script != "" {
		job.argv = []string{job.Shell, "-c", job.Script}
	}
	if len(job.argv) == 0 || job.argv[0] == "" {
		return nil, invalidInput("there is no program to run: the first element of \"command\" names it")
	}
	var err error
	if job.dir, err = filepath.Abs(procs.JoinPath(task.Dir, job.Dir)); err == nil {
		_, err = os.Stat(job.dir) // a failed start would not say whether the folder or the program is missing
	}
	if err != nil {
		return nil, newFailure("failed", "working directory: %v", err)
	}
	if job.env, err = job.environment(task); err != nil {
		return nil, err
	}
	job.stdin, err = readStdin(task)
	return job, err
}

// environment returns the variables of a program, except EVENTS. Later entries win.
func (p *process) environment(task *runner.Task) ([]string, error) {
	env, err := procs.Environ(p.dir, p.EnvPass, secretVariables(task.Graph), task.RunDir)
	if err != nil {
		return nil, err
	}
	for _, name := range keys.Sorted(p.Env) {
		switch {
		case name == "" || strings.Contains(name, "="):
			return nil, invalidInput("%q in \"env\" can't be the name of a variable", name)
		case strings.HasPrefix(name, taskPrefix), name == procs.RunDirVariable:
			return nil, invalidInput("%q in \"env\" is set by graphrun: names with %s are its own", name, taskPrefix)
		}
		env = append(env, name+"="+eval.Text(p.Env[name]))
	}
	return append(env,
		taskPrefix+"RUN_ID="+task.RunID,
		taskPrefix+"NODE="+task.Node,
		taskPrefix+"VISIT="+strconv.Itoa(task.Visit),
		taskPrefix+"ATTEMPT="+strconv.Itoa(task.Attempt),
		taskPrefix+"KEY="+task.Key,
	), nil
}

func secretVariables(g *spec.Graph) []string {
	if g == nil {
		return nil
	}
	var names []string
	for _, secret := range g.Secrets {
		if secret.Env.IsSet() {
			names = append(names, secret.Env.Value)
		}
	}
	return names
}

func readStdin(task *runner.Task) ([]byte, error) {
	if given, ok := task.Config["stdin"]; ok {
		return []byte(eval.Text(given)), nil
	}
	state := task.State
	if state == nil {
		state = map[string]any{}
	}
	about := map[string]any{"input": task.Input, "node": task.Node, "state": state, "visit": task.Visit}
	if len(task.Answers) > 0 {
		about["answers"] = task.Answers
	}
	text, err := eval.AppendJSON(nil, about)
	return append(text, '\n'), err
}

func stoppedFailure(ctx context.Context, what string) *runner.Failure {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return newFailure("timeout", "%s: its time was up", what)
	case cause == nil, errors.Is(cause, context.Canceled):
		return newFailure("cancelled", "%s: the task was cancelled", what)
	}
	return newFailure("cancelled", "%s: the task was cancelled: %v", what, cause)
}

// runProgram runs the program and returns its output. An error is a *runner.Failure.
func (p *process) runProgram(ctx context.Context) ([]byte, error) {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	stdout := &limitedBuffer{limit: p.MaxOutput, onExceed: cancel}
	stderr := &procs.Tail{Keep: detailBytes + utf8.UTFMax}
	path, err := procs.Find(p.argv[0], p.dir, p.env)
	if err != nil {
		return nil, p.startFailure(err)
	}
	cmd := &exec.Cmd{
		Path: path, Args: p.argv, Dir: p.dir, Env: p.env, WaitDelay: p.timing.Linger,
		Stdin: bytes.NewReader(p.stdin), Stdout: io.MultiWriter(p.outLog, stdout), Stderr: io.MultiWriter(p.errLog, stderr),
	}
	if err := p.program.Start(cmd); err != nil {
		return nil, p.startFailure(err)
	}
	ended, stopped := make(chan struct{}), make(chan bool, 1)
	undo := context.AfterFunc(bounded, func() { stopped <- p.program.Stop(cmd, ended, p.timing.Grace, p.timing.Kill) })
	err = cmd.Wait()
	close(ended)
	wasStopped := !undo() && <-stopped
	var exit *exec.ExitError
	if cmd.ProcessState == nil || err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, newFailure("internal", "can't read the output of %q: %v", p.argv[0], err)
	}
	code, signal := procs.ExitStatus(cmd.ProcessState)
	var failure *runner.Failure
	switch {
	case stdout.exceeded:
		failure = newFailure("invalid_output", "%q was stopped: it printed more than %d bytes (max_output)", p.argv[0], p.MaxOutput)
	case wasStopped:
		failure = stoppedFailure(ctx, fmt.Sprintf("%q was stopped", p.argv[0]))
	case code == 0:
		return stdout.buf.Bytes(), nil
	default:
		failure = exitFailure(p.argv[0], code, signal, stderr.Bytes())
	}
	failure.Details = map[string]any{
		"exit_code": code, "stderr": tailText(stderr.Bytes(), detailBytes), "stdout": tailText(stdout.buf.Bytes(), detailBytes),
	}
	if signal != "" {
		failure.Details["signal"] = signal
	}
	return nil, failure
}

func exitFailure(name string, code int, signal string, stderr []byte) *runner.Failure {
	how := fmt.Sprintf("%q exited with code %d", name, code)
	if signal != "" {
		how = fmt.Sprintf("%q was killed by signal %s", name, signal)
	}
	if line := lastLine(validText(stderr)); line != "" {
		how += ": " + line
	}
	return newFailure("exit_status", "%s", how)
}

// limitedBuffer keeps the first limit bytes and calls onExceed once if there are more. It
// accepts all bytes, so that the program does not die of a closed pipe.
type limitedBuffer struct {
	limit    int
	onExceed func()
	buf      bytes.Buffer
	exceeded bool
}

func (c *limitedBuffer) Write(p []byte) (int, error) {
	n := len(p)
	if room := c.limit - c.buf.Len(); n > room {
		p = p[:room]
		if !c.exceeded {
			c.exceeded = true
			c.onExceed()
		}
	}
	c.buf.Write(p)
	return n, nil
}

func (p *process) startFailure(err error) *runner.Failure {
	name := p.argv[0]
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return newFailure("failed", "program %q was not found in PATH: check its name and that it is installed", name)
	case errors.Is(err, fs.ErrNotExist):
		return newFailure("failed", "program %q was not found: check its path, which is relative to %q, and the interpreter that its first line names", name, p.dir)
	case errors.Is(err, fs.ErrPermission):
		return newFailure("failed", "program %q can't be executed: check that it is a file with execute permission", name)
	}
	return newFailure("failed", "can't start %q: %v", name, err)
}

const (
	maxEventLine = 64 << 10
	// eventPoll is short enough that a person sees no delay.
	eventPoll = 50 * time.Millisecond
	// maxSkipWarnings bounds the warnings about skipped lines. One more warning counts the rest.
	maxSkipWarnings = 20
	// maxQuestions bounds the open questions of a program.
	maxQuestions = 100
)

// eventFile reads a growing file of events. Its goroutine owns offset and the fields after it.
type eventFile struct {
	path string
	file *os.File
	emit func(runner.Said)
	stop chan struct{}
	done chan struct{}

	offset   int64
	skipping bool // the rest of a line that is too long
	parser   eventParser
}

// openEvents creates the file in a folder. One goroutine passes its events to emit, in order.
func openEvents(dir string, emit func(runner.Said)) (*eventFile, error) {
	path := filepath.Join(dir, "events.jsonl")
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("can't create the file for the task's events: %w", err)
	}
	e := &eventFile{path: path, file: file, emit: emit, stop: make(chan struct{}), done: make(chan struct{})}
	go e.pollFile()
	return e, nil
}

// closeFile reads the remaining lines, removes the file and returns the program's questions.
func (e *eventFile) closeFile() []handler.Question {
	if e.file == nil {
		return nil // the file could not be created
	}
	close(e.stop)
	<-e.done
	_ = e.file.Close()
	_ = os.Remove(e.path)
	return e.parser.questions
}

func (e *eventFile) pollFile() {
	defer close(e.done)
	ticker := time.NewTicker(eventPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.readLines(false)
		case <-e.stop:
			e.readLines(true)
			if more := e.parser.skipped - maxSkipWarnings; more > 0 {
				e.emit(runner.Said{Type: "warning", Message: fmt.Sprintf("%d more lines of the task's events are skipped, up to line %d", more, e.parser.number)})
			}
			return
		}
	}
}

// readLines reads the new complete lines, and atEnd also a last line without a line break. It never
// waits for more, since a child of the program may write forever. It reads a file that shrank from
// its beginning, because a program may open and truncate it for each event.
func (e *eventFile) readLines(atEnd bool) {
	info, err := e.file.Stat()
	if err != nil || info.Size() == e.offset {
		return
	}
	if info.Size() < e.offset {
		e.offset, e.skipping = 0, false
	}
	in := bufio.NewReaderSize(io.NewSectionReader(e.file, e.offset, info.Size()-e.offset), maxEventLine+1)
	for {
		line, err := in.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !tooLong && (!atEnd || len(line) == 0) {
			return // the line is not complete
		}
		if !e.skipping {
			if said, ok := e.parser.parseLine(bytes.TrimSuffix(line, []byte("\n")), tooLong); ok {
				e.emit(said)
			}
		}
		e.skipping = tooLong
		e.offset += int64(len(line))
	}
}

// eventParser reads the lines of one attempt.
type eventParser struct {
	number    int
	skipped   int
	percent   float64
	questions []handler.Question
}

// parseLine reads a line. A line that is not an event gives a warning, an empty line nothing.
func (p *eventParser) parseLine(line []byte, tooLong bool) (runner.Said, bool) {
	p.number++
	if len(bytes.TrimSpace(line)) == 0 && !tooLong {
		return runner.Said{}, false
	}
	said, err := p.decodeLine(line, tooLong)
	if err == nil {
		return said, said.Type != ""
	}
	if p.skipped++; p.skipped > maxSkipWarnings {
		return said, false
	}
	shown := eval.Shorten(stripControls(headText(line, 400)), 80)
	return runner.Said{Type: "warning", Message: fmt.Sprintf("line %d of the task's events is skipped: %v: %q", p.number, err, shown)}, true
}

func (p *eventParser) decodeLine(line []byte, tooLong bool) (said runner.Said, err error) {
	if tooLong {
		return said, fmt.Errorf("it is longer than %d bytes", maxEventLine)
	}
	v, err := decodeJSON(line)
	if err != nil {
		return said, fmt.Errorf("it is not JSON: %w", err)
	}
	event, ok := v.(map[string]any)
	if !ok {
		return said, fmt.Errorf("it is %s; a JSON object is wanted", keys.TypeName(v))
	}
	return p.readEvent(event)
}

// readEvent converts an event. It keeps questions and returns no Said for them.
func (p *eventParser) readEvent(event map[string]any) (said runner.Said, err error) {
	switch name := event["event"]; name {
	case "progress":
		return p.readProgress(event)
	case "text":
		said.Type = "text"
		said.Text, err = readText(event, "text", false)
	case "custom":
		said.Type, said.Data = "custom", event["data"]
		if said.Name, err = readText(event, "type", false); err == nil && said.Name == "" {
			err = errors.New(`"type" is empty`)
		}
	case "interrupt":
		err = p.keepQuestion(event)
	case nil:
		err = errors.New(`it has no "event" (custom, interrupt, progress, text)`)
	default:
		err = fmt.Errorf("unknown event %s (custom, interrupt, progress, text)", keys.Preview(name))
	}
	return said, err
}

// keepQuestion stores a question, and replaces an earlier one with the same key.
func (p *eventParser) keepQuestion(event map[string]any) error {
	key, err := readText(event, "key", false)
	prompt, wrongPrompt := readText(event, "prompt", true)
	schema, isMap := event["schema"].(map[string]any)
	q := handler.Question{Key: key, Prompt: prompt, Schema: schema}
	switch {
	case err != nil || wrongPrompt != nil:
		return cmp.Or(err, wrongPrompt)
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r == '=' || unicode.IsControl(r) }):
		return fmt.Errorf(`"key" is %s; a name without "=" is wanted`, keys.Preview(key))
	case !isMap && event["schema"] != nil:
		return fmt.Errorf(`"schema" is %s; a JSON Schema is wanted`, keys.TypeName(event["schema"]))
	}
	if err := q.Check(); err != nil {
		return err
	}
	p.questions = slices.DeleteFunc(p.questions, func(other handler.Question) bool { return other.Key == key })
	if len(p.questions) == maxQuestions {
		return fmt.Errorf("the task already asks %d questions, the most that it can have", maxQuestions)
	}
	p.questions = append(p.questions, q)
	return nil
}

// readProgress reads a progress event. Its percentage defaults to the last one.
func (p *eventParser) readProgress(event map[string]any) (said runner.Said, err error) {
	percent, isNumber := eval.Number(event["percent"])
	if event["percent"] == nil {
		percent, isNumber = p.percent, true
	}
	if !isNumber || percent < 0 || percent > 100 {
		return said, fmt.Errorf(`"percent" is %s; a number from 0 to 100 is wanted`, keys.Preview(event["percent"]))
	}
	said = runner.Said{Type: "progress", Percent: percent}
	if said.Message, err = readText(event, "message", true); err == nil {
		p.percent = percent
	}
	return said, err
}

// readText returns a field of an event, which must be a string.
func readText(event map[string]any, name string, optional bool) (string, error) {
	text, isText := event[name].(string)
	if !isText && !(optional && event[name] == nil) {
		return "", fmt.Errorf("%q is %s; a text is wanted", name, keys.TypeName(event[name]))
	}
	return text, nil
}
