// Package openai speaks the chat completions protocol of OpenAI, which many
// servers speak: Ollama, vLLM, LM Studio, OpenRouter and others.
package openai

import (
	"context"
	"net/http"
	"net/url"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// BaseURL is where OpenAI's own models are.
const BaseURL = "https://api.openai.com/v1"

// Config says which model of which server; the base URL goes up to
// /chat/completions, the key is sent as bearer token.
type Config = wire.Config

// Client is one model. It is safe for concurrent use and holds nothing that
// must be closed.
type Client struct {
	endpoint wire.Endpoint
	model    string
	// provider is the name of the server, which what it wants back is kept under.
	provider string
	params   map[string]any
	// ownServer is OpenAI's: it refuses max_tokens for models that reason, and
	// other servers do not know the key that it wants instead.
	ownServer bool
}

// New checks a configuration. No connection is made.
func New(c Config) (*Client, error) {
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	if c.Provider == "" {
		c.Provider = "openai"
	}
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	endpoint, err := c.Endpoint("/chat/completions", header)
	if err != nil {
		return nil, err
	}
	parsed, _ := url.Parse(endpoint.URL)
	return &Client{model: c.Model, provider: c.Provider, params: c.Params, ownServer: parsed.Hostname() == "api.openai.com", endpoint: endpoint}, nil
}

// Chat makes one call. With onText the answer is asked for as a stream; a
// server that does not stream is understood all the same.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	names := wire.NewNames(req.Tools)
	body, err := c.body(req, names, onText != nil)
	if err != nil {
		return nil, wire.Unsent(err)
	}
	answer, err := c.endpoint.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	g := gathering{chat: c, answer: answer, names: names, turn: len(req.Messages), thinks: req.OnThinking}
	if answer.Streams {
		return g.stream(onText)
	}
	var whole completion
	if err := answer.Decode(&whole); err != nil {
		return nil, err
	}
	return g.whole(&whole, onText)
}
