// The kind exec: what to run, with which environment and input, and what its
// end means.

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	procs "github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// taskPrefix begins the names of the variables that tell a program about its task.
const taskPrefix = "GRAPHRUN_TASK_"

type execHandler struct {
	// source is the tool that the program is; "": the node itself.
	source string
	grace  time.Duration
	kill   <-chan struct{}
	linger time.Duration
}

// Run runs the program and returns what it printed.
func (h *execHandler) Run(ctx context.Context, task *runner.Task) (any, error) {
	job, parse, err := readExec(task)
	if err != nil {
		return nil, err
	}
	job.grace, job.kill, job.linger = h.grace, h.kill, h.linger
	var events *eventFile
	if err := ctx.Err(); err != nil {
		return nil, stopped(ctx, fmt.Sprintf("%q was not started", job.argv[0]))
	}
	emit := task.Emit
	if emit == nil {
		emit = func(runner.Said) {}
	}
	var keeper *procs.Keeper
	if task.Scope != nil {
		keeper = keeperOf(task.Scope)
	} else { // outside of a run
		keeper = procs.NewKeeper("")
		defer keeper.Close()
	}
	if job.mark, err = keeper.Mark(); err == nil {
		events, err = openEvents(job.mark.Dir(), emit)
	}
	defer job.mark.Close()
	if err != nil {
		// A system without a writable place for it can still run programs.
		emit(runner.Said{Type: "warning", Message: err.Error() + ": they are not heard"})
		events = &eventFile{path: os.DevNull}
	}
	job.env = append(job.env, taskPrefix+"EVENTS="+events.path)
	if parent := handler.TraceParent(ctx); parent != "" {
		job.env = append(job.env, "TRACEPARENT="+parent)
	}
	if task.OpenLog != nil {
		stdout, stderr := task.OpenLog(h.source, "stdout"), task.OpenLog(h.source, "stderr")
		defer stdout.Close()
		defer stderr.Close()
		job.outLog, job.errLog = stdout, stderr
	}
	end, err := job.run(ctx)
	questions := events.close()
	if err != nil {
		return nil, err
	}
	if failure := end.failure(ctx, job); failure != nil {
		return nil, failure
	}
	if _, err := task.InterruptAll(questions...); err != nil {
		return nil, err
	}
	return parseOutput(parse, job.argv[0], end.stdout, task.WantsText)
}

// keeperKey is that of the keeper of a run's programs.
type keeperKey struct{}

// keeperOf is what starts the programs of a run, or of all runs that this process
// runs tasks of: its watchdog is a process, which costs more than many a program.
func keeperOf(scope *handler.Scope) *procs.Keeper {
	scope = scope.Lasting()
	return scope.Keep(keeperKey{}, func() io.Closer { return procs.NewKeeper(scope.TasksDir()) }).(*procs.Keeper)
}

// readExec turns a task's configuration into a process and a parse mode.
func readExec(task *runner.Task) (*process, string, error) {
	config := task.Config
	parse, err := textKey(config, "parse", "auto")
	if err != nil {
		return nil, "", err
	}
	if modes := []string{"auto", "json", "lines", "text"}; !slices.Contains(modes, parse) {
		return nil, "", invalidInput("\"parse\" is %q (%s)", parse, strings.Join(modes, ", "))
	}
	job := &process{}
	if job.maxOutput, err = intKey(config, "max_output", defaultMaxBytes, 1); err != nil {
		return nil, "", err
	}
	if job.argv, err = readArgv(config); err != nil {
		return nil, "", err
	}
	if job.dir, err = readDir(task); err != nil {
		return nil, "", err
	}
	if job.env, err = readEnv(task, job.dir); err != nil {
		return nil, "", err
	}
	if job.stdin, err = readStdin(task); err != nil {
		return nil, "", err
	}
	return job, parse, nil
}

func readArgv(config map[string]any) ([]string, error) {
	script, err := textKey(config, "script", "")
	if err != nil {
		return nil, err
	}
	command, given := config["command"].([]any)
	switch {
	case script != "" && config["command"] != nil:
		return nil, invalidInput(`both "command" and "script" are given; one is wanted`)
	case script != "":
		shell, err := textKey(config, "shell", "sh")
		if err != nil {
			return nil, err
		}
		return checkArgv([]string{shell, "-c", script})
	case !given && config["command"] != nil:
		return nil, invalidInput(`"command" is %s; a list of a program and its arguments is wanted`, typeName(config["command"]))
	}
	return checkArgv(texts(command))
}

func checkArgv(argv []string) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, invalidInput("there is no program to run: the first element of \"command\" names it")
	}
	for i, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return nil, invalidInput("argument %d of %q holds a NUL byte, which no program can be given", i, head(argv[0], 60))
		}
	}
	return argv, nil
}

// readDir resolves the working directory and makes sure that it is one: the
// error of starting a program would not say which of the two is missing.
func readDir(task *runner.Task) (string, error) {
	dir, err := textKey(task.Config, "dir", "")
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(task.Dir, dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", &runner.Failure{Kind: "failed", Message: fmt.Sprintf("can't use the working directory: %v", err)}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &runner.Failure{Kind: "failed", Message: fmt.Sprintf("the working directory %q does not exist", dir)}
	case err != nil:
		return "", &runner.Failure{Kind: "failed", Message: fmt.Sprintf("can't use the working directory: %v", err)}
	case !info.IsDir():
		return "", &runner.Failure{Kind: "failed", Message: fmt.Sprintf("the working directory %q is not a directory", dir)}
	}
	return dir, nil
}

// readEnv is the environment of a task's program but for EVENTS. Later entries
// win over earlier ones of the same name.
func readEnv(task *runner.Task, dir string) ([]string, error) {
	own, err := mapKey(task.Config, "env")
	if err != nil {
		return nil, err
	}
	of := procs.Environment{Withheld: secretVariables(task.Graph)}
	of.Read(task.Config["env_pass"])
	env := append(of.Entries(), "PWD="+dir)
	if task.RunDir != nil {
		folder, err := task.RunDir()
		if err != nil {
			return nil, err
		}
		env = append(env, procs.RunDirVariable+"="+folder)
	}
	for _, name := range sortedNames(own) {
		value := eval.Text(own[name])
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, invalidInput("%q in \"env\" can't be the name of a variable", name)
		case strings.HasPrefix(name, taskPrefix), name == procs.RunDirVariable:
			return nil, invalidInput("%q in \"env\" is set by graphrun: names with %s are its own", name, taskPrefix)
		case strings.ContainsRune(value, 0):
			return nil, invalidInput("the value of %q in \"env\" holds a NUL byte", name)
		}
		env = append(env, name+"="+value)
	}
	return append(env,
		taskPrefix+"RUN_ID="+task.RunID,
		taskPrefix+"NODE="+task.Node,
		taskPrefix+"VISIT="+strconv.Itoa(task.Visit),
		taskPrefix+"ATTEMPT="+strconv.Itoa(task.Attempt),
		taskPrefix+"KEY="+task.Key,
	), nil
}

// secretVariables are the variables that hold a graph's secrets.
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
	text, err := encodeJSON(about)
	if err != nil {
		return nil, &runner.Failure{Kind: "internal", Message: fmt.Sprintf("can't write the program's stdin: %v", err)}
	}
	return text, nil
}

// stopped is the failure of a task whose context ended. what says what was
// going on.
func stopped(ctx context.Context, what string) *runner.Failure {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &runner.Failure{Kind: "timeout", Message: what + ": its time was up"}
	}
	message := what + ": the task was cancelled"
	if cause != nil && !errors.Is(cause, context.Canceled) {
		message += ": " + cause.Error()
	}
	return &runner.Failure{Kind: "cancelled", Message: message}
}
