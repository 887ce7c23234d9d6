package openai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/openai"
	"github.com/graphrun/graphrun/model/wire"
)

// newAnsweringClient returns a client of a server that gives all requests the same answer.
func newAnsweringClient(t *testing.T, status int, kind, body string) *wire.Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	client, err := wire.New(&openai.Protocol, wire.Config{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Streamed calls are ordered by their indexes.
func TestCallsByIndex(t *testing.T) {
	client := newAnsweringClient(t, http.StatusOK, "text/event-stream",
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"second","arguments":"{}"}}]}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"first","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\n"+
			"data: [DONE]\n\n")
	got, err := client.Chat(t.Context(), &model.Request{Messages: []model.Message{{Role: "user", Content: "x"}}}, func(string) {})
	if err != nil || len(got.ToolCalls) != 2 || got.ToolCalls[0].Name != "first" || got.ToolCalls[1].Name != "second" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A status of 400 or 404 overrides an error code for a server's own errors.
func TestStatusBeatsWords(t *testing.T) {
	for status, word := range map[int]string{400: "server_error", 404: "api_error"} {
		client := newAnsweringClient(t, status, "application/json", `{"error":{"type":"`+word+`","message":"try pulling it first"}}`)
		var failure *model.Error
		_, err := client.Chat(t.Context(), &model.Request{Messages: []model.Message{{Role: "user", Content: "x"}}}, nil)
		if !errors.As(err, &failure) || failure.Kind != "invalid_input" {
			t.Errorf("%d %s: %v", status, word, err)
		}
	}
}
