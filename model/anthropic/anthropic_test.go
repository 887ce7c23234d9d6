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

// The answers in testdata are written after the types and events of anthropic-sdk-go,
// whose own reading of them is asked in internal/oracle, and the pages on thinking, stop
// reasons and errors at platform.claude.com/docs.

func TestConformance(t *testing.T) {
	modeltest.Run(t, func(t *testing.T, scenario string, streams bool) model.Client {
		if scenario == "filtered" {
			return nil // there are refusals only
		}
		file, cut := modeltest.FindRecording("testdata", scenario, streams)
		return dial(t, modeltest.ServeFile(t, file, cut, nil))
	})
}

func TestPoints(t *testing.T) {
	modeltest.RunProtocol(t, &modeltest.Protocol{
		Open: func(provider, name, url string) model.Client {
			c, err := New(Config{Model: name, Provider: provider, BaseURL: url})
			if err != nil {
				panic(err) // the test gave an address that is none
			}
			return c
		},
		Dir: "testdata", ConversationKey: "messages", MaxImageBytes: 3_750_000, MaxTotalBytes: 24e6,
		Kept:          []string{`{"signature":"EqQB==","thinking":"The user wants the weather.","type":"thinking"}`, `"redacted_thinking"`},
		Thoughts:      "The user wants the weather.",
		Usage:         model.Usage{InputTokens: 80, OutputTokens: 33},
		ReasoningKeys: []string{"thinking", "output_config"},
		Levels: map[string][3]string{
			"claude-opus-5-5":   {"", `thinking {"type":"adaptive"}, output_config {"effort":"low"}`, `thinking {"type":"adaptive"}, output_config {"effort":"high"}`},
			"claude-sonnet-5-5": {`thinking {"type":"between_tools"}`, `thinking {"type":"adaptive"}, output_config {"effort":"low"}`, `thinking {"type":"adaptive"}, output_config {"effort":"high"}`},
			"claude-haiku-4-5":  {`thinking {"type":"disabled"}`, `thinking {"budget_tokens":1024,"type":"enabled"}`, `thinking {"budget_tokens":16384,"type":"enabled"}`},
		},
		Budgets: map[string]bool{"claude-haiku-4-5": true, "claude-opus-4-6": true, "claude-opus-4-7": false, "claude-sonnet-5-5": false},
	})
}
