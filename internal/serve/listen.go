// The HTTP server: how long requests may take, and how many may be open.

package serve

import (
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of connections.
const (
	headerTime      = 5 * time.Second
	idleTime        = 60 * time.Second
	mostHeader      = 32 << 10
	mostConnections = 2048
)

// Listen makes the HTTP server of a handler, with limits on what clients can hold on to.
func Listen(handler http.Handler) *http.Server {
	crowd := &crowd{waiting: map[net.Conn]time.Time{}}
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeader,
		ErrorLog: log.New(io.Discard, "", 0), ConnState: crowd.note,
	}
}

// crowd keeps the number of connections within bounds: when there are too many, the
// one that has waited longest without a request goes.
type crowd struct {
	mu      sync.Mutex
	waiting map[net.Conn]time.Time // without a request, since
	open    int
}

// note is told how a connection stands.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open++
		c.waiting[conn] = time.Now()
		if c.open > mostConnections {
			c.sendAway()
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

// sendAway closes a connection. At least the new one waits.
func (c *crowd) sendAway() {
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
