package openai

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

// Every response of a server gives an answer or a failure, streamed or not.
func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"text", "tools", "refused", "failing-stream", "malformed", "text-stream", "tools-stream"} {
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
		var text strings.Builder
		got, err := client.Chat(t.Context(), modeltest.NewRequests()["everything"], func(chunk string) { text.WriteString(chunk) })
		var failure *model.Error
		switch {
		case err == nil && got.Stop == "":
			t.Errorf("an answer without a reason to stop: %+v", got)
		case err == nil && got.Stop != model.StopRefusal && got.Content != text.String():
			t.Errorf("streamed %q of %q", text.String(), got.Content)
		case err != nil && (!errors.As(err, &failure) || failure.Kind == ""):
			t.Errorf("got %v", err)
		}
	})
}
