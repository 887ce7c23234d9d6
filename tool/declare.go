// Reading one declaration of the file: plain data with templates rendered, so
// a value may have any type and is checked here again.

package tool

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/graphrun/graphrun/internal/schema"
)

// maxResult is how much of a result a model gets when the tool does not say.
const maxResult = 256 << 10

// declare reads the entry of one tool.
func declare(name string, entry any, opts *Options) (*declared, error) {
	fields, ok := entry.(map[string]any)
	if !ok {
		return nil, errors.New("it is no map")
	}
	d := &declared{name: name, maxResult: maxResult, graph: text(fields["graph"]), approve: text(fields["approve"]), description: text(fields["description"])}
	if n, ok := fields["max_result"].(int); ok {
		d.maxResult = n
	}
	if t := text(fields["timeout"]); t != "" {
		timeout, err := time.ParseDuration(t)
		if err != nil {
			return nil, fmt.Errorf("timeout: %w", err)
		}
		d.timeout = timeout
	}
	var err error
	if d.retries, err = readRetries(fields["retry"]); err != nil {
		return nil, err
	}
	if n, ok := fields["max_in_flight"].(int); ok {
		d.flights = make(chan struct{}, n)
	}
	if err := d.readParameters(fields["parameters"]); err != nil {
		return nil, err
	}
	env, headers := object(fields["env"]), object(fields["headers"])
	if exec, ok := fields["exec"].(map[string]any); ok {
		d.exec = &Program{
			Tool: name, Env: joined(env, object(exec["env"])), Dir: text(exec["dir"]), Parse: text(exec["parse"]), EnvPass: exec["env_pass"],
		}
		d.exec.Command, _ = exec["command"].([]any)
	}
	if mcp, ok := fields["mcp"].(map[string]any); ok {
		server, err := declareServer(name, mcp, opts)
		if err != nil {
			return nil, err
		}
		server.env, server.headers = joined(env, object(mcp["env"])), joined(headers, object(mcp["headers"]))
		server.envPass = mcp["env_pass"]
		d.server = server
	}
	if d.exec == nil && d.server == nil && d.graph == "" {
		return nil, errors.New("it has neither exec, graph nor mcp")
	}
	return d, nil
}

// readParameters takes the schema of the arguments; without one any object is
// right.
func (d *declared) readParameters(doc any) error {
	given, _ := doc.(map[string]any)
	d.parameters = map[string]any{"type": "object"}
	maps.Copy(d.parameters, given)
	compiled, err := schema.Compile(d.parameters)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	d.schema = compiled
	return nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// joined is a map with the entries of both; those of more win.
func joined(base, more map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(more))
	maps.Copy(out, base)
	maps.Copy(out, more)
	return out
}
