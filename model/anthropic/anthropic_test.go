package anthropic

import (
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
)

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
		if scenario == "filtered" {
			return nil // there are refusals only
		}
		file, cut := modeltest.Fixture("testdata", scenario, streams)
		return dial(t, modeltest.Serve(t, file, cut, nil))
	})
}
