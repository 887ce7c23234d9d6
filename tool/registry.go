// The registry: declarations by name, calls, and the interface to what makes them.

// Package tool calls the tools of a graph file: programs, graphs, and those of servers that
// speak the Model Context Protocol. It finds a tool by its name, holds callers to their
// list, checks arguments against the tool's schema before anything runs, and keeps servers
// for as long as the Registry lives. An Actor runs programs and graphs.
package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/model"
)

// Registry holds the tools of one graph for one run. It is safe for concurrent use.
type Registry struct {
	decls map[string]*Declared
	names []string // sorted
}

// New returns a registry of evaluated declarations by name. It starts nothing. The error
// says which declaration is wrong.
func New(decls map[string]any, opts Options) (*Registry, error) {
	opts.Grace = cmp.Or(opts.Grace, 5*time.Second)
	opts.DiscoverTime = cmp.Or(opts.DiscoverTime, 3*time.Second)
	opts.Keeper = cmp.Or(opts.Keeper, process.NewKeeper(""))
	r := &Registry{decls: map[string]*Declared{}, names: slices.Sorted(maps.Keys(decls))}
	for _, name := range r.names {
		decl, err := declare(name, decls[name], &opts)
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
			all = append(all, server.close())
		}
	}
	return errors.Join(all...)
}

// Names returns the names of all declared tools, the list that allows every tool.
func (r *Registry) Names() []string { return r.names }

// Tools lists the tools that names allow, in the order of the names and of the servers.
// It starts the servers of these names.
func (r *Registry) Tools(ctx context.Context, actor Actor, allowed []string) ([]Tool, error) {
	var out []Tool
	lists := r.listServers(ctx, actor, allowed)
	add := func(t Tool) {
		if !slices.ContainsFunc(out, func(other Tool) bool { return other.Name == t.Name }) {
			out = append(out, t)
		}
	}
	for _, entry := range allowed {
		decl, member := r.Find(entry)
		if decl == nil {
			return nil, r.unknown(entry)
		}
		if !decl.IsServer() {
			add(decl.Tool())
			continue
		}
		tools, err := lists[decl.server].tools, lists[decl.server].err
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
			return nil, noMember(decl.Name, member, tools)
		}
	}
	return out, nil
}

// listing holds the tools of a server, or why they are unknown.
type listing struct {
	tools []member
	err   error
}

// listServers lists the tools of all servers of an allow-list at once, since each may have
// to start first.
func (r *Registry) listServers(ctx context.Context, actor Actor, allowed []string) map[*server]*listing {
	out := map[*server]*listing{}
	var group sync.WaitGroup
	for _, entry := range allowed {
		decl, _ := r.Find(entry)
		if !decl.IsServer() || out[decl.server] != nil {
			continue
		}
		l := &listing{}
		out[decl.server] = l
		group.Go(func() { l.tools, l.err = decl.server.list(ctx, actor) })
	}
	group.Wait()
	return out
}

// All as a member stands for every tool of a server.
const All = "*"

// Find returns the declaration for a name of an allow-list or call, nil if there is none.
// member is the server's tool, or All.
func (r *Registry) Find(name string) (decl *Declared, member string) {
	if decl := r.decls[name]; decl != nil {
		return decl, All
	}
	first, member, _ := strings.Cut(name, ".")
	if decl := r.decls[first]; decl.IsServer() {
		return decl, member
	}
	return nil, ""
}

func (r *Registry) unknown(name string) error {
	return &Error{Message: fmt.Sprintf("no tool %q is declared; %s", name, list("declared are", r.names))}
}

// permits reports whether an allow-list has a call's name.
func permits(allowed []string, name string) bool {
	server, _, dotted := strings.Cut(name, ".")
	return slices.ContainsFunc(allowed, func(entry string) bool {
		return entry == name || dotted && (entry == server || entry == server+"."+All)
	})
}

// Call makes one call for a node that may call some names. The error is an *Error or
// ctx's.
func (r *Registry) Call(ctx context.Context, actor Actor, allowed []string, call Call) (any, error) {
	if !permits(allowed, call.Name) {
		return nil, &Error{Message: fmt.Sprintf("tool %q may not be called here; %s", call.Name, list("allowed are", allowed)), NotMade: true}
	}
	decl, member := r.Find(call.Name)
	if decl == nil {
		return nil, r.unknown(call.Name)
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
	result, err := decl.call(bounded, actor, member, call)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, &Error{Message: fmt.Sprintf("tool %q was stopped: it took longer than %s", decl.Name, eval.DurationText(decl.Timeout)), Kind: "timeout"}
	}
	return result, err
}

// list joins names, sorted.
func list(intro string, names []string) string {
	if len(names) == 0 {
		return intro + " none"
	}
	return intro + " " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// noMember returns the error for an unknown tool of a server.
func noMember(server, member string, tools []member) error {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return &Error{Message: fmt.Sprintf("server %q has no tool %q; %s", server, member, list("its tools are", names))}
}

// Tool describes a tool to models; its Parameters are never nil. Calls use its name,
// "add" or "server.add".
type Tool = model.Tool

// Program is a declared program that one call runs. Empty fields have the defaults of
// exec nodes.
type Program struct {
	// Tool is the name of the tool.
	Tool    string
	Command []any          `key:"command"`
	Env     map[string]any `key:"env"`
	Dir     string         `key:"dir"` // relative to the graph file
	Parse   string         `key:"parse"`
	EnvPass any            `key:"env_pass"`
	// Args is the argument object, which the program reads on stdin.
	Args map[string]any
}

// Actor runs programs and graphs for the task that calls a tool. Results are plain data.
type Actor interface {
	Exec(ctx context.Context, program *Program) (any, error)
	Graph(ctx context.Context, file string, args map[string]any) (any, error)
	// StandIn answers a call in place of its tool; handled is false to make the call.
	StandIn(ctx context.Context) (result any, handled bool, err error)
	// Warn warns the person who runs the graph.
	Warn(message string)
	// Ask puts a server's question during a call to a person. If there is no answer yet
	// the call ends with an error, and is made again later. schema describes an object;
	// nil allows any answer. The answer is such an object or Declined.
	Ask(tool, message string, schema map[string]any) (answer any, answered bool)
	// TraceParent returns the W3C traceparent for a server's `_meta`, or "".
	TraceParent() string
	// Progress reports how far a call is; total is 0 if unknown.
	Progress(tool, message string, done, total float64)
}

// Call is one call. Its ID is not read.
type Call = model.ToolCall

// Error is a failed call: the tool failed, is unknown or not allowed, or its arguments
// are wrong. Models read the message too.
type Error struct {
	Message string
	// Kind is the failure kind of a program or graph; "" means tool.
	Kind string
	// NotMade says that the call is not allowed or has wrong arguments: a retry is
	// pointless.
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
	// DiscoverTime is how long a server may take to name its version of the protocol
	// before it counts as an older one; 0 means 3 s.
	DiscoverTime time.Duration
	// Kill ends all graces when it is closed; nil means never.
	Kill <-chan struct{}
	// Stderr returns the log of a server's stderr; nil means none.
	Stderr func(server string) io.Writer
	// Withheld are variables that a server gets only if its env_pass names them.
	Withheld []string
	// Keeper starts servers that are programs; nil means one of their own.
	Keeper *process.Keeper
	// RunDir returns the folder of the run; nil means there is none.
	RunDir func() (string, error)
}
