// Calling tools for a task, and replacing models and tools in tests and dry runs.

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// toolkit calls models and tools.
type toolkit struct {
	models
	exec    *execHandler
	options tool.Options
}

// registryKey is the key of a graph's tools in the scope of a run.
type registryKey struct{ graph *spec.Graph }

// openRegistry returns the tools of the task's graph, which the whole run shares.
func (k *toolkit) openRegistry(task *runner.Task) (*tool.Registry, error) {
	if task.Scope == nil {
		return nil, newFailure("internal", "a task without a run has no tools")
	}
	keeper := findKeeper(task.Scope) // the scope closes it after the registry's servers
	switch kept := task.Scope.GetOrOpen(registryKey{task.Graph}, func() any {
		opts := k.options
		opts.Dir, opts.Withheld, opts.RunDir, opts.Keeper = task.Dir, secretVariables(task.Graph), task.RunDir, keeper
		if task.OpenLog != nil {
			// A server outlives the task that starts it, so its log ends with the run.
			opts.Stderr = func(server string) io.Writer { return task.OpenLog(server, "stderr") }
		}
		registry, err := tool.New(task.Tools, opts)
		if err != nil {
			return err
		}
		return registry
	}).(type) {
	case *tool.Registry:
		return kept, nil
	default:
		return nil, invalidInput("%v", kept)
	}
}

// toolCall is a call with its number in the visit, or a part of the prompt from a server
// (server:resource) with its number in the prompt.
type toolCall struct {
	model.ToolCall
	number int
}

type answer = model.ToolAnswer

// callTool makes one call with its hooks and journals its answer. An error ends the task.
func (k *toolkit) callTool(ctx context.Context, task *runner.Task, allowed []string, c toolCall) (answer, error) {
	return c.journalCall(task, func() (answer, error) {
		registry, err := k.openRegistry(task)
		if err != nil {
			return answer{}, err
		}
		if refused := runBeforeTool(ctx, task, c); refused != nil {
			return *refused, nil
		}
		taped, err := k.playOrRecord(task, c, func() (answer, error) { return k.callWithRetries(ctx, task, registry, allowed, c) })
		if err != nil {
			return answer{}, callError(ctx, c.Name, err)
		}
		return runAfterTool(ctx, task, c, taped), nil
	})
}

// runBeforeTool calls the hooks before a tool call. It returns the answer if a hook refuses the call.
func runBeforeTool(ctx context.Context, task *runner.Task, c toolCall) *answer {
	for _, h := range task.Hooks {
		if h.BeforeTool != nil {
			if err := h.BeforeTool(ctx, task, c.ToolCall); err != nil {
				return &answer{Output: err.Error(), IsError: true}
			}
		}
	}
	return nil
}

func runAfterTool(ctx context.Context, task *runner.Task, c toolCall, out answer) answer {
	for _, h := range task.Hooks {
		if h.AfterTool == nil {
			continue
		}
		out = h.AfterTool(ctx, task, c.ToolCall, out)
		var err error
		if out.Output, err = eval.Canonical(out.Output); err != nil {
			return answer{Output: fmt.Sprintf("a hook's result is not plain data: %v", err), IsError: true}
		}
	}
	return out
}

// journalCall makes a call and journals its answer, or returns the journaled answer.
func (c *toolCall) journalCall(task *runner.Task, call func() (answer, error)) (answer, error) {
	if done, ok := c.findLogged(task); ok {
		return done, nil
	}
	began := currentTime(task)
	out, err := call()
	if err != nil {
		return answer{}, err
	}
	return out, c.journalAnswer(task, out, currentTime(task).Sub(began))
}

// playOrRecord returns the recorded answer of a call, or makes the call and records its answer.
func (k *toolkit) playOrRecord(task *runner.Task, c toolCall, call func() (answer, error)) (answer, error) {
	if task.Models != nil {
		hideKeys(task, k.cassette, task.Providers)
	}
	return k.cassette.CallTool(cassette.ToolCall{
		Caller: identifyCaller(task, "", c.number+1), Name: c.Name, Args: c.Args, Malformed: c.Malformed,
	}, call)
}

// callWithRetries makes a call, and repeats it as the tool's retries say. The answer of a
// failed call is its message. An error ends the task.
func (k *toolkit) callWithRetries(ctx context.Context, task *runner.Task, registry *tool.Registry, allowed []string, c toolCall) (answer, error) {
	for times := 1; ; times++ {
		actor := &toolActor{kit: k, task: task, call: &c, parent: handler.TraceParent(ctx)}
		result, err := registry.Call(ctx, actor, allowed, c.ToolCall)
		if err := actor.interruptOpen(); err != nil {
			return answer{}, err
		}
		var failed *tool.Error
		switch {
		case err == nil:
			output, err := eval.Canonical(result)
			if err != nil {
				return answer{Output: "the result is not plain data: " + err.Error(), IsError: true}, nil
			}
			return answer{Output: output}, nil
		case !errors.As(err, &failed):
			return answer{}, err
		}
		decl, _ := registry.FindTool(c.Name)
		delay, attempts, again := decl.NextRetry(failed, times)
		if !again || failed.NotMade || task.Models == nil {
			return answer{Output: failed.Message, IsError: true, Details: failed.Details}, nil
		}
		emitWarning(task, "tool %q failed, attempt %d of %d is made in %s: %s", c.Name, times+1, attempts, delay, failed.Message)
		if err := task.Models.Sleep(ctx, delay); err != nil {
			return answer{}, err
		}
	}
}

func callError(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return stoppedFailure(ctx, fmt.Sprintf("the call of tool %q was stopped", name))
	}
	return toolFailure(err)
}

// currentTime returns the time of the run, which may be virtual.
func currentTime(task *runner.Task) time.Time {
	if task.Models == nil {
		return time.Now()
	}
	return task.Models.Now()
}

func (c *toolCall) journalAnswer(task *runner.Task, out answer, took time.Duration) error {
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
		"number": c.number, "name": c.Name, "args": args, "output": out.Output, "is_error": out.IsError,
		"duration_ms": int(took.Milliseconds()),
	}
	if c.ID != "" {
		note["id"] = c.ID
	}
	if out.Details != nil {
		note["details"] = out.Details
	}
	return task.Note(map[string]any{handler.NoteToolCall: note})
}

// findLogged returns the answer of a call that finished before a crash.
func (c *toolCall) findLogged(task *runner.Task) (answer, bool) {
	for _, entry := range task.Log {
		fields, _ := entry.(map[string]any)
		note, _ := fields[handler.NoteToolCall].(map[string]any)
		if n, ok := keys.WholeNumber(note["number"]); !ok || n != c.number || note["name"] != c.Name {
			continue
		}
		out := answer{Output: note["output"]}
		out.IsError, _ = note["is_error"].(bool)
		out.Details, _ = note["details"].(map[string]any)
		return out, true
	}
	return answer{}, false
}

// toolActor runs the programs and graphs of tools for one call of a task.
type toolActor struct {
	kit  *toolkit
	task *runner.Task
	call *toolCall
	// parent is the traceparent of the call.
	parent string

	mu    sync.Mutex
	asked int                // questions that the server has asked
	open  []handler.Question // questions without an answer
}

// AskPerson returns the answer to a server's question. The questions of a call are numbered.
func (a *toolActor) AskPerson(name, message string, schema map[string]any) (answer any, answered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	key := a.call.approvalKey() + "-ask"
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

// interruptOpen returns the error with which the task waits for the open questions, or nil.
func (a *toolActor) interruptOpen() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.task.InterruptAll(a.open...)
	return err
}

// Warn emits a warning.
func (a *toolActor) Warn(message string) { emitWarning(a.task, "%s", message) }

// StandIn lets a stand-in answer instead of the tool.
func (a *toolActor) StandIn(ctx context.Context) (result any, handled bool, err error) {
	if a.kit.standIns == nil || a.kit.standIns.Tool == nil {
		return nil, false, nil
	}
	return a.kit.standIns.Tool(ctx, a.task, a.call.ToolCall)
}

// TraceParent returns the traceparent of the call.
func (a *toolActor) TraceParent() string { return a.parent }

// Progress emits the progress of a call.
func (a *toolActor) Progress(tool, message string, done, total float64) {
	said := runner.Said{Type: "progress", Message: tool}
	if message != "" {
		said.Message += ": " + message
	}
	if total > 0 {
		said.Percent = min(max(100*done/total, 0), 100)
	}
	emitSaid(a.task, said)
}

// Exec runs a tool's program like an exec node.
func (a *toolActor) Exec(ctx context.Context, name string, config, args map[string]any) (any, error) {
	task := a.task.NewPart("tool" + strconv.Itoa(a.call.number))
	if len(task.Answers) > 0 {
		args = maps.Clone(args)
		args["answers"] = task.Answers
	}
	task.Config = maps.Clone(config)
	task.Config["stdin"] = eval.Text(args)
	task.Key = hashText([]byte(a.task.Key + "\x00tool\x00" + strconv.Itoa(a.call.number)))
	program := *a.kit.exec
	program.source = name
	output, err := program.Run(ctx, task)
	return output, toolError(ctx, err)
}

// Graph runs a graph file.
func (a *toolActor) Graph(ctx context.Context, file string, args map[string]any) (any, error) {
	output, err := a.task.CallGraph(ctx, handler.GraphCall{File: file, With: args, Number: a.call.number})
	return output, toolError(ctx, err)
}

// toolError returns the failure of a program or graph as the error of its tool.
func toolError(ctx context.Context, err error) error {
	if failure, ok := errors.AsType[*runner.Failure](err); ok && ctx.Err() == nil {
		return &tool.Error{Message: failure.Message, Kind: failure.Kind, Details: failure.Details}
	}
	return err
}

func (k *toolkit) listOffered(ctx context.Context, task *runner.Task, names []string) ([]model.Tool, error) {
	registry, err := k.openRegistry(task)
	if err != nil {
		return nil, err
	}
	out, err := k.cassette.ListTools(identifyCaller(task, "", 1), names, func() ([]model.Tool, error) {
		out, rest := k.standInTools(ctx, task, registry, names)
		tools, err := registry.ListTools(ctx, (&toolActor{task: task}).Warn, rest)
		if err != nil {
			return nil, err
		}
		return append(out, tools...), nil
	})
	if err != nil {
		return nil, toolFailure(err)
	}
	// A recording replaces servers, not the file, so a replay notices a changed description in the file.
	for i := range out {
		if decl, _ := registry.FindTool(out[i].Name); decl != nil && !decl.IsServer() {
			out[i] = decl.Describe()
		}
	}
	return out, nil
}

func toolFailure(err error) error {
	if failed, ok := errors.AsType[*tool.Error](err); ok {
		return &runner.Failure{Kind: "tool", Message: failed.Message, Details: failed.Details}
	}
	return err
}

func maskSecrets(task *runner.Task, v any) any {
	if task.Models == nil || len(task.Models.Secrets) == 0 {
		return v
	}
	return eval.MapTexts(v, func(text string) string {
		for _, secret := range task.Models.Secrets { // longest first
			text = strings.ReplaceAll(text, secret, "***")
		}
		return text
	})
}

// StandIns holds replacements for models and tools in tests. A nil function replaces nothing.
type StandIns struct {
	// Model returns a client, or another model's name and folder, instead of the named
	// model. nil and "" replace nothing.
	Model func(ctx context.Context, task *runner.Task, name string) (instead string, dir string, client model.Client)
	// Tool answers a call that has valid arguments. If handled is false, the real tool
	// does. An error other than a *tool.Error ends the task.
	Tool func(ctx context.Context, task *runner.Task, call handler.ToolCall) (output any, handled bool, err error)
	// Tools lists a server's tools by their full names. If handled is false, the real server does.
	Tools func(ctx context.Context, task *runner.Task, server string) (tools []model.Tool, handled bool)
}

// EmitEvents emits events like those that a program appends to GRAPHRUN_TASK_EVENTS. problem describes
// the first invalid event. The handler must return err, with which the task waits for answers.
func EmitEvents(task *runner.Task, events []map[string]any) (problem string, err error) {
	var p eventParser
	for _, event := range events {
		p.number++
		said, bad := p.readEvent(event)
		if bad != nil {
			return bad.Error(), nil
		}
		if said.Type != "" {
			emitSaid(task, said)
		}
	}
	_, err = task.InterruptAll(p.questions...)
	return "", err
}

func (m *models) resolveOrReplace(ctx context.Context, task *runner.Task, named string) (modelRef, model.Client, error) {
	ref, err := resolveModel(task, named)
	if m.standIns == nil || m.standIns.Model == nil {
		return ref, nil, err
	}
	instead, dir, client := m.standIns.Model(ctx, task, ref.name)
	switch {
	case client != nil:
		if ref.name == "" {
			ref.name = instead
		}
		return ref, client, nil
	case instead != "":
		return modelRef{name: instead, dir: dir}, nil, nil
	}
	return ref, nil, err
}

// standInTools returns those named tools whose servers are replaced, and the other names.
func (k *toolkit) standInTools(ctx context.Context, task *runner.Task, registry *tool.Registry, names []string) (out []model.Tool, rest []string) {
	if k.standIns == nil || k.standIns.Tools == nil {
		return nil, names
	}
	for _, name := range names {
		decl, member := registry.FindTool(name)
		var tools []model.Tool
		handled := false
		if decl.IsServer() {
			tools, handled = k.standIns.Tools(ctx, task, decl.Name)
		}
		if !handled {
			rest = append(rest, name)
			continue
		}
		for _, t := range tools {
			same := func(other model.Tool) bool { return other.Name == t.Name }
			if (member == tool.All || t.Name == decl.Name+"."+member) && !slices.ContainsFunc(out, same) {
				out = append(out, t)
			}
		}
	}
	return out, rest
}
