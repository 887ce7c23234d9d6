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
		Dir: "testdata", ConversationKey: "input", MaxImageBytes: 20e6, MaxTotalBytes: 50e6,
		Kept: []string{`"encrypted_content":"gAAAABthought"`}, Thoughts: "**Looking** at the weather",
		Usage:         model.Usage{InputTokens: 80, OutputTokens: 33, CachedTokens: 64, ReasoningTokens: 20},
		ReasoningKeys: []string{"reasoning"},
		Levels: map[string][3]string{
			"gpt-6-luna":  {`reasoning {"effort":"none"}`, `reasoning {"effort":"low"}`, `reasoning {"effort":"high"}`},
			"gpt-6.1-sol": {"", `reasoning {"effort":"low"}`, `reasoning {"effort":"high"}`},
		},
		Budgets: map[string]bool{"gpt-6-luna": false},
	})
}
