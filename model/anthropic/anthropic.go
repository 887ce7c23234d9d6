// Package anthropic speaks the Messages protocol of Anthropic.
package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// BaseURL is where Anthropic's own models are.
const BaseURL = "https://api.anthropic.com"

// MaxTokens is how long an answer may be when a request does not say: the
// protocol has no default.
const MaxTokens = 8192

// version is the version of the protocol that the requests name.
const version = "2023-06-01"

// Config says which model of which server. Model is needed; the rest may be zero.
type Config struct {
	// Model is the server's name of the model.
	Model string
	// Provider is what messages call the server; "anthropic" by default.
	Provider string
	// BaseURL is the address up to /v1/messages, with or without /v1; BaseURL by
	// default.
	BaseURL string
	// Key is sent as x-api-key; "": none.
	Key string
	// Headers are sent besides, such as anthropic-beta.
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
}

// New checks a configuration. No connection is made.
func New(c Config) (*Client, error) {
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	if c.Provider == "" {
		c.Provider = "anthropic"
	}
	address, err := wire.Join(strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1"), "/v1/messages")
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	if c.Model == "" {
		return nil, fmt.Errorf("provider %s: no model is named", c.Provider)
	}
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	if c.Key != "" {
		header.Set("X-Api-Key", c.Key)
	}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	return &Client{
		model: c.Model, params: c.Params,
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
	g := gathering{answer: answer, names: names}
	if answer.Streams {
		return g.stream(onText)
	}
	var whole reply
	if err := answer.Decode(&whole); err != nil {
		return nil, err
	}
	return g.whole(&whole, onText)
}

// explain reads {"type": "error", "error": {"type", "message"}}.
func explain(body []byte) (code, text string) {
	var report struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &report)
	return report.Error.Type, report.Error.Message
}
