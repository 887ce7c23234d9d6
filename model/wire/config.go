// What the adapters are told about a server.

package wire

import (
	"fmt"
	"net/http"
	"time"
)

// Config says which model of which server. Model is needed; the rest may be zero.
type Config struct {
	// Model is the server's name of the model.
	Model string
	// Provider is what messages call the server; the adapter's name by default.
	Provider string
	// BaseURL is the address that the path of the protocol is added to; the
	// adapter's BaseURL by default.
	BaseURL string
	// Key is sent as the protocol wants it; "": none, as local servers want it.
	Key string
	// Headers are sent besides.
	Headers map[string]string
	// Params are keys of each request's body; a request's own win.
	Params map[string]any
	// MaxTokens is how long an answer may be when a request does not say, where the
	// protocol has no default; 0: the adapter's.
	MaxTokens int
	// MostTokens is how long an answer of the model can be; 0: unknown.
	MostTokens int
	// Timeout bounds one call; 0: only its context does.
	Timeout time.Duration
	// HTTP makes the requests; nil: the default transport.
	HTTP *http.Client
}

// Endpoint checks the configuration and makes what requests are sent to: a path
// below the base, with the headers of the protocol.
func (c *Config) Endpoint(path string, header http.Header) (Endpoint, error) {
	address, err := Join(c.BaseURL, path)
	if err != nil {
		return Endpoint{}, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	if c.Model == "" {
		return Endpoint{}, fmt.Errorf("provider %s: no model is named", c.Provider)
	}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	return Endpoint{
		Name: c.Provider + "/" + c.Model, URL: address, Header: header, Secrets: Secrets(c.Key, c.Headers),
		Timeout: c.Timeout, HTTP: c.HTTP,
	}, nil
}
