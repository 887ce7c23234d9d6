package openai

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
		file, cut := modeltest.FindRecording("testdata", scenario, streams)
		return dial(t, modeltest.ServeFile(t, file, cut, nil))
	})
}

// newProtocol returns what today's models require of the protocol. The answers follow OpenAI's
// reference of chat completions, and for Gemini Google's pages on compatibility with OpenAI, on
// thought signatures and on errors.
func newProtocol(dir string) *modeltest.Protocol {
	return &modeltest.Protocol{
		Open: func(provider, name, url string) model.Client {
			c, err := New(Config{Model: name, Provider: provider, BaseURL: url})
			if err != nil {
				panic(err) // the test gave an address that is none
			}
			return c
		},
		Dir: dir, ConversationKey: "messages", MaxImageBytes: 20e6, MaxTotalBytes: 50e6, Audio: true,
		ReasoningKeys: []string{"reasoning_effort"},
		Levels: map[string][3]string{
			"gpt-6-luna":  {`reasoning_effort "none"`, `reasoning_effort "low"`, `reasoning_effort "high"`},
			"gpt-6.1-sol": {"", `reasoning_effort "low"`, `reasoning_effort "high"`},
			"gemini-3":    {`reasoning_effort "none"`, `reasoning_effort "minimal"`, `reasoning_effort "high"`},
		},
		Budgets: map[string]bool{"gpt-6-luna": false, "gemini-3": false},
	}
}

func TestPoints(t *testing.T) {
	w := newProtocol("testdata")
	w.Kept, w.Thoughts = []string{`"reasoning_content":"I must look"`}, "I must look"
	w.Usage = model.Usage{InputTokens: 80, OutputTokens: 33, CachedTokens: 64, ReasoningTokens: 20}
	modeltest.RunProtocol(t, w)
}

// Gemini speaks the protocol, too, with errors, calls and thoughts of its own. It has no
// refusals, no word on money but its rate limit, and no headers on another try.
func TestGemini(t *testing.T) {
	modeltest.Run(t, func(t *testing.T, scenario string, streams bool) model.Client {
		switch scenario {
		case "refused", "quota", "final":
			return nil
		}
		file, cut := modeltest.FindRecording("testdata/gemini", scenario, streams)
		return dial(t, modeltest.ServeFile(t, file, cut, nil))
	})
	w := newProtocol("testdata/gemini")
	w.Kept = []string{`"extra_content":{"google":{"thought_signature":"SigA=="}}`}
	w.Usage = model.Usage{InputTokens: 80, OutputTokens: 33, CachedTokens: 64, ReasoningTokens: 20}
	modeltest.RunProtocol(t, w)
}
