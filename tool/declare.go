// Declarations of tools: what the file says about one.

package tool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/schema"
)

// Declared is an entry of `tools`. Exactly one of exec, Graph and server is set. All methods
// of a nil *Declared work, for a tool that is not declared.
type Declared struct {
	Name        string
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

	schema  *schema.Schema
	exec    *Program // without Args
	server  *server
	retries []retry
	flights chan struct{} // one token for each call in flight, or nil without a bound
}

// retry is a block of `retry`.
type retry struct {
	MaxAttempts int           `key:"max_attempts" default:"3"`
	Initial     time.Duration `key:"initial_interval" default:"1s"`
	Longest     time.Duration `key:"max_interval" default:"30s"`
	Backoff     float64       `key:"backoff" default:"2"`
	On          []string      `key:"on"` // kinds; none means every kind
	When        string        `key:"when"`

	when *eval.Program
}

// declare reads the entry of one tool.
func declare(name string, entry any, opts *Options) (*Declared, error) {
	values, _ := entry.(map[string]any)
	d := &Declared{Name: name}
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
	d.Parameters = merge(map[string]any{"type": "object"}, d.Parameters)
	if d.schema, err = schema.Compile(d.Parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	switch {
	case d.Exec != nil:
		d.exec = &Program{Tool: name}
		err = keys.Decode(d.Exec, d.exec)
		d.exec.Env = merge(d.Env, d.exec.Env)
	case d.MCP != nil:
		d.server, err = declareServer(name, d.MCP, opts)
		if err == nil {
			d.server.Env, d.server.Headers = merge(d.Env, d.server.Env), merge(d.Headers, d.server.Headers)
		}
	}
	return d, err
}

// readRetries reads a block or a list of blocks.
func readRetries(given any) ([]retry, error) {
	list, isList := given.([]any)
	if !isList && given != nil {
		list = []any{given}
	}
	out := make([]retry, len(list))
	for i, entry := range list {
		block, _ := entry.(map[string]any)
		if err := keys.Decode(block, &out[i]); err != nil {
			return nil, fmt.Errorf("retry: %w", err)
		}
		if when := out[i].When; when != "" {
			program, err := eval.RetryScope().Compile(when, eval.Condition)
			if err != nil {
				return nil, fmt.Errorf("retry: when: %w", err)
			}
			out[i].when = program
		}
	}
	return out, nil
}

// merge returns the entries of both maps; those of more win.
func merge(base, more map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(more))
	maps.Copy(out, base)
	maps.Copy(out, more)
	return out
}

// IsServer reports whether the tool is an MCP server.
func (d *Declared) IsServer() bool { return d != nil && d.server != nil }

// Tool returns the description for models of a tool that is not a server.
func (d *Declared) Tool() Tool {
	return Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
}

// Again reports whether a call that has failed so many times is made again, and its
// delay, by the first retry block for failures of its kind.
func (d *Declared) Again(failed *Error, times int) (delay time.Duration, attempts int, again bool) {
	if d == nil {
		return 0, 0, false
	}
	kind := cmp.Or(failed.Kind, "tool")
	for i := range d.retries {
		b := &d.retries[i]
		if (len(b.On) == 0 || slices.Contains(b.On, kind)) && b.holds(d.Name, kind, failed, times) {
			wait := float64(b.Initial) * math.Pow(b.Backoff, float64(times-1))
			return time.Duration(min(wait, float64(b.Longest))), b.MaxAttempts, times < b.MaxAttempts
		}
	}
	return 0, 0, false
}

// holds evaluates the block's condition. A condition that fails does not hold.
func (b *retry) holds(name, kind string, failed *Error, times int) bool {
	if b.when == nil {
		return true
	}
	var vm eval.VM
	holds, err := vm.Test(b.when, map[string]any{"error": map[string]any{
		"kind": kind, "message": failed.Message, "node": name, "attempt": times, "details": merge(failed.Details, nil),
	}})
	return err == nil && holds
}

// maxResult is the default of max_result.
const maxResult = 256 << 10

// Fit returns a result for a model: the value, or the beginning of its text if it is
// larger than max_result, with a line that says so. In a list of parts it cuts each text,
// since a cut would break other parts.
func (d *Declared) Fit(result any) any {
	limit := maxResult
	if d != nil {
		limit = d.MaxResult
	}
	if list, isList := result.([]any); isList && slices.ContainsFunc(list, holdsBytes) {
		out := slices.Clone(list)
		for i, item := range list {
			fields, _ := item.(map[string]any)
			if text, isText := fields["text"].(string); isText {
				out[i] = map[string]any{"text": cutText(text, limit)}
			}
		}
		return out
	}
	if text := eval.Text(result); len(text) > limit {
		return cutText(text, limit)
	}
	return result
}

// holdsBytes reports whether a value is a part with a data URI.
func holdsBytes(item any) bool {
	fields, _ := item.(map[string]any)
	for _, kind := range eval.PartKinds() {
		if uri, _ := fields[kind].(string); kind != "text" && strings.HasPrefix(uri, "data:") {
			return true
		}
	}
	return false
}

func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", eval.Head(text, limit), limit, len(text))
}

// call passes a call on to the server, program or graph.
func (d *Declared) call(ctx context.Context, actor Actor, member string, call Call) (any, error) {
	args, err := call.Args, error(nil)
	if d.server == nil {
		if args, err = checkArgs(call.Name, d.schema, args); err != nil {
			return nil, err
		}
	}
	if result, handled, err := actor.StandIn(ctx); handled {
		return result, err
	}
	switch {
	case d.server != nil:
		return d.server.call(ctx, actor, member, call)
	case d.exec != nil:
		program := *d.exec
		program.Args = args
		return actor.Exec(ctx, &program)
	}
	return actor.Graph(ctx, d.Graph, args)
}

// checkArgs normalises arguments and checks them against a schema.
func checkArgs(name string, s *schema.Schema, args map[string]any) (map[string]any, error) {
	if args == nil {
		args = map[string]any{}
	}
	normal := s.Normalise(args)
	if err := s.Check(normal); err != nil {
		return nil, &Error{Message: fmt.Sprintf("arguments of tool %q: %v", name, err), NotMade: true}
	}
	out, _ := normal.(map[string]any)
	return out, nil
}
