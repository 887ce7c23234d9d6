// Package serve is graphrun's server: the page, an API that does what the commands
// do, and what else speaks HTTP. It shows the runs of a store and drives those that it
// started or resumed.
package serve

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
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
	// Token is what every request needs, health apart.
	Token string
	// Hosts are the names that the Host header may have, without port, besides those
	// of this machine's own addresses.
	Hosts []string
	// Loopback says that the server listens to this machine only: then no address but
	// its own is a good Host.
	Loopback bool
	// ReadOnly refuses what changes anything.
	ReadOnly bool
	// Version is graphrun's.
	Version string
	// StoreName is the store for a person.
	StoreName string
	// Extra adds what others speak on the same port, by pattern of ServeMux; Changes
	// says that it may change something whatever the method.
	Extra []Extra
	// Triggers are what starts runs by itself.
	Triggers []*trigger.Trigger
	// Now tells the time; nil: the machine's clock.
	Now func() time.Time
}

// Trigger is what starts runs of a flow by itself.
type Trigger struct {
	Cron     string `json:"cron,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// Next is when it does; nil for a webhook.
	Next    *time.Time `json:"next,omitempty"`
	Webhook string     `json:"webhook,omitempty" doc:"the path that deliveries are posted to"`
}

// Extra is a handler beside the API. It is reached with the token only, unless Open
// says that it knows by itself who may call.
type Extra struct {
	Pattern string
	Handler http.Handler
	Open    bool
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	cfg        Config
	mux        *http.ServeMux
	guard      *guard
	operations []operation
	describe   func() []byte
	answered   counter
	// stop ends what is open for long: streams of events.
	stop    context.Context
	stopAll context.CancelFunc
}

// New makes a server; the error is a pattern that is wrong.
func New(cfg Config) *Server {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
	s.stop, s.stopAll = context.WithCancel(context.Background())
	s.operations = s.api()
	for _, o := range s.operations {
		s.mux.Handle(o.method+" "+o.pattern(), s.handler(o))
	}
	for _, pattern := range []string{"POST /agui", "POST /agui/{flow...}"} {
		s.mux.Handle(pattern, s.handler(operation{handle: s.agui}))
	}
	s.describe = sync.OnceValue(s.openAPI)
	s.guard = newGuard(&s.cfg)
	for _, e := range cfg.Extra {
		s.mux.Handle(e.Pattern, e.Handler)
		if e.Open {
			s.guard.open = append(s.guard.open, e.Pattern)
		}
	}
	s.page()
	return s
}

// ServeHTTP answers a request that may be answered.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &recorder{ResponseWriter: w}
	s.guard.serve(answer, r, s.mux)
	s.answered.add(answer.status)
}

// Close ends the streams that are open, so that the server can stop.
func (s *Server) Close() { s.stopAll() }

// recorder notes with what status a request was answered.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write answers with what has no status yet: it is 200.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is what http.ResponseController looks for.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends what was written.
func (w *recorder) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
