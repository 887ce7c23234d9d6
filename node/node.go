// The package's door: what kinds there are and what they can be given.

// Package node holds the node kinds that act on the world: exec runs a
// program, http makes a request, tool and tools call tools. All take their
// configuration as plain data
// with all templates rendered, and are safe for concurrent use.
//
// # exec
//
// The program is command[0] with the rest of command as its arguments, passed
// on without a shell; or script, which runs as `shell -c script` (shell: sh).
// Elements that are no strings are printed as text. A program without a slash
// is looked up in PATH (that of env, if env has one). The working directory is
// the folder of the graph file, or dir, which is relative to that folder.
//
// The environment is graphrun's own plus env, and the GRAPHRUN_TASK_
// variables: RUN_ID, NODE, VISIT, ATTEMPT, KEY and EVENTS. Inherited variables
// with that prefix are dropped, so that a graphrun below graphrun is not
// mistaken for its parent's task.
//
// A program that wrote interrupts to EVENTS and exited with code 0 has asked
// people: it runs again, as the same attempt, when they have answered. Interrupts
// for keys that are answered are passed over, those of a failed program forgotten.
//
// On stdin the program gets one JSON object with input, node, state and visit,
// answers by key when it has asked, and a line break, or the text of stdin; a list or an object there is written
// as JSON. A program that does not read it is fine.
//
// What it prints on stdout is the output, as parse says: json (one value),
// text (without one trailing line break), lines (a list; a line break at the
// end adds no empty line), or auto (the default): the JSON value if all of it
// is one, else text. More than max_output bytes (8 MiB) is a failure.
//
// Exit code 0 is a success; anything else a failure of kind exit_status with
// details exit_code, stderr and stdout (their last 4 KiB) and, when a signal
// ended the program, signal and the code that a shell would report, 128 plus
// its number.
//
// The program leads a process group of its own. When the task's context ends,
// the group gets SIGTERM, and SIGKILL if any of it still runs after a grace of
// 5 seconds. Processes that a program leaves behind when it exits by itself
// are not killed; if they keep its stdout or stderr open, reading stops 2
// seconds after the exit.
//
// # http
//
// One request: method (GET, or POST if there is a body), url (http or https),
// headers, query (added to the one in the url; a list repeats its key, null
// leaves it out), body (text as it is, anything else as JSON). Up to 10
// redirects are followed; to another host, credentials and headers of the
// graph's own are left behind.
//
// The output is {status, headers, body}: headers by lower-case name, repeated
// ones joined by ", "; the body as data if its type is JSON, as text if it is
// text, as base64 text otherwise. A body without a type is text if it is valid
// UTF-8. More than max_body bytes (8 MiB) is a failure.
//
// A status outside expect (200 to 299 if absent) is a failure: rate_limited
// for 429, overloaded for 503 and 529, else http_status; its details are
// status, headers and the first 4 KiB of the body as text, and a Retry-After
// header sets the least delay before the next attempt. No answer at all is a
// failure of kind network. Messages show a URL without user, query and
// fragment, since these hold credentials more often than not.
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
	// Kill ends the grace of all programs when it is closed; nil means never.
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
	exec := &execHandler{grace: opts.Grace, kill: opts.Kill, linger: opts.Linger}
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
