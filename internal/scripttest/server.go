package scripttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// answer is a line of the answers file: the answer to the next request for a path. The last answer of a
// path is repeated.
type answer struct {
	Path    string            `json:"path"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// commandServer implements `server ANSWERS LOG`: it starts an HTTP server at the address $SERVER. The
// server answers with the lines of ANSWERS and writes each request as a line of JSON to LOG.
func commandServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: server ANSWERS LOG")
	}
	s := &scriptServer{answers: map[string][]answer{}}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var a answer
		ts.Check(json.Unmarshal([]byte(line), &a))
		s.answers[a.Path] = append(s.answers[a.Path], a)
	}
	log, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	s.log = log
	server := httptest.NewServer(s)
	ts.Setenv("SERVER", server.URL)
	ts.Defer(func() {
		server.Close()
		ts.Check(log.Close())
	})
}

type scriptServer struct {
	mu      sync.Mutex
	answers map[string][]answer
	log     io.Writer
}

func (s *scriptServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	line, _ := json.Marshal(map[string]string{
		"method": r.Method, "uri": r.RequestURI, "type": r.Header.Get("Content-Type"), "body": string(body),
	})
	fmt.Fprintf(s.log, "%s\n", line)
	left := s.answers[r.URL.Path]
	if len(left) == 0 {
		http.Error(w, "no such path", http.StatusNotFound)
		return
	}
	if len(left) > 1 {
		s.answers[r.URL.Path] = left[1:]
	}
	for name, value := range left[0].Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(left[0].Status)
	_, _ = io.WriteString(w, left[0].Body)
}
