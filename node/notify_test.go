package node_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/graphrun/graphrun/node"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// A notification with a url sends a request with the headers, and with the body or all details. Any
// status except success is an error.
func TestNotifyByRequest(t *testing.T) {
	var got []string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.Header.Get("X-Kind")+" "+string(body))
		w.WriteHeader(status)
	}))
	defer server.Close()
	send := node.NewNotifier(node.Options{})
	notice := runner.Notice{Graph: &spec.Graph{}, Config: map[string]any{"url": server.URL, "headers": map[string]any{"X-Kind": "ask"}}, About: map[string]any{"text": "asks"}}
	if err := send(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	notice.Config["body"] = map[string]any{"channel": "ops"}
	if err := send(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	want := []string{`POST ask {"text":"asks"}`, `POST ask {"channel":"ops"}`}
	if a, _ := json.Marshal(got); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the server got %s, want %q", a, want)
	}
	status = http.StatusInternalServerError
	if err := send(t.Context(), notice); err == nil {
		t.Error("a server that fails was told")
	}
}
