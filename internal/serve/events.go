// Events of runs as server-sent events.

package serve

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/runner"
)

// slowest bounds the time to write to a reader. A slower reader is disconnected and reconnects
// with the number of its last event.
const slowest = 20 * time.Second

type eventsIn struct {
	runIn
	Last  string `header:"Last-Event-ID" doc:"seq of the last event that the client has received"`
	After int    `query:"after" doc:"like Last-Event-ID, for clients that can't set headers"`
	shortIn
}

func (s *Server) getRunEvents(c *call, in *eventsIn) error {
	after := int64(in.After)
	if in.Last != "" {
		var err error
		if after, err = strconv.ParseInt(in.Last, 10, 64); err != nil || after < 0 {
			return badRequest("Last-Event-ID " + quote(in.Last) + " is not an event number")
		}
	}
	out, err := openSSE(c, s.stop)
	if err != nil {
		return err
	}
	defer out.close()
	// A reader that has all events of an ended run is told not to reconnect.
	out.empty, out.short = http.StatusNoContent, in.Short
	return ignoreErrors(s.cfg.Fleet.Watch(out.ctx, in.record.ID, after, fleet.Watcher{
		Tell: out.lines,
		Idle: out.beat,
	}))
}

// sse is a response of server-sent events.
type sse struct {
	ctx     context.Context
	stop    func()
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
	begun   bool
	// empty is the status of a response without events.
	empty int
	// short shortens long texts.
	short bool
}

// openSSE starts a response that ends with the request or the server.
func openSSE(c *call, server context.Context) (*sse, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	stop := context.AfterFunc(server, cancel)
	out := &sse{ctx: ctx, w: c.w, control: http.NewResponseController(c.w), empty: http.StatusOK}
	out.stop = func() { stop(); cancel() }
	return out, ignoreErrors(out.control.SetReadDeadline(time.Time{}))
}

func (o *sse) begin(status int) {
	if o.begun {
		return
	}
	o.begun = true
	h := o.w.Header()
	if status == http.StatusOK {
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // proxies must not buffer
		o.buffer.WriteString("retry: 1000\n\n")
	}
	o.w.WriteHeader(status)
}

// event buffers an event. Data has no line break.
func (o *sse) event(id string, data []byte) {
	o.begin(http.StatusOK)
	if id != "" {
		o.buffer.WriteString("id: " + id + "\n")
	}
	o.buffer.WriteString("data: ")
	o.buffer.Write(data)
	o.buffer.WriteString("\n\n")
}

// lines sends events of a run.
func (o *sse) lines(lines []fleet.Line) error {
	for i := range lines {
		text := lines[i].JSON
		switch {
		case !o.short:
		case lines[i].Type == runner.NodeOutput: // the page reads /logs
			text = shorten(text, longOutput)
		default:
			text = shorten(text, longText)
		}
		o.event(strconv.FormatInt(lines[i].Seq, 10), text)
	}
	return o.send()
}

// beat sends a comment to keep the connection alive.
func (o *sse) beat() error {
	o.begin(http.StatusOK)
	o.buffer.WriteString(": here\n\n")
	return o.send()
}

func (o *sse) send() error {
	o.patience()
	_, err := o.buffer.WriteTo(o.w)
	o.buffer.Reset()
	if err == nil {
		err = o.control.Flush()
	}
	return err
}

func (o *sse) patience() {
	_ = o.control.SetWriteDeadline(time.Now().Add(slowest)) // writers of tests have none
}

func (o *sse) close() {
	status := o.empty
	if o.ctx.Err() != nil {
		status = http.StatusOK
	}
	o.begin(status)
	if status == http.StatusOK {
		_ = o.send() // the reader has gone
	}
	o.stop()
}
