// The stream on which a server on HTTP sends messages outside of its answers.

package tool

import (
	"context"
	"io"
	"mime"
	"net/http"
	"time"
)

// listenTime bounds the wait for the server's stream at the start of a session: many
// servers answer only with their first event.
const listenTime = 100 * time.Millisecond

// listening hides failures of the stream for a server's own messages: it is optional, and
// many servers end it when it is idle, which would end the session.
type listening struct{ next http.RoundTripper }

// RoundTrip opens the stream for a GET request.
func (l listening) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return l.next.RoundTrip(req)
	}
	out, in := io.Pipe()
	answered := make(chan struct{})
	go l.copyStream(req, in, answered)
	select {
	case <-answered:
	case <-time.After(listenTime):
	case <-req.Context().Done():
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, ContentLength: -1, Request: req,
	}, nil
}

// copyStream copies the stream until the session ends. It closes answered at the server's
// answer.
func (l listening) copyStream(req *http.Request, in *io.PipeWriter, answered chan struct{}) {
	defer func() { _ = in.CloseWithError(context.Canceled) }()
	resp, err := l.next.RoundTrip(req)
	close(answered)
	if err == nil {
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
			_, _ = io.Copy(in, resp.Body)
		}
		_ = resp.Body.Close()
	}
	<-req.Context().Done()
}
