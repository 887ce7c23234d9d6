// Package anthropic speaks the Messages protocol of Anthropic.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"

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

// Config says which model of which server; the base URL goes up to /v1/messages,
// with or without /v1, the key is sent as x-api-key.
type Config = wire.Config

// Client is one model. It is safe for concurrent use and holds nothing that
// must be closed.
type Client struct {
	endpoint wire.Endpoint
	model    string
	// provider is the name of the server, which what it wants back is kept under.
	provider string
	params   map[string]any
	// longest is how many tokens an answer may have when a request does not say, most
	// how many it can have at all; 0: unknown.
	longest, most int
}

// New checks a configuration. No connection is made.
func New(c Config) (*Client, error) {
	if c.BaseURL == "" {
		c.BaseURL = BaseURL
	}
	if c.Provider == "" {
		c.Provider = "anthropic"
	}
	c.BaseURL = strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1")
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	if c.Key != "" {
		header.Set("X-Api-Key", c.Key)
	}
	endpoint, err := c.Endpoint("/v1/messages", header)
	if err != nil {
		return nil, err
	}
	return &Client{model: c.Model, provider: c.Provider, params: c.Params, endpoint: endpoint, longest: cmp.Or(c.MaxTokens, MaxTokens), most: c.MostTokens}, nil
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
	g := gathering{provider: c.provider, answer: answer, names: names, thinks: req.OnThinking}
	if answer.Streams {
		return g.stream(onText)
	}
	var whole reply
	if err := answer.Decode(&whole); err != nil {
		return nil, err
	}
	return g.whole(&whole, onText)
}
