// Package serve is graphrun's HTTP server: the page and an API with the functions of the commands.
// It shows the runs of a store and drives those that it started or resumed.
package serve

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/page"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// Config configures a Server.
type Config struct {
	Catalog *catalog.Catalog
	Store   store.Store
	Runner  *runner.Runner
	Fleet   *fleet.Fleet
	// Token is required in every request except health checks.
	Token string
	// Hosts are allowed names in the Host header, without port, besides this machine's addresses.
	Hosts []string
	// Loopback says that the server listens on loopback only, and refuses other addresses as Host.
	Loopback bool
	// ReadOnly refuses requests that change anything.
	ReadOnly bool
	// Version is the version of graphrun.
	Version string
	// StoreName is the name of the store for display.
	StoreName string
	// Extra adds other handlers.
	Extra []Extra
	// Triggers start runs.
	Triggers []*trigger.Trigger
	// Now returns the time, by default of the system clock.
	Now func() time.Time
}

// Trigger starts runs of a flow.
type Trigger struct {
	Cron     string `json:"cron,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// Next is the next start, or nil for a webhook.
	Next    *time.Time `json:"next,omitempty"`
	Webhook string     `json:"webhook,omitempty" doc:"path for deliveries"`
}

// Extra is a handler beside the API. It requires the token, unless Open says that the handler
// checks callers itself.
type Extra struct {
	Pattern string
	Handler http.Handler
	Open    bool
}

// Server handles requests. It is safe for concurrent use.
type Server struct {
	cfg        Config
	mux        *http.ServeMux
	guard      *guard
	operations []operation
	describe   func() []byte
	// answered counts responses by status.
	answered [600]atomic.Int64
	// stop ends event streams.
	stop    context.Context
	stopAll context.CancelFunc
}

// New returns a server, or an error for a bad pattern.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
	s.stop, s.stopAll = context.WithCancel(context.Background())
	s.operations = s.listOperations()
	for _, o := range s.operations {
		s.mux.Handle(o.method+" "+o.pattern(), s.newHandler(o))
	}
	for _, pattern := range []string{"POST /agui", "POST /agui/{flow...}"} {
		s.mux.Handle(pattern, s.newHandler(operation{handle: s.serveAGUI}))
	}
	s.describe = sync.OnceValue(s.openAPI)
	s.guard = newGuard(&s.cfg)
	for _, e := range cfg.Extra {
		s.mux.Handle(e.Pattern, e.Handler)
		if e.Open {
			s.guard.open = append(s.guard.open, e.Pattern)
		}
	}
	s.handlePage()
	return s
}

// ServeHTTP handles a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &response{ResponseWriter: w}
	s.guard.serve(answer, r, s.mux)
	s.answered[min(answer.status, len(s.answered)-1)].Add(1)
}

// Close ends open streams, so that the server can stop.
func (s *Server) Close() { s.stopAll() }

// response records the status of a response, and turns errors of the mux into problems.
type response struct {
	http.ResponseWriter
	status      int
	hasNoPage   bool // the mux knows no handler
	isForReader bool // a person reads it
	isReplaced  bool // a problem was written instead
}

// WriteHeader writes the status, or a problem instead of an error of the mux.
func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.isReplaced = w.hasNoPage && status >= http.StatusBadRequest
	switch {
	case !w.isReplaced:
		w.ResponseWriter.WriteHeader(status)
	case status == http.StatusMethodNotAllowed:
		(&problem{Status: status, Kind: "method", Title: http.StatusText(status), Detail: "the address knows other methods: " + w.Header().Get("Allow")}).write(w.ResponseWriter)
	case status == http.StatusNotFound && w.isForReader:
		writeNotice(w.ResponseWriter, status, `There is nothing at this address. Go to <a href="/">all runs and flows</a>.`)
	default:
		(&problem{
			Status: status, Kind: "no-page", Title: http.StatusText(status),
			Detail: "there is nothing at this address; /api/v1/openapi.json lists what there is",
		}).write(w.ResponseWriter)
	}
}

// Write records the status 200 if none was set. It drops the error text of the mux.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.isReplaced {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends buffered data.
func (w *response) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// none is the type of an operation without input or output.
type none struct{}

// listOperations returns all operations.
func (s *Server) listOperations() []operation {
	list := []operation{
		newOperation(operation{method: "GET", path: "/health", id: "health", tag: "server", summary: "Report that the server is alive", open: true}, s.health),
		newOperation(operation{method: "GET", path: "/ready", id: "ready", tag: "server", summary: "Report whether the server accepts work; 503 while it stops", open: true}, s.ready),
		newOperation(operation{method: "GET", path: "/server", id: "server", tag: "server", summary: "Describe this server"}, s.getServer),
		newStream(operation{method: "GET", path: "/metrics", id: "metrics", tag: "server", summary: "Get counters for Prometheus"}, "text/plain", s.metrics),
		newStream(operation{method: "GET", path: "/openapi.json", id: "openapi", tag: "server", summary: "Get this description"}, "application/json", s.openapi),

		newOperation(operation{method: "GET", path: "/flows", id: "listFlows", tag: "flows", summary: "List the flows of the served folder"}, s.listFlows),
		newOperation(operation{method: "GET", path: "/flows/{flow...}", id: "getFlow", tag: "flows", summary: "Get a flow: drawing, source, findings, inputs, bounds"}, s.getFlow),

		newOperation(operation{method: "GET", path: "/runs", id: "listRuns", tag: "runs", summary: "List runs, latest first"}, s.listRuns),
		newOperation(operation{method: "POST", path: "/runs", id: "startRun", tag: "runs", summary: "Start a run; with an Idempotency-Key, once", status: http.StatusCreated, also: map[int]string{http.StatusOK: "The run that the key has started earlier"}}, s.startRun),
		newOperation(operation{method: "GET", path: "/runs/{run}", id: "getRun", tag: "runs", summary: "Get a run as it is now or was after a step"}, s.getRun),
		newOperation(operation{method: "DELETE", path: "/runs/{run}", id: "deleteRun", tag: "runs", summary: "Delete a run and its journal", status: http.StatusNoContent}, s.deleteRun),
		newOperation(operation{method: "GET", path: "/runs/{run}/page", id: "getRunPage", tag: "runs", summary: "Get the record of a run, with the flow that it ran"}, s.getRunPage),
		newStream(operation{method: "GET", path: "/runs/{run}/record", id: "getRunRecord", tag: "runs", summary: "Get the record of a run in pieces: one JSON object per line with events, decisions and output; the last one has last_event"}, "application/x-ndjson", s.getRunRecord),
		newOperation(operation{method: "GET", path: "/runs/{run}/state", id: "getRunState", tag: "runs", summary: "Get the state of a run, now or after a step; secret keys are masked"}, s.getRunState),
		newOperation(operation{method: "GET", path: "/runs/{run}/why", id: "getRunWhy", tag: "runs", summary: "Explain for each edge of a step why it fired or not"}, s.getRunWhy),
		newStream(operation{method: "GET", path: "/runs/{run}/events", id: "getRunEvents", tag: "runs", summary: "Stream past and future events of a run as server-sent events", also: map[int]string{http.StatusNoContent: "The run has ended, and the reader has all of its events"}}, "text/event-stream", s.getRunEvents),
		newOperation(operation{method: "GET", path: "/runs/{run}/logs", id: "getRunLogs", tag: "runs", summary: "Get the output of programs and models"}, s.getRunLogs),
		newOperation(operation{method: "GET", path: "/runs/{run}/conversation", id: "getRunConversation", tag: "runs", summary: "Get the messages between nodes, models and tools, of finished tasks"}, s.getRunConversation),
		newOperation(operation{method: "POST", path: "/runs/{run}/answers", id: "answerRun", tag: "runs", summary: "Answer questions of a run; either all answers are accepted or none"}, s.answerRun),
		newOperation(operation{method: "POST", path: "/runs/{run}/pause", id: "pauseRun", tag: "runs", summary: "Pause a run before its next nodes", status: http.StatusAccepted}, func(_ *call, in *runIn) (inspect.ListedRun, error) {
			return s.stopRun(in.record.ID, store.RequestPause)
		}),
		newOperation(operation{method: "POST", path: "/runs/{run}/cancel", id: "cancelRun", tag: "runs", summary: "Cancel a run", status: http.StatusAccepted}, func(_ *call, in *runIn) (inspect.ListedRun, error) {
			return s.stopRun(in.record.ID, store.RequestCancel)
		}),
		newOperation(operation{method: "POST", path: "/runs/{run}/resume", id: "resumeRun", tag: "runs", summary: "Resume a run that paused, crashed, failed or was cancelled", status: http.StatusAccepted}, s.resumeRun),
		newOperation(operation{method: "POST", path: "/runs/{run}/fork", id: "forkRun", tag: "runs", summary: "Fork a run: start a new one from one of its steps, with a changed state if wanted", status: http.StatusCreated}, s.forkRun),
		newOperation(operation{method: "GET", path: "/questions", id: "listQuestions", tag: "runs", summary: "List the open questions of all runs"}, s.listQuestions),
	}
	return list
}

// Limits of connections.
const (
	headerTime      = 5 * time.Second
	idleTime        = 60 * time.Second
	mostHeader      = 32 << 10
	mostConnections = 2048
)

// Listen returns an HTTP server with limits on connections.
func Listen(handler http.Handler) *http.Server {
	crowd := &crowd{waiting: map[net.Conn]time.Time{}}
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeader,
		ErrorLog: log.New(io.Discard, "", 0), ConnState: crowd.note,
	}
}

// crowd bounds the number of connections: if there are too many, it closes the one that has been
// idle longest.
type crowd struct {
	mu      sync.Mutex
	waiting map[net.Conn]time.Time // idle since
	open    int
}

// note records the state of a connection.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open++
		c.waiting[conn] = time.Now()
		if c.open > mostConnections {
			c.closeIdlest()
		}
	case http.StateIdle:
		c.waiting[conn] = time.Now()
	case http.StateActive:
		delete(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.waiting, conn)
		c.open--
	}
}

// closeIdlest closes the connection that has been idle longest.
func (c *crowd) closeIdlest() {
	var oldest net.Conn
	for conn, since := range c.waiting { //lint:ignore mapiter the oldest is the same in any order
		if oldest == nil || since.Before(c.waiting[oldest]) {
			oldest = conn
		}
	}
	if oldest != nil {
		delete(c.waiting, oldest)
		_ = oldest.Close() // the server notes that it is closed
	}
}

// handlePage adds the page and its assets.
func (s *Server) handlePage() {
	shell := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		var out bytes.Buffer
		if err := page.WriteLive(&out, "graphrun"); err != nil {
			newProblem(err).write(w)
			return
		}
		_, _ = out.WriteTo(w) // the client has gone
	}
	for _, pattern := range []string{"GET /{$}", "GET /flow/{path...}", "GET /run/{run}", "GET /compare/{a}/{b}"} {
		s.mux.HandleFunc(pattern, shell)
	}
	s.mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, kind := page.Asset(r.PathValue("name"))
		if text == "" {
			(&problem{Status: http.StatusNotFound, Kind: "no-page", Title: "Not Found", Detail: "there is no such file"}).write(w)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		_, _ = w.Write([]byte(text)) // the client has gone
	})
}
