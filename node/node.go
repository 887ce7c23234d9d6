// The kinds of the package and their options.

// Package node holds the node kinds that act on the world: exec runs a program, http makes
// a request, llm and agent call models, tool and tools call tools. docs/language.md says
// what each does. All take their configuration as plain data with all templates rendered,
// and are safe for concurrent use.
package node

import (
	"net/http"
	"time"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
	"github.com/graphrun/graphrun/tool"
)

// Options configures the kinds. The zero value is what graphrun uses.
type Options struct {
	// Grace is the time between SIGTERM and SIGKILL; 0 means 5 s.
	Grace time.Duration
	// Kill ends the grace of all programs when it is closed.
	Kill <-chan struct{}
	// Linger is how long stdout and stderr are read after the exit of a program whose
	// children hold them open; 0 means 2 s.
	Linger time.Duration
	// Client makes the requests of http nodes, with another redirect policy; nil means
	// one with timeouts and the proxy settings of the environment.
	Client *http.Client
	// Cassette records the answers of models and tools, or plays them; nil does neither.
	Cassette *cassette.Cassette
	// Stand replaces models and tools, if it is not nil.
	Stand *Stand
	// Thinking emits the thoughts of models.
	Thinking bool
}

// Kinds returns the kinds agent, exec, http, llm, tool and tools. Their Spec holds only the
// name: package spec has their keys.
func Kinds(opts Options) []runner.Kind {
	if opts.Grace <= 0 {
		opts.Grace = 5 * time.Second
	}
	if opts.Linger <= 0 {
		opts.Linger = 2 * time.Second
	}
	exec := &execHandler{timing: opts}
	kit := &toolkit{exec: exec, options: tool.Options{Grace: opts.Grace, Kill: opts.Kill}, cassette: opts.Cassette, stand: opts.Stand}
	models := &models{cassette: opts.Cassette, stand: opts.Stand, thinking: opts.Thinking}
	return []runner.Kind{
		{Spec: spec.Kind{Name: "agent"}, Handler: &agentHandler{models, kit}},
		{Spec: spec.Kind{Name: "exec"}, Handler: exec},
		{Spec: spec.Kind{Name: "http"}, Handler: newHTTPHandler(opts.Client)},
		{Spec: spec.Kind{Name: "llm"}, Handler: &llmHandler{models, kit}},
		{Spec: spec.Kind{Name: "tool"}, Handler: &toolHandler{kit}},
		{Spec: spec.Kind{Name: "tools"}, Handler: &toolsHandler{kit}},
	}
}

// NewDecider returns the decider of llm_decide edges, which asks the router model.
func NewDecider(opts Options) runner.Decider {
	return &decider{&models{cassette: opts.Cassette, stand: opts.Stand}}
}
