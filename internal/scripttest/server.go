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

// answer is a line of a server's file: what the next request for a path gets. The
// last one of a path is for all that follow.
type answer struct {
	Path    string            `json:"path"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// commandServer is `server ANSWERS LOG`: starts an HTTP server whose address is
// $SERVER. It answers by the lines of one file and writes the requests, one JSON
// object a line, to the other.
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
