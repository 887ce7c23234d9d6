// Clients of a protocol: what all adapters do around their own bodies and answers.

// Package wire holds what the adapters of model protocols share.
package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/graphrun/graphrun/model"
)

// Config names a model of a server. Only Model is required.
type Config struct {
	// Model is the server's name of the model.
	Model string
	// Provider names the server in messages.
	Provider string
	// BaseURL is the address that the path of the protocol follows.
	BaseURL string
	// Key authenticates requests; local servers need none.
	Key string
	// Headers are sent with each request.
	Headers map[string]string
	// Params are keys of each request's body; a request's own win.
	Params map[string]any
	// MaxTokens bounds answers of requests that set no bound, where the protocol has
	// no default; 0 means the adapter's.
	MaxTokens int
	// MostTokens is the longest answer of the model; 0 means unknown.
	MostTokens int
	// Timeout bounds one call, including its whole answer; 0 means no bound.
	Timeout time.Duration
	// HTTP makes the requests; nil means the default transport.
	HTTP *http.Client
}

// Protocol is the wire format of a provider.
type Protocol struct {
	// Path follows the base URL. BaseURL and Provider are defaults of Config.
	Path, BaseURL, Provider string
	// Header returns the headers of all requests.
	Header func(key string) http.Header
	// Takes limits the parts of messages.
	Takes Takes
	// Fields sets the keys of a body that the parameters of a request may replace.
	Fields func(c *Call, body map[string]any) error
	// Conversation sets the messages, which parameters can't replace.
	Conversation func(c *Call, body map[string]any) error
	// Reader reads the answer of a call.
	Reader func(c *Call) Reader
}

// Reader puts an answer together.
type Reader interface {
	// Whole reads an answer that came at once.
	Whole(body []byte) error
	// Event reads an event of a stream.
	Event(name string, data []byte) (Progress, error)
	// Response returns the answer after Whole or the last event.
	Response() (*model.Response, error)
}

// Progress says whether a stream may end. The zero value says that more must come.
type Progress int

// MayEnd says that the connection may end here, Ended that the answer is complete.
const (
	MayEnd Progress = iota + 1
	Ended
)

// Call is one request and, once it was sent, its answer.
type Call struct {
	*Config
	*Answer
	Req *model.Request
	// Messages are the request's, each tool call followed by its result.
	Messages []model.Message
	Names    *Names
	// Streams reports whether the caller wants the text as it comes.
	Streams bool
	onText  func(chunk string)
}

// Text passes a piece of the answer on.
func (c *Call) Text(chunk string) {
	if c.onText != nil && chunk != "" {
		c.onText(chunk)
	}
}

// Thought passes a piece of the model's thinking on.
func (c *Call) Thought(chunk string) {
	if c.Req.OnThinking != nil && chunk != "" {
		c.Req.OnThinking(chunk)
	}
}

// Client is one model of a server. It is safe for concurrent use and needs no Close.
type Client struct {
	config   Config
	protocol *Protocol
	name     string // in messages
	url      string
	header   http.Header
	secrets  []string
}

// New checks a configuration. It makes no connection.
func New(p *Protocol, c Config) (*Client, error) {
	c.BaseURL, c.Provider = cmp.Or(c.BaseURL, p.BaseURL), cmp.Or(c.Provider, p.Provider)
	address, err := Join(c.BaseURL, p.Path)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	if c.Model == "" {
		return nil, fmt.Errorf("provider %s: no model is named", c.Provider)
	}
	header := p.Header(c.Key)
	header.Set("User-Agent", "graphrun")
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	header.Set("Content-Type", "application/json")
	return &Client{c, p, c.Provider + "/" + c.Model, address, header, secretsOf(c.Key, c.Headers)}, nil
}

// Chat makes one call. With onText it asks for a stream, and also reads the answer of
// a server that does not stream.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	call := &Call{Config: &c.config, Req: req, Messages: model.Paired(req.Messages), Names: NewNames(req.Tools), Streams: onText != nil, onText: onText}
	body, err := c.body(call)
	if err != nil {
		return nil, unsent(err)
	}
	if call.Answer, err = c.post(ctx, body); err != nil {
		return nil, err
	}
	defer call.close()
	r := c.protocol.Reader(call)
	if call.streams {
		err = call.readEvents(r)
	} else {
		var text []byte
		if text, err = io.ReadAll(call.Answer); err == nil {
			err = r.Whole(text)
		}
	}
	if err != nil {
		return nil, err
	}
	return r.Response()
}

// body returns the request as JSON data. Parameters replace what the fields of the
// request say, and null removes a key.
func (c *Client) body(call *Call) (map[string]any, error) {
	body := map[string]any{}
	maps.Copy(body, c.config.Params)
	if call.Req.Temperature != nil {
		body["temperature"] = *call.Req.Temperature
	}
	if err := c.protocol.Fields(call, body); err != nil {
		return nil, err
	}
	maps.Copy(body, call.Req.Params)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	if err := c.protocol.Takes.Check(call.Messages); err != nil {
		return nil, err
	}
	call.Names.addCalled(call.Messages)
	if err := c.protocol.Conversation(call, body); err != nil {
		return nil, err
	}
	body["model"], body["stream"] = c.config.Model, call.Streams
	return body, nil
}

func (c *Call) readEvents(r Reader) error {
	events := NewEvents(c.Answer)
	for progress := Progress(0); progress != Ended; {
		name, data, err := events.Next()
		switch {
		case errors.Is(err, io.EOF) && progress == MayEnd:
			return nil
		case errors.Is(err, io.EOF):
			return c.Cut()
		case err != nil:
			return err
		}
		if progress, err = r.Event(name, data); err != nil {
			return err
		}
	}
	return nil
}

// Invalid returns the failure of a request that a protocol can't express.
func Invalid(format string, args ...any) *model.Error {
	return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

// unsent marks the failure of a request that was not sent.
func unsent(err error) error {
	var failed *model.Error
	if errors.As(err, &failed) {
		own := *failed
		own.Unsent = true
		return &own
	}
	return err
}

// Tools returns the tools of the request, with their schemas under a key.
func (c *Call) Tools(schemaKey string) []map[string]any {
	out := make([]map[string]any, len(c.Req.Tools))
	for i, t := range c.Req.Tools {
		schema := map[string]any{"type": "object", "properties": map[string]any{}}
		if t.Parameters != nil {
			schema = t.Parameters
		}
		out[i] = map[string]any{"name": c.Names.Wire(t.Name), schemaKey: schema}
		if t.Description != "" {
			out[i]["description"] = t.Description
		}
	}
	return out
}

// SetDefault sets a key that no parameter set.
func SetDefault(body map[string]any, key string, value any) {
	if _, set := body[key]; !set {
		body[key] = value
	}
}
