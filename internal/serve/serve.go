// Package serve is graphrun's HTTP server: the page and an API with the functions of the commands.
// It shows the runs of a store and drives those that it started or resumed.
package serve

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
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
	// Hosts are allowed names in the Host header, without port, in addition to this machine's addresses.
	Hosts []string
	// Loopback says that the server listens on loopback only, and refuses other addresses as Host.
	Loopback bool
	// ReadOnly refuses requests that change anything.
	ReadOnly bool
	// Version is the version of graphrun, StoreName the name of the store. Clients see both.
	Version, StoreName string
	// Extra adds other handlers.
	Extra []Extra
	// Triggers start runs. The list of flows shows them.
	Triggers []*trigger.Trigger
	// Now returns the time. If it is nil, the system clock is used.
	Now func() time.Time
}

// Extra is a handler in addition to the API. It requires the token, unless Open says that the handler
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

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
	s.stop, s.stopAll = context.WithCancel(context.Background())
	s.describe = sync.OnceValue(s.buildDescription)
	s.guard = newGuard(&s.cfg)
	s.operations = s.listOperations()
	for _, o := range s.operations {
		s.mux.Handle(o.method+" "+o.pattern(), s.newHandler(o))
	}
	for _, pattern := range []string{"POST /agui", "POST /agui/{flow...}"} {
		s.mux.Handle(pattern, s.newHandler(operation{handle: s.serveAGUI}))
	}
	for _, e := range cfg.Extra {
		s.mux.Handle(e.Pattern, e.Handler)
		if e.Open {
			s.guard.open = append(s.guard.open, e.Pattern)
		}
	}
	for _, pattern := range []string{"GET /{$}", "GET /flow/{path...}", "GET /run/{run}", "GET /compare/{a}/{b}"} {
		s.mux.HandleFunc(pattern, servePage)
	}
	s.mux.HandleFunc("GET /assets/{name}", serveAsset)
	s.mux.HandleFunc("/", s.serveMissing)
	return s
}

// serveMissing handles requests that no other handler takes: an unknown address, or a known one
// with another method.
func (s *Server) serveMissing(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPost} {
		other := r.WithContext(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	switch methods := strings.Join(allowed, ", "); {
	case methods != "":
		w.Header().Set("Allow", methods)
		(&problem{Status: http.StatusMethodNotAllowed, Kind: "method", Title: "Method Not Allowed", Detail: "the address knows other methods: " + methods}).write(w)
	case wantsHTML(r) && !strings.HasPrefix(r.URL.Path, "/api/"):
		writeNotice(w, http.StatusNotFound, `There is nothing at this address. Go to <a href="/">all runs and flows</a>.`)
	default:
		newNotFound("there is nothing at this address; /api/v1/openapi.json lists what there is").write(w)
	}
}

func newNotFound(detail string) *problem {
	return &problem{Status: http.StatusNotFound, Kind: "no-page", Title: "Not Found", Detail: detail}
}

// ServeHTTP handles a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &response{ResponseWriter: w, status: http.StatusOK}
	s.guard.serveAllowed(answer, r, s.mux)
	s.answered[min(answer.status, len(s.answered)-1)].Add(1)
}

// Close ends open streams, so that the server can stop.
func (s *Server) Close() { s.stopAll() }

type response struct {
	http.ResponseWriter
	status int
}

// WriteHeader writes and records the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// none is the type of an operation without input or output.
type none struct{}

func (s *Server) listOperations() []operation {
	return []operation{
		newOperation(operation{method: "GET", path: "/health", id: "health", tag: "server", summary: "Report that the server is alive", open: true}, s.getHealth),
		newOperation(operation{method: "GET", path: "/ready", id: "ready", tag: "server", summary: "Report whether the server accepts work; 503 while it stops", open: true}, s.getReadiness),
		newOperation(operation{method: "GET", path: "/server", id: "server", tag: "server", summary: "Describe this server"}, s.getServer),
		newStream(operation{method: "GET", path: "/metrics", id: "metrics", tag: "server", summary: "Get counters for Prometheus"}, "text/plain", s.getMetrics),
		newStream(operation{method: "GET", path: "/openapi.json", id: "openapi", tag: "server", summary: "Get this description"}, "application/json", s.getOpenAPI),

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
}

// Limits of connections.
const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeader      = 32 << 10
	maxConnections = 2048
)

// Listen returns an HTTP server with limits on connections.
func Listen(handler http.Handler) *http.Server {
	limiter := &connLimiter{waiting: map[net.Conn]time.Time{}}
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), ConnState: limiter.recordState,
	}
}

// connLimiter limits the number of open connections. Above the limit it closes the connection
// that has been idle longest.
type connLimiter struct {
	mu      sync.Mutex
	waiting map[net.Conn]time.Time // idle since
	open    int
}

func (c *connLimiter) recordState(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open++
		c.waiting[conn] = time.Now()
		if c.open > maxConnections {
			c.closeLongestIdle()
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

func (c *connLimiter) closeLongestIdle() {
	var oldest net.Conn
	for conn, since := range c.waiting { //lint:ignore mapiter the oldest is the same in any order
		if oldest == nil || since.Before(c.waiting[oldest]) {
			oldest = conn
		}
	}
	if oldest != nil {
		delete(c.waiting, oldest)
		_ = oldest.Close() // the server reports the new state
	}
}

// servePage sends the page, which reads its data from the API.
func servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.WriteLive(w, "graphrun") // fails only if the client has disconnected
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	text, kind := page.Asset(r.PathValue("name"))
	if text == "" {
		newNotFound("there is no such file").write(w)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = io.WriteString(w, text) // fails only if the client has disconnected
}
