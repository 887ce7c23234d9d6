// The registry: declarations by name, the list of what a node may call.

package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/process"
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
