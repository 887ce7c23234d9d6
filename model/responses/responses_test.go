package responses

import (
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
)

// The answers in testdata are written after the types and events of openai-go
// v3.96 (responses/response.go), whose own reading of them is asked in
// internal/oracle; the errors after OpenAI's page on error codes.

func dial(t *testing.T, url string) *Client {
	t.Helper()
	c, err := New(Config{Model: "m-1", BaseURL: url, Key: modeltest.Key})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	modeltest.Run(t, func(t *testing.T, scenario string, streams bool) model.Client {
		file, cut := modeltest.Fixture("testdata", scenario, streams)
		return dial(t, modeltest.Serve(t, file, cut, nil))
	})
}
