// The registry of tools: declarations by name, and calls.

// Package tool calls the tools of a graph file: programs, graphs, and tools of servers that speak
// the Model Context Protocol. It enforces allow-lists, checks arguments against schemas, and runs
// servers until the Registry is closed. An Actor runs programs and graphs.
package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/internal/schema"
	"github.com/graphrun/graphrun/model"
)

// Registry holds the tools of one graph for one run. It is safe for concurrent use.
type Registry struct {
	decls map[string]*Declared
	names []string // sorted
}

// New returns a registry of evaluated declarations by name. It starts no servers.
func New(decls map[string]any, opts Options) (*Registry, error) {
	opts.Grace = cmp.Or(opts.Grace, 5*time.Second)
	opts.DiscoverTime = cmp.Or(opts.DiscoverTime, 3*time.Second)
	opts.Keeper = cmp.Or(opts.Keeper, process.NewKeeper(""))
	r := &Registry{decls: map[string]*Declared{}, names: slices.Sorted(maps.Keys(decls))}
	for _, name := range r.names {
		decl, err := readDeclared(name, decls[name], &opts)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", name, err)
		}
		r.decls[name] = decl
	}
	return r, nil
}

// Close ends the servers. No call may be in flight.
func (r *Registry) Close() error {
	var all []error
	for _, name := range r.names {
		if server := r.decls[name].server; server != nil {
			all = append(all, server.closeServer())
		}
	}
	return errors.Join(all...)
}

// Names returns the names of all declared tools. As an allow-list it allows every tool.
func (r *Registry) Names() []string { return r.names }

// ListTools lists the allowed tools in the order of the allow-list and of each server's
// list. It starts the servers. warn receives warnings about them.
func (r *Registry) ListTools(ctx context.Context, warn func(string), allowed []string) ([]Tool, error) {
	var out []Tool
	lists := map[*server]func() ([]member, error){}
	var group sync.WaitGroup
	defer group.Wait()
	for _, entry := range allowed { // in parallel: each server may have to start
		if decl, _ := r.FindTool(entry); decl.IsServer() && lists[decl.server] == nil {
			list := sync.OnceValues(func() ([]member, error) { return decl.server.listTools(ctx, warn) })
			lists[decl.server] = list
			group.Go(func() { _, _ = list() })
		}
	}
	add := func(t Tool) {
		if !slices.ContainsFunc(out, func(other Tool) bool { return other.Name == t.Name }) {
			out = append(out, t)
		}
	}
	for _, entry := range allowed {
		decl, member := r.FindTool(entry)
		if decl == nil {
			return nil, r.unknownToolError(entry)
		}
		if !decl.IsServer() {
			add(decl.Describe())
			continue
		}
		tools, err := lists[decl.server]()
		if err != nil {
			return nil, err
		}
		found := false
		for _, t := range tools {
			if member == All || member == t.Name {
				found = true
				add(Tool{Name: decl.Name + "." + t.Name, Description: t.Description, Parameters: t.Parameters})
			}
		}
		if !found && member != All {
			return nil, unknownMemberError(decl.Name, member, tools)
		}
	}
	return out, nil
}

// All as a member means every tool of a server.
const All = "*"

// FindTool returns the declaration for a name, or nil. For a server's tool, member is its
// name at the server, or All.
func (r *Registry) FindTool(name string) (decl *Declared, member string) {
	if decl := r.decls[name]; decl != nil {
		return decl, All
	}
	first, member, _ := strings.Cut(name, ".")
	if decl := r.decls[first]; decl.IsServer() {
		return decl, member
	}
	return nil, ""
}

func (r *Registry) unknownToolError(name string) error {
	return &Error{Message: fmt.Sprintf("no tool %q is declared; %s", name, joinNames("declared are", r.names))}
}

func isAllowed(allowed []string, name string) bool {
	server, _, dotted := strings.Cut(name, ".")
	return slices.ContainsFunc(allowed, func(entry string) bool {
		return entry == name || dotted && (entry == server || entry == server+"."+All)
	})
}

// Call makes one call for a node with an allow-list. The error is an *Error or ctx's.
func (r *Registry) Call(ctx context.Context, actor Actor, allowed []string, call Call) (any, error) {
	if !isAllowed(allowed, call.Name) {
		return nil, &Error{Message: fmt.Sprintf("tool %q may not be called here; %s", call.Name, joinNames("allowed are", allowed)), NotMade: true}
	}
	decl, member := r.FindTool(call.Name)
	if decl == nil {
		return nil, r.unknownToolError(call.Name)
	}
	if decl.IsServer() && member == All {
		return nil, &Error{Message: fmt.Sprintf("%q is a server; call one of its tools, as in %s.tool", decl.Name, decl.Name), NotMade: true}
	}
	if call.Malformed != "" {
		return nil, &Error{Message: fmt.Sprintf("arguments of tool %q are no JSON object: %s", call.Name, eval.Shorten(call.Malformed, 200)), NotMade: true}
	}
	if decl.flights != nil {
		select {
		case decl.flights <- struct{}{}:
			defer func() { <-decl.flights }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if decl.Timeout > 0 {
		bounded, cancel = context.WithTimeout(ctx, decl.Timeout)
	}
	defer cancel()
	result, err := decl.makeCall(bounded, actor, member, call)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, &Error{Message: fmt.Sprintf("tool %q was stopped: it took longer than %s", decl.Name, eval.DurationText(decl.Timeout)), Kind: "timeout"}
	}
	return result, err
}

func joinNames(intro string, names []string) string {
	if len(names) == 0 {
		return intro + " none"
	}
	return intro + " " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

func unknownMemberError(server, member string, tools []member) error {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return &Error{Message: fmt.Sprintf("server %q has no tool %q; %s", server, member, joinNames("its tools are", names))}
}

// Tool describes a tool to models. Calls use its name: "add" or "server.add".
type Tool = model.Tool

// Actor runs programs and graphs for the task that calls a tool. Results are plain data.
type Actor interface {
	// Exec runs a tool's program, with args on stdin. config has the keys of an exec node.
	Exec(ctx context.Context, tool string, config, args map[string]any) (any, error)
	Graph(ctx context.Context, file string, args map[string]any) (any, error)
	// StandIn may answer a call instead of its tool. If handled is false, the call is made.
	StandIn(ctx context.Context) (result any, handled bool, err error)
	// Warn warns the person who runs the graph.
	Warn(message string)
	// AskPerson asks a person a server's question. While there is no answer, the call ends
	// with an error and is made again later. schema describes an object, or is nil. The
	// answer is such an object or Declined.
	AskPerson(tool, message string, schema map[string]any) (answer any, answered bool)
	// TraceParent returns the W3C traceparent for a server's `_meta`, or "".
	TraceParent() string
	// Progress reports the progress of a call. total is 0 if unknown.
	Progress(tool, message string, done, total float64)
}

// Call is one tool call. This package does not use its ID.
type Call = model.ToolCall

// Error is the failure of a call, for example of an unknown tool. Models also see the message.
type Error struct {
	Message string
	// Kind is the failure kind of a program or graph; "" means tool.
	Kind string
	// NotMade means that the call is not allowed or has wrong arguments: a retry is pointless.
	NotMade bool
	// Details hold more, such as exit_code.
	Details map[string]any
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Options are the settings of a Registry. The zero value works.
type Options struct {
	// Dir is the folder of the graph file.
	Dir string
	// Grace is how long a server may take to end before it is killed; 0 means 5 s.
	Grace time.Duration
	// DiscoverTime is how long a server may take to name its protocol version; 0 means 3 s.
	// A slower server is treated as an old one.
	DiscoverTime time.Duration
	// When Kill is closed, servers are killed without further grace.
	Kill <-chan struct{}
	// Stderr returns the log of a server's stderr.
	Stderr func(server string) io.Writer
	// Withheld are variables that a server gets only if its env_pass names them.
	Withheld []string
	// Keeper starts servers that are programs. The default is a new Keeper.
	Keeper *process.Keeper
	// RunDir returns the folder of the run. It may be nil.
	RunDir func() (string, error)
}

// Declared is an entry of `tools`. One of Exec, Graph and server is set. A nil *Declared is valid.
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
	When        string        `key:"when" default:"true"`

	when *eval.Program
}

func readDeclared(name string, entry any, opts *Options) (*Declared, error) {
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
	d.Parameters = mergeMaps(map[string]any{"type": "object"}, d.Parameters)
	if d.schema, err = schema.Compile(d.Parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	switch {
	case d.Exec != nil:
		env, _ := d.Exec["env"].(map[string]any)
		d.Exec = mergeMaps(d.Exec, map[string]any{"env": mergeMaps(d.Env, env)})
	case d.MCP != nil:
		s := &server{name: name, opts: opts, locked: make(chan struct{}, 1), stray: make(chan string, 10)}
		if err := keys.Decode(d.MCP, s); err != nil {
			return nil, fmt.Errorf("mcp: %w", err)
		}
		s.Env, s.Headers = mergeMaps(d.Env, s.Env), mergeMaps(d.Headers, s.Headers)
		d.server = s
	}
	return d, nil
}

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
		program, err := eval.RetryScope().Compile(out[i].When, eval.Condition)
		if err != nil {
			return nil, fmt.Errorf("retry: when: %w", err)
		}
		out[i].when = program
	}
	return out, nil
}

// mergeMaps returns the entries of both maps. Entries of more win.
func mergeMaps(base, more map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(more))
	maps.Copy(out, base)
	maps.Copy(out, more)
	return out
}

// IsServer reports whether the tool is an MCP server.
func (d *Declared) IsServer() bool { return d != nil && d.server != nil }

// Describe returns the description for models of a tool that is not a server.
func (d *Declared) Describe() Tool {
	return Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters}
}

// NextRetry reports whether a call is repeated after it failed so many times, and after which delay. The
// first retry block that matches the failure decides. A condition whose evaluation fails does not match.
func (d *Declared) NextRetry(failed *Error, times int) (delay time.Duration, attempts int, again bool) {
	if d == nil {
		return 0, 0, false
	}
	kind := cmp.Or(failed.Kind, "tool")
	env := map[string]any{"error": map[string]any{
		"kind": kind, "message": failed.Message, "node": d.Name, "attempt": times, "details": mergeMaps(failed.Details, nil),
	}}
	var vm eval.VM
	for _, block := range d.retries {
		if len(block.On) > 0 && !slices.Contains(block.On, kind) {
			continue
		}
		if holds, err := vm.Test(block.when, env); err == nil && holds {
			wait := float64(block.Initial) * math.Pow(block.Backoff, float64(times-1))
			return time.Duration(min(wait, float64(block.Longest))), block.MaxAttempts, times < block.MaxAttempts
		}
	}
	return 0, 0, false
}

// maxResult is the default of max_result.
const maxResult = 256 << 10

// CutResult returns a result for a model. It cuts a text longer than max_result and appends
// a notice. In a list of parts it cuts only the texts, since a cut would break other parts.
func (d *Declared) CutResult(result any) any {
	limit := maxResult
	if d != nil {
		limit = d.MaxResult
	}
	if list, isList := result.([]any); isList && slices.ContainsFunc(list, hasDataURI) {
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

// hasDataURI reports whether a value is a part with a data URI.
func hasDataURI(item any) bool {
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

func (d *Declared) makeCall(ctx context.Context, actor Actor, member string, call Call) (any, error) {
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
		return d.server.callTool(ctx, actor, member, call)
	case d.Exec != nil:
		return actor.Exec(ctx, d.Name, d.Exec, args)
	}
	return actor.Graph(ctx, d.Graph, args)
}

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
