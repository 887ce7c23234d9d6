// Package responses speaks the Responses protocol of OpenAI, which its own models
// want: tools and reasoning go together in it, and reasoning goes back, encrypted.
package responses

import (
	"context"
	"net/http"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// BaseURL is where OpenAI's own models are.
const BaseURL = "https://api.openai.com/v1"

// Config says which model of which server; the base URL goes up to /responses, the
// key is sent as bearer token.
type Config = wire.Config

// Client is one model. It is safe for concurrent use and holds nothing that must
// be closed.
type Client struct {
	endpoint wire.Endpoint
	model    string
	// provider is the name of the server, which what it wants back is kept under.
	provider string
	params   map[string]any
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
	endpoint, err := c.Endpoint("/responses", header)
	if err != nil {
		return nil, err
	}
	return &Client{model: c.Model, provider: c.Provider, params: c.Params, endpoint: endpoint}, nil
}

// Chat makes one call. With onText the answer is asked for as a stream; a server
// that does not stream is understood all the same.
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
	var whole result
	if err := answer.Decode(&whole); err != nil {
		return nil, err
	}
	return g.whole(&whole, onText)
}
