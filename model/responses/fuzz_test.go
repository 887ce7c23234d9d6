package responses

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
)

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Every response of a server gives an answer or a failure, streamed or not, and an answer can be
// sent back.
func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"text", "tools", "thinking", "refused", "malformed", "text-stream", "tools-stream", "thinking-stream", "failing-stream", "content_filter-stream"} {
		if src, err := os.ReadFile("testdata/" + name + ".http"); err == nil {
			_, body, _ := strings.Cut(string(src), "\n\n")
			f.Add(body, strings.HasSuffix(name, "-stream"))
		}
	}
	f.Fuzz(func(t *testing.T, body string, streams bool) {
		header := http.Header{"Content-Type": {"application/json"}}
		if streams {
			header.Set("Content-Type", "text/event-stream")
		}
		client, err := New(Config{Model: "m", HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}})
		if err != nil {
			t.Fatal(err)
		}
		req := modeltest.NewRequests()["plain"]
		got, err := client.Chat(t.Context(), req, func(string) {})
		var failure *model.Error
		switch {
		case err == nil && got.Stop == "":
			t.Errorf("an answer without a reason to stop: %+v", got)
		case err == nil:
			req.Messages = append(req.Messages, got.Message())
			if _, err := client.Chat(t.Context(), req, nil); err != nil && !errors.As(err, &failure) {
				t.Errorf("sent back: %v", err)
			}
		case !errors.As(err, &failure) || failure.Kind == "":
			t.Errorf("got %v", err)
		}
	})
}
