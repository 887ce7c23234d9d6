// A server that answers as recorded.

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

// Request is what a server was asked.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
	Raw    []byte
}

// Serve starts a server that gives each request the answer that is recorded in
// a file: a status line, headers, an empty line and the body. Events of a
// stream are flushed one by one. cut closes the connection after that many
// bytes of the body: orderly when it is positive, broken off when negative; 0
// sends everything. seen gets each request.
func Serve(t *testing.T, file string, cut int, seen func(Request)) string {
	t.Helper()
	status, header, body := recorded(t, file)
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

func recorded(t *testing.T, file string) (status int, header http.Header, body []byte) {
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

// Fixture is the file of a scenario in a folder of recordings, and where the
// connection ends in it: cut and broken are the streamed text, ended early.
func Fixture(dir, scenario string, streams bool) (file string, cut int) {
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

// Hang starts a server that sends the first events of a recorded stream and
// then nothing until its client goes away; with 0 events not even the status.
func Hang(t *testing.T, file string, events int) string {
	t.Helper()
	status, header, body := recorded(t, file)
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

// Handle starts a server of the test's own making.
func Handle(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
