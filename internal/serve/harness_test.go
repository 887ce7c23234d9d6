package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

const testToken = "a-token-of-tests-0123456789"

// Flows for tests.
const (
	askingFlow = `graphrun: v1
name: asking
description: Counts and asks.
start: count
state:
  n: {type: integer, default: 0}
  who: {type: string}
  key: {type: string, secret: true}
nodes:
  count: {kind: set, set: {n: n + 1}}
  ok: {kind: human, prompt: "Go on?", choices: ["yes", "no"], writes: {who: output}}
edges:
  - {from: count, to: count, when: n < 3}
  - {from: count, to: ok}
  - {from: ok, to: END}
`
	plainFlow = `graphrun: v1
name: plain
start: one
state: {n: {type: integer, required: true}, text: {type: string, default: ""}}
nodes: {one: {kind: set, set: {n: n * 2}}}
edges: [{from: one, to: END}]
`
	brokenFlow = `graphrun: v1
name: broken
start: none
nodes: {one: {kind: pass}}
edges: [{from: one, to: END}]
`
	countFlow = `graphrun: v1
name: counting
start: step
state: {n: {type: integer, default: 0}, most: {type: integer, default: 300}}
limits: {max_steps: 100000}
nodes: {step: {kind: set, set: {n: n + 1}}}
edges: [{from: step, to: step, when: n < most}, {from: step, to: END}]
`
	sleepFlow = `graphrun: v1
name: sleeping
start: first
state: {go: {type: string, required: true}, seen: {type: array, items: {type: string}, default: [], reducer: append}}
nodes:
  first: {kind: set, set: {seen: ["'first'"]}}
  nap: {kind: exec, command: [sh, -c, "while [ ! -e {{ go }} ]; do sleep 0.02; done; echo up"], timeout: 60s}
  last: {kind: set, set: {seen: ["'last'"]}}
edges: [{from: first, to: nap}, {from: nap, to: last}, {from: last, to: END}]
`
)

// tested is a server under test.
type tested struct {
	t      *testing.T
	server *Server
	http   *httptest.Server
	store  store.Store
	fleet  *fleet.Fleet
	dir    string
}

// newTested serves flows below a folder; change may be nil.
func newTested(t *testing.T, change func(*Config)) *tested {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"asking.yaml": askingFlow, "deep/plain.yaml": plainFlow, "broken.yaml": brokenFlow, "counting.yaml": countFlow, "sleeping.yaml": sleepFlow,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flows, err := catalog.Open(dir, catalog.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	kept := &store.Memory{}
	r, err := runner.New(runner.Config{Kinds: node.Kinds(node.Options{}), Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Config{Runner: r, Store: kept, Home: dir})
	cfg := Config{Catalog: flows, Store: kept, Runner: r, Fleet: f, Token: testToken, Loopback: true, Version: "test", StoreName: "the store"}
	if change != nil {
		change(&cfg)
	}
	s := New(cfg)
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		h.Close()
		cfg.Fleet.Stop(time.Second)
		_ = flows.Close()
	})
	return &tested{t, s, h, kept, cfg.Fleet, dir}
}

// request returns a request to the server, with the token.
func (s *tested) request(method, path, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// do sends a request and reads the response.
func (s *tested) do(r *http.Request) (*http.Response, []byte) {
	s.t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, body
}

// call calls an operation, checks the status of the response, and returns its JSON.
func (s *tested) call(status int, method, path, body string) map[string]any {
	s.t.Helper()
	answer, text := s.do(s.request(method, prefix+path, body))
	if answer.StatusCode != status {
		s.t.Fatalf("%s %s: %s, want %d\n%s", method, path, answer.Status, status, text)
	}
	out := map[string]any{}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			s.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
		}
	}
	return out
}

// until waits until a run has a status.
func (s *tested) until(id, status string) map[string]any {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		run := s.call(200, "GET", "/runs/"+id, "")
		if run["status"] == status && s.fleet.FindDrive(id) == nil {
			return run
		}
		if time.Now().After(end) {
			s.t.Fatalf("run %s is %v, not %s", id, run["status"], status)
		}
	}
}
