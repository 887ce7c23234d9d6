// Calling tools in the name of a task: what tools, tool and agent nodes share.

package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// toolkit is what it takes to call tools.
type toolkit struct {
	exec    *execHandler
	options tool.Options
	// cassette records answers, or plays them; nil: neither.
	cassette *cassette.Cassette
	// stand stands in for tools; nil: nothing does.
	stand *Stand
}

// registryKey is the key of a graph's tools in the scope of a run.
type registryKey struct{ graph *spec.Graph }

// keptTools are the tools of a run, or why there are none.
type keptTools struct {
	*tool.Registry
	err error
}

// Close ends the servers.
func (k keptTools) Close() error {
	if k.Registry == nil {
		return nil
	}
	return k.Registry.Close()
}

// registry returns the tools of the task's graph, the same for the whole run.
func (k *toolkit) registry(task *runner.Task) (*tool.Registry, error) {
	if task.Scope == nil {
		return nil, &runner.Failure{Kind: "internal", Message: "a task without a run has no tools"}
	}
	keeper := keeperOf(task.Scope) // kept first, so that it ends after the servers
	kept := task.Scope.Keep(registryKey{task.Graph}, func() io.Closer {
		opts := k.options
		opts.Dir, opts.Withheld, opts.RunDir, opts.Keeper = task.Dir, secretVariables(task.Graph), task.RunDir, keeper
		if task.OpenLog != nil {
			// A server outlives the task that starts it: its stream ends with the run.
			opts.Stderr = func(server string) io.Writer { return task.OpenLog(server, "stderr") }
		}
		registry, err := tool.New(task.Tools, opts)
		return keptTools{registry, err}
	}).(keptTools)
	if kept.err != nil {
		return nil, invalidInput("%v", kept.err)
	}
	return kept.Registry, nil
}

// toolCall is a call as a model makes it. Number counts the calls of the visit.
type toolCall struct {
	tool.Call
	id     string
	number int
}

// answer is what a call came to: an output, or an error's message as the output.
type answer struct {
	output  any
	isError bool
	details map[string]any
}

// call makes one call and keeps what it came to in the journal, which tells of it: a
// task that runs again finds it there and does not make it twice. An error
// means that the task has to end.
func (k *toolkit) call(ctx context.Context, task *runner.Task, allowed []string, c toolCall) (answer, error) {
	if done, ok := loggedAnswer(task, c.number); ok {
		return done, nil
	}
	registry, err := k.registry(task)
	if err != nil {
		return answer{}, err
	}
	began := now(task)
	if task.Models != nil {
		hideKeys(task, k.cassette)
	}
	if refused := before(ctx, task, c); refused != nil {
		return *refused, c.keep(task, *refused, now(task).Sub(began))
	}
	taped, err := k.cassette.Tool(cassette.ToolCall{
		Caller: model.Caller{Node: task.Node, Place: placeOf(task), Visit: task.Visit, Turn: c.number + 1}, Name: c.Name, Args: c.Args, Malformed: c.Malformed,
	}, func() (cassette.ToolAnswer, error) {
		out, err := k.carryOut(ctx, task, registry, allowed, c)
		return cassette.ToolAnswer{Output: out.output, IsError: out.isError, Details: out.details}, err
	})
	if err != nil {
		return answer{}, ended(ctx, c.Name, err)
	}
	out := after(ctx, task, c, answer{taped.Output, taped.IsError, taped.Details})
	return out, c.keep(task, out, now(task).Sub(began))
}

// refused keeps what stands in for the result of a call that is not made.
func refused(task *runner.Task, c toolCall, words answer) (answer, error) {
	if done, ok := loggedAnswer(task, c.number); ok {
		return done, nil
	}
	return words, c.keep(task, words, 0)
}

// carryOut makes a call, again as the tool's retry says. A call that failed has an
// answer, too: an error means that there is none.
func (k *toolkit) carryOut(ctx context.Context, task *runner.Task, registry *tool.Registry, allowed []string, c toolCall) (answer, error) {
	c.TraceParent = handler.TraceParent(ctx)
	for times := 1; ; times++ {
		actor := &toolActor{kit: k, task: task, call: &c}
		result, err := registry.Call(ctx, actor, allowed, c.Call)
		if err := actor.waits(); err != nil {
			return answer{}, err
		}
		var failed *tool.Error
		switch {
		case err == nil:
			output, err := eval.Canonical(result)
			if err != nil {
				return answer{output: "the result is no plain data: " + err.Error(), isError: true}, nil
			}
			return answer{output: output}, nil
		case !errors.As(err, &failed):
			return answer{}, err
		}
		delay, attempts, again := registry.Again(c.Name, failed, times)
		if !again || failed.NotMade || task.Models == nil {
			return answer{failed.Message, true, failed.Details}, nil
		}
		if task.Emit != nil {
			task.Emit(runner.Said{Type: "warning", Message: fmt.Sprintf("tool %q failed, attempt %d of %d is made in %s: %s", c.Name, times+1, attempts, delay, failed.Message)})
		}
		if err := task.Models.Sleep(ctx, delay); err != nil {
			return answer{}, err
		}
	}
}

// ended is the error of a task that can't go on after a call.
func ended(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, fmt.Sprintf("the call of tool %q was stopped", name))
	}
	return err
}

// now is the time by which calls are measured: the run's, so that one in virtual time is
// the same every time.
func now(task *runner.Task) time.Time {
	if task.Models == nil {
		return time.Now()
	}
	return task.Models.Now()
}

// keep notes what a call came to and how long it took, which the runner tells.
func (c *toolCall) keep(task *runner.Task, out answer, took time.Duration) error {
	return c.keepAs("number", task, c.number, out, took)
}

// keepAs keeps it under a number of that kind.
func (c *toolCall) keepAs(kind string, task *runner.Task, number int, out answer, took time.Duration) error {
	if task.Note == nil {
		return nil
	}
	var args any = c.Args
	switch {
	case c.Malformed != "":
		args = c.Malformed
	case c.Args == nil:
		args = map[string]any{}
	}
	note := map[string]any{
		kind: number, "name": c.Name, "args": args, "output": out.output, "is_error": out.isError,
		"duration_ms": int(took.Milliseconds()),
	}
	if c.id != "" {
		note["id"] = c.id
	}
	if out.details != nil {
		note["details"] = out.details
	}
	return task.Note(map[string]any{handler.NoteToolCall: note})
}

// loggedAnswer is what the call of that number came to before a crash.
func loggedAnswer(task *runner.Task, number int) (answer, bool) {
	return loggedAs("number", task, number)
}

// loggedAs is what was kept under a number of that kind.
func loggedAs(kind string, task *runner.Task, number int) (answer, bool) {
	for _, entry := range task.Log {
		fields, _ := entry.(map[string]any)
		note, ok := fields[handler.NoteToolCall].(map[string]any)
		if !ok {
			continue
		}
		if n, ok := keys.WholeNumber(note[kind]); !ok || n != number {
			continue
		}
		out := answer{output: note["output"]}
		out.isError, _ = note["is_error"].(bool)
		out.details, _ = note["details"].(map[string]any)
		return out, true
	}
	return answer{}, false
}

// toolActor runs what a tool declares, for one call of a task.
type toolActor struct {
	kit  *toolkit
	task *runner.Task
	call *toolCall // nil: tools are only listed

	mu    sync.Mutex
	asked int                // questions of the server
	open  []handler.Question // those that nobody has answered
}

// Ask looks for the answer to a question of a server. The questions of a call are
// told apart by their number.
func (a *toolActor) Ask(name, message string, schema map[string]any) (answer any, answered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	key := a.call.approval() + "-ask"
	if a.asked > 1 {
		key += strconv.Itoa(a.asked)
	}
	if answer, answered = a.task.Answers[key]; answered {
		return answer, true
	}
	q := handler.Question{Key: key, Prompt: name + " asks: " + message}
	if schema != nil {
		q.Schema = map[string]any{"anyOf": []any{schema, map[string]any{"const": tool.Declined}}}
	}
	a.open = append(a.open, q)
	return nil, false
}

// waits is the error of a task that has to wait for answers to questions of a server.
func (a *toolActor) waits() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) == 0 {
		return nil
	}
	_, err := a.task.InterruptAll(a.open...)
	return err
}

// Warn tells of something in the events.
func (a *toolActor) Warn(message string) {
	if a.task.Emit != nil {
		a.task.Emit(runner.Said{Type: "warning", Message: message})
	}
}

// Server answers in the place of a server.
func (a *toolActor) Server(ctx context.Context) (result any, handled bool, err error) {
	return a.kit.standIn(ctx, a.task, a.call)
}

// Progress makes an event of how far a call has come.
func (a *toolActor) Progress(tool, message string, done, total float64) {
	if a.task.Emit == nil {
		return
	}
	said := runner.Said{Type: "progress", Message: tool}
	if message != "" {
		said.Message += ": " + message
	}
	if total > 0 {
		said.Percent = min(max(100*done/total, 0), 100)
	}
	a.task.Emit(said)
}

// Exec runs a tool's program as an exec node would.
func (a *toolActor) Exec(ctx context.Context, p *tool.Program) (any, error) {
	if output, handled, err := a.kit.standIn(ctx, a.task, a.call); handled {
		return output, err
	}
	task := a.task.Part("tool" + strconv.Itoa(a.call.number))
	stdin := p.Args
	if len(task.Answers) > 0 {
		stdin = maps.Clone(p.Args)
		stdin["answers"] = task.Answers
	}
	config := map[string]any{"command": p.Command, "env": p.Env, "stdin": tool.Text(stdin)}
	if p.Dir != "" {
		config["dir"] = p.Dir
	}
	if p.EnvPass != nil {
		config["env_pass"] = p.EnvPass
	}
	if p.Parse != "" {
		config["parse"] = p.Parse
	}
	task.Config, task.Key = config, callKey(a.task.Key, a.call.number)
	program := *a.kit.exec
	program.source = p.Tool
	output, err := program.Run(ctx, task)
	var failure *runner.Failure
	if err == nil || ctx.Err() != nil || !errors.As(err, &failure) {
		return output, err
	}
	return nil, &tool.Error{Message: failure.Message, Kind: failure.Kind, Details: failure.Details}
}

// Graph runs a graph file.
func (a *toolActor) Graph(ctx context.Context, file string, args map[string]any) (any, error) {
	if output, handled, err := a.kit.standIn(ctx, a.task, a.call); handled {
		return output, err
	}
	output, err := a.task.CallGraph(ctx, handler.GraphCall{
		File: file, With: args, Number: a.call.number, Key: callKey(a.task.Key, a.call.number),
	})
	var failure *runner.Failure
	if err == nil || ctx.Err() != nil || !errors.As(err, &failure) {
		return output, err
	}
	return nil, &tool.Error{Message: failure.Message, Kind: failure.Kind, Details: failure.Details}
}

// callKey is the idempotency key of a tool call of a task.
func callKey(taskKey string, number int) string {
	sum := sha256.Sum256([]byte(taskKey + "\x00tool\x00" + strconv.Itoa(number)))
	return hex.EncodeToString(sum[:16])
}

// offered are the tools that a model may call, as it is told of them.
func (k *toolkit) offered(ctx context.Context, task *runner.Task, names []string) ([]model.Tool, error) {
	registry, err := k.registry(task)
	if err != nil {
		return nil, err
	}
	caller := model.Caller{Node: task.Node, Place: placeOf(task), Visit: task.Visit, Turn: 1}
	out, err := k.cassette.Tools(caller, names, func() ([]model.Tool, error) {
		out, rest := k.serverTools(ctx, task, registry, names)
		tools, err := registry.Tools(ctx, &toolActor{kit: k, task: task}, rest)
		if err != nil {
			return nil, err
		}
		for _, t := range tools {
			out = append(out, model.Tool(t))
		}
		return out, nil
	})
	if err != nil {
		return nil, toolFailure(err)
	}
	// A recording stands for servers, not for what the file says now: a replay
	// notices that a tool is described in other words.
	for i := range out {
		if t, ok := registry.Own(out[i].Name); ok {
			out[i] = model.Tool(t)
		}
	}
	return out, nil
}

// toolFailure is a list of tools that can't be had, as a node's failure.
func toolFailure(err error) error {
	var failed *tool.Error
	if !errors.As(err, &failed) {
		return err
	}
	return &runner.Failure{Kind: "tool", Message: failed.Message, Details: failed.Details}
}
