// The node kinds of the package and their options, descriptions of tasks, notifications.

// Package node has the node kinds that act on the world: exec, http, llm, agent, tool and
// tools. docs/language.md says what each does. Their configuration is evaluated plain data.
// They are safe for concurrent use.
package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// Options configures the kinds. The zero value is what graphrun uses.
type Options struct {
	// Grace is the time between SIGTERM and SIGKILL; 0 means 5 s.
	Grace time.Duration
	// When Kill is closed, programs are killed without further grace.
	Kill <-chan struct{}
	// Linger is how long children may keep a program's output open after its end; 0 means 2 s.
	Linger time.Duration
	// Client makes the requests of http nodes, with another redirect policy. It has a default.
	Client *http.Client
	// Cassette records the answers of models and tools, or plays them.
	Cassette *cassette.Cassette
	// StandIns holds replacements for models and tools. The default is none.
	StandIns *StandIns
	// Thinking emits the thoughts of models.
	Thinking bool
}

// Kinds returns the kinds agent, exec, http, llm, tool and tools. Package spec has their keys.
func Kinds(opts Options) []runner.Kind {
	if opts.Grace <= 0 {
		opts.Grace = 5 * time.Second
	}
	if opts.Linger <= 0 {
		opts.Linger = 2 * time.Second
	}
	exec := &execHandler{timing: opts}
	kit := &toolkit{models: newModels(opts), exec: exec, options: tool.Options{Grace: opts.Grace, Kill: opts.Kill}}
	return []runner.Kind{
		{Spec: spec.Kind{Name: "agent"}, Handler: runner.HandlerFunc(kit.runAgent)},
		{Spec: spec.Kind{Name: "exec"}, Handler: exec},
		{Spec: spec.Kind{Name: "http"}, Handler: newHTTPHandler(opts.Client)},
		{Spec: spec.Kind{Name: "llm"}, Handler: runner.HandlerFunc(kit.runLLM)},
		{Spec: spec.Kind{Name: "tool"}, Handler: runner.HandlerFunc(kit.runTool)},
		{Spec: spec.Kind{Name: "tools"}, Handler: runner.HandlerFunc(kit.runTools)},
	}
}

// NewDecider returns the decider of llm_decide edges, which asks the router model.
func NewDecider(opts Options) runner.Decider {
	m := newModels(opts)
	return &decider{&m}
}

func emitSaid(task *runner.Task, said runner.Said) {
	if task.Emit != nil {
		task.Emit(said)
	}
}

func emitWarning(task *runner.Task, format string, args ...any) {
	emitSaid(task, runner.Said{Type: "warning", Message: fmt.Sprintf(format, args...)})
}

func newFailure(kind, format string, args ...any) *runner.Failure {
	return &runner.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func invalidInput(format string, args ...any) *runner.Failure {
	return newFailure("invalid_input", format, args...)
}

func decodeConfig(config map[string]any, into any) error {
	if err := keys.Decode(config, into); err != nil {
		return invalidInput("%v", err)
	}
	return nil
}

// DescribeEffect returns what an exec node would start (command, dir, stdin, env) or an
// http node would send (method, url, headers, body). It returns nil for other kinds.
func DescribeEffect(ctx context.Context, task *runner.Task) (map[string]any, error) {
	switch task.Kind {
	case "exec":
		job, err := readExec(task)
		if err != nil {
			return nil, err
		}
		out := map[string]any{"command": job.argv, "dir": job.dir, "stdin": string(job.stdin)}
		if env, _ := task.Config["env"].(map[string]any); len(env) > 0 {
			out["env"] = env
		}
		return out, nil
	case "http":
		c, err := readCall(ctx, task.Config)
		if err != nil {
			return nil, err
		}
		headers := map[string]any{}
		for name := range c.request.Header {
			headers[name] = c.request.Header.Get(name)
		}
		out := map[string]any{"method": c.request.Method, "url": c.request.URL.String(), "headers": headers}
		if c.request.Body != nil {
			body, err := io.ReadAll(c.request.Body)
			if err != nil {
				return nil, err
			}
			out["body"] = string(body)
		}
		return out, nil
	}
	return nil, nil
}

// NewNotifier returns a function that sends a notification with an http request or a program.
func NewNotifier(opts Options) func(ctx context.Context, notice runner.Notice) error {
	kinds := map[string]runner.Handler{}
	for _, kind := range Kinds(opts) {
		kinds[kind.Spec.Name] = kind.Handler
	}
	return func(ctx context.Context, notice runner.Notice) error {
		about, err := json.Marshal(notice.About)
		if err != nil {
			return err
		}
		kind, config := "exec", map[string]any{"command": notice.Config["command"], "stdin": string(about), "parse": "text"}
		if url, ok := notice.Config["url"]; ok {
			body, given := notice.Config["body"]
			if !given {
				body = notice.About
			}
			kind, config = "http", map[string]any{"url": url, "method": "POST", "body": body}
			if headers, ok := notice.Config["headers"]; ok {
				config["headers"] = headers
			}
		}
		_, err = kinds[kind].Run(ctx, &runner.Task{Graph: notice.Graph, Dir: notice.Dir, Config: config})
		return err
	}
}
