// Declarations of tools.

package tool

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/schema"
)

// maxResult is the default of max_result.
const maxResult = 256 << 10

// declared is an entry of `tools`. Exactly one of exec, Graph and server is set.
type declared struct {
	Description string         `key:"description"`
	Parameters  map[string]any `key:"parameters"`
	Timeout     time.Duration  `key:"timeout"`                     // of a call; 0 means none
	MaxResult   int            `key:"max_result" default:"262144"` // bytes
	MaxInFlight int            `key:"max_in_flight"`
	Graph       string         `key:"graph"`
	Approve     string         `key:"approve"` // always, a condition or ""
	Retry       any            `key:"retry"`
	Env         map[string]any `key:"env"`
	Headers     map[string]any `key:"headers"`
	Exec        map[string]any `key:"exec"`
	MCP         map[string]any `key:"mcp"`

	name    string
	schema  *schema.Schema
	exec    *Program // without Args
	server  *server
	retries []retry
	flights chan struct{} // one token for each call in flight, or nil without a bound
}

// declare reads the entry of one tool.
func declare(name string, entry any, opts *Options) (*declared, error) {
	values, ok := entry.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a map")
	}
	d := &declared{name: name}
	err := keys.Decode(values, d)
	if err == nil {
		d.retries, err = readRetries(d.Retry)
	}
	if err != nil {
		return nil, err
	}
	if d.MaxInFlight > 0 {
		d.flights = make(chan struct{}, d.MaxInFlight)
	}
	d.Parameters = joined(map[string]any{"type": "object"}, d.Parameters)
	if d.schema, err = schema.Compile(d.Parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	switch {
	case d.Exec != nil:
		d.exec = &Program{Tool: name}
		err = keys.Decode(d.Exec, d.exec)
		d.exec.Env = joined(d.Env, d.exec.Env)
	case d.MCP != nil:
		d.server, err = declareServer(name, d.MCP, opts)
		if err == nil {
			d.server.Env, d.server.Headers = joined(d.Env, d.server.Env), joined(d.Headers, d.server.Headers)
		}
	case d.Graph == "":
		err = errors.New("it has neither exec, graph nor mcp")
	}
	return d, err
}

// joined returns the entries of both maps; those of more win.
func joined(base, more map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(more))
	maps.Copy(out, base)
	maps.Copy(out, more)
	return out
}
