// Servers that send recorded answers.

package modeltest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Request is a request that a test server received.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
	Raw    []byte
}

// ServeFile starts a server that answers each request with a recorded file: a status line,
// headers, an empty line and the body. It flushes the events of a stream one by one. If cut
// is not 0, it closes the connection after that many bytes of the body: cleanly if cut is
// positive, with a reset if it is negative. seen receives each request and may be nil.
func ServeFile(t *testing.T, file string, cut int, seen func(Request)) string {
	t.Helper()
	status, header, body := readRecording(t, file)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		got := Request{Path: r.URL.Path, Header: r.Header, Raw: raw}
		if err := json.Unmarshal(raw, &got.Body); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "no JSON was posted", http.StatusUnsupportedMediaType)
			return
		}
		if seen != nil {
			seen(got)
		}
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		rest := body
		if cut != 0 {
			rest = rest[:max(cut, -cut)]
		}
		for event := range bytes.SplitAfterSeq(rest, []byte("\n\n")) {
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
		if cut < 0 {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func readRecording(t *testing.T, file string) (status int, header http.Header, body []byte) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(bytes.NewReader(src))
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if status, err = strconv.Atoi(strings.Fields(line)[1]); err != nil {
		t.Fatal(err)
	}
	fields, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	if body, err = io.ReadAll(in); err != nil {
		t.Fatal(err)
	}
	return status, http.Header(fields), body
}

// FindRecording returns the file of a scenario, and the number of bytes after which the server cuts
// the connection. The scenarios cut and broken are the streamed text, ended early.
func FindRecording(dir, scenario string, streams bool) (file string, cut int) {
	switch scenario {
	case "cut", "broken":
		cut = 500
		if scenario == "broken" {
			cut = -500
		}
		return filepath.Join(dir, "text-stream.http"), cut
	}
	if streams {
		streamed := filepath.Join(dir, scenario+"-stream.http")
		if _, err := os.Stat(streamed); err == nil {
			return streamed, 0
		}
	}
	return filepath.Join(dir, scenario+".http"), 0
}

// ServeAndHang starts a server that sends the first events of a recorded stream, then
// nothing until the client disconnects. With 0 events it does not even send the status.
func ServeAndHang(t *testing.T, file string, events int) string {
	t.Helper()
	status, header, body := readRecording(t, file)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, values := range header {
			w.Header()[name] = values
		}
		if events > 0 {
			w.WriteHeader(status)
			parts := bytes.SplitAfter(body, []byte("\n\n"))
			_, _ = w.Write(bytes.Join(parts[:events], nil))
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// ServeHandler starts a server with the test's own handler.
func ServeHandler(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
