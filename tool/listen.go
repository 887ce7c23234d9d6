// Requests of a server on HTTP: it asks for roots, or puts a question.

package tool

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"time"
)

// listenTime bounds the wait for the server's stream at the start of a session, sentTime
// the wait after the request was sent: many servers answer only with their first event.
const (
	listenTime = time.Second
	sentTime   = 50 * time.Millisecond
)

// listening hides failures of the stream for a server's own messages: it is optional, and
// many servers end it when it is idle.
type listening struct{ next http.RoundTripper }

// RoundTrip opens the stream for a GET request.
func (l listening) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return l.next.RoundTrip(req)
	}
	out, in := io.Pipe()
	open, sent := make(chan struct{}), make(chan struct{}, 1)
	asking := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		select {
		case sent <- struct{}{}:
		default: // a second attempt
		}
	}})
	go l.pass(req.WithContext(asking), in, open)
	wait := time.NewTimer(listenTime)
	defer wait.Stop()
	for waiting := true; waiting; {
		select {
		case <-sent:
			wait.Reset(sentTime)
			continue
		case <-open:
		case <-wait.C:
		case <-req.Context().Done():
		}
		waiting = false
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, ContentLength: -1, Request: req,
	}, nil
}

// pass copies the stream until the session ends. It closes open at the server's answer.
func (l listening) pass(req *http.Request, in *io.PipeWriter, open chan struct{}) {
	defer func() { _ = in.CloseWithError(context.Canceled) }()
	resp, err := l.next.RoundTrip(req)
	close(open)
	if err == nil {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
			_, _ = io.Copy(in, resp.Body)
		}
		_ = resp.Body.Close()
	}
	<-req.Context().Done()
}
