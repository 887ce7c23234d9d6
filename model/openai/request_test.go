package openai

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
)

var update = flag.Bool("update", false, "write the expected bodies")

// sent makes a call and returns what the server saw.
func sent(t *testing.T, c Config, req *model.Request, onText func(string)) modeltest.Request {
	t.Helper()
	var seen modeltest.Request
	c.BaseURL = modeltest.ServeFile(t, "testdata/text.http", 0, func(r modeltest.Request) { seen = r })
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Chat(t.Context(), req, onText); err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestRequests(t *testing.T) {
	for name, req := range modeltest.NewRequests() {
		body := sent(t, Config{Model: "m-1", Params: map[string]any{"seed": 7, "top_p": 0.5}}, req, nil).Raw
		modeltest.CompareGolden(t, "testdata/"+name+".json", body, update)
	}
	body := sent(t, Config{Model: "m-1"}, modeltest.NewRequests()["plain"], func(string) {}).Raw
	modeltest.CompareGolden(t, "testdata/plain-stream.json", body, update)
}

// A server that stops in the middle of an answer is left when the caller
// cancels, and when the call has had its time.
func TestHangingServer(t *testing.T) {
	for _, events := range []int{0, 4} {
		url := modeltest.ServeAndHang(t, "testdata/text-stream.http", events)
		client, err := New(Config{Model: "m", BaseURL: url, Timeout: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Chat(t.Context(), modeltest.NewRequests()["plain"], func(string) {})
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != "timeout" {
			t.Errorf("%d events: got %v", events, err)
		}
	}
	url := modeltest.ServeAndHang(t, "testdata/text-stream.http", 4)
	client, err := New(Config{Model: "m", BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var text strings.Builder
	_, err = client.Chat(ctx, modeltest.NewRequests()["plain"], func(chunk string) {
		text.WriteString(chunk)
		cancel()
	})
	if !errors.Is(err, context.Canceled) || text.Len() == 0 {
		t.Errorf("got %v after %q", err, text.String())
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Model: "m", BaseURL: "host/path"}, {Model: "m", BaseURL: "ftp://host"}, {Model: "m", BaseURL: "://"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	seen := sent(t, Config{Model: "m", Key: "k", Headers: map[string]string{"x-team": "a"}}, modeltest.NewRequests()["plain"], nil)
	if seen.Header.Get("User-Agent") != "graphrun" || seen.Header.Get("X-Team") != "a" || !strings.Contains(seen.Header.Get("Authorization")+seen.Header.Get("X-Api-Key"), "k") {
		t.Errorf("got %v", seen.Header)
	}
	if seen := sent(t, Config{Model: "m"}, modeltest.NewRequests()["plain"], nil); seen.Header.Get("Authorization")+seen.Header.Get("X-Api-Key") != "" {
		t.Errorf("without a key: %v", seen.Header)
	}
}

func TestBadRequests(t *testing.T) {
	client := dial(t, "http://127.0.0.1:1") // nothing is sent
	for name, req := range map[string]*model.Request{
		"reasoning": {Reasoning: true, Messages: modeltest.NewRequests()["plain"].Messages},
		"params":    {Params: map[string]any{"x": func() {}}, Messages: modeltest.NewRequests()["plain"].Messages},
	} {
		_, err := client.Chat(t.Context(), req, nil)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != "invalid_input" || failure.Class != "invalid_request" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := client.Chat(t.Context(), modeltest.NewRequests()["plain"], nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != "network" {
		t.Errorf("no server: got %v", err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var asked bool
	elsewhere := modeltest.ServeFile(t, "testdata/text.http", 0, func(modeltest.Request) { asked = true })
	server := modeltest.ServeHandler(t, http.RedirectHandler(elsewhere, http.StatusTemporaryRedirect))
	_, err := dial(t, server).Chat(t.Context(), modeltest.NewRequests()["plain"], nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != "invalid_input" || !strings.Contains(err.Error(), elsewhere) || asked {
		t.Errorf("got %v", err)
	}
}

// Servers may repeat what they receive: headers with credentials are masked like the key.
func TestNoSecretInMessages(t *testing.T) {
	url := modeltest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		for name, values := range r.Header {
			_, _ = w.Write([]byte(name + " is " + strings.Join(values, ", ") + "; "))
		}
	}))
	client, err := New(Config{Model: "m", BaseURL: url, Key: "canary-1", Headers: map[string]string{"Proxy-Authorization": "Basic canary-2", "X-Team-Token": "canary-3", "X-Team": "blue"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Chat(t.Context(), modeltest.NewRequests()["plain"], nil)
	if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "***") {
		t.Errorf("got %v", err)
	}
}

// A level is sent as the model accepts it. Level none fails for models that always reason.
func TestReasoningLevels(t *testing.T) {
	req := *modeltest.NewRequests()["plain"]
	req.Reasoning = "minimal"
	body := sent(t, Config{Model: "gpt-6.1-sol"}, &req, nil).Body
	if got := fmt.Sprint(body["reasoning_effort"]); got != "low" {
		t.Errorf("got %s", got)
	}
	req.Reasoning = "none"
	client, err := New(Config{Model: "gpt-6.1-sol", BaseURL: "http://127.0.0.1:1"}) // nothing is sent
	if err != nil {
		t.Fatal(err)
	}
	var failure *model.Error
	if _, err := client.Chat(t.Context(), &req, nil); !errors.As(err, &failure) || failure.Kind != "invalid_input" || !failure.Unsent {
		t.Errorf("got %v", err)
	}
}
