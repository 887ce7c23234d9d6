// Package openai speaks the chat completions protocol of OpenAI, which many
// servers speak: Ollama, vLLM, LM Studio, OpenRouter and others.
package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// BaseURL is where OpenAI's own models are.
const BaseURL = "https://api.openai.com/v1"

// Config says which model of which server. Model is needed; the rest may be zero.
type Config struct {
	// Model is the server's name of the model.
	Model string
	// Provider is what messages call the server; "openai" by default.
	Provider string
	// BaseURL is the address up to /chat/completions; BaseURL by default.
	BaseURL string
	// Key is sent as bearer token; "": none, as local servers want it.
	Key string
	// Headers are sent besides.
	Headers map[string]string
	// Params are keys of each request's body; a request's own win.
	Params map[string]any
	// Timeout bounds one call; 0: only its context does.
	Timeout time.Duration
	// HTTP makes the requests; nil: the default transport.
	HTTP *http.Client
}

// Client is one model. It is safe for concurrent use and holds nothing that
// must be closed.
type Client struct {
	endpoint wire.Endpoint
	model    string
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
	address, err := wire.Join(c.BaseURL, "/chat/completions")
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	if c.Model == "" {
		return nil, fmt.Errorf("provider %s: no model is named", c.Provider)
	}
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	parsed, _ := url.Parse(address)
	return &Client{
		model: c.Model, params: c.Params, ownServer: parsed.Hostname() == "api.openai.com",
		endpoint: wire.Endpoint{
			Name: c.Provider + "/" + c.Model, URL: address, Header: header, Secrets: wire.Secrets(c.Key, c.Headers), Timeout: c.Timeout, HTTP: c.HTTP, Explain: explain,
		},
	}, nil
}

// Chat makes one call. With onText the answer is asked for as a stream; a
// server that does not stream is understood all the same.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	names := wire.NewNames(req.Tools)
	body, err := c.body(req, names, onText != nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.endpoint.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	g := gathering{answer: answer, names: names, turn: len(req.Messages)}
	if answer.Streams {
		return g.stream(onText)
	}
	var whole completion
	if err := answer.Decode(&whole); err != nil {
		return nil, err
	}
	return g.whole(&whole, onText)
}
