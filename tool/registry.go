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
	"github.com/graphrun/graphrun/internal/schema"
)

// Registry holds the tools of one graph for one run. It is safe for concurrent use.
type Registry struct {
	decls map[string]*declared
	names []string // sorted
}

// New returns a registry of evaluated declarations by name. It starts nothing. The error
// says which declaration is wrong.
func New(decls map[string]any, opts Options) (*Registry, error) {
	opts.Grace = cmp.Or(opts.Grace, 5*time.Second)
	opts.DiscoverTime = cmp.Or(opts.DiscoverTime, 3*time.Second)
	opts.Version = cmp.Or(opts.Version, "dev")
	opts.Keeper = cmp.Or(opts.Keeper, process.NewKeeper(""))
	r := &Registry{decls: map[string]*declared{}, names: slices.Sorted(maps.Keys(decls))}
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

// All returns the list that allows every declared tool.
func (r *Registry) All() []string { return r.names }

// Tools lists the tools that names allow, in the order of the names and of the servers.
// It starts the servers of these names.
func (r *Registry) Tools(ctx context.Context, actor Actor, allowed []string) ([]Tool, error) {
	var out []Tool
	lists := r.listed(ctx, actor, allowed)
	add := func(t Tool) {
		if !slices.ContainsFunc(out, func(other Tool) bool { return other.Name == t.Name }) {
			out = append(out, t)
		}
	}
	for _, entry := range allowed {
		decl, member, err := r.find(entry)
		if err != nil {
			return nil, err
		}
		if decl.server == nil {
			add(decl.tool())
			continue
		}
		tools, err := lists[decl.server].tools, lists[decl.server].err
		if err != nil {
			return nil, err
		}
		found := false
		for _, t := range tools {
			if member == all || member == t.Name {
				found = true
				add(Tool{Name: decl.name + "." + t.Name, Description: t.Description, Parameters: t.Parameters})
			}
		}
		if !found && member != all {
			return nil, noMember(decl.name, member, tools)
		}
	}
	return out, nil
}

// listing holds the tools of a server, or why they are unknown.
type listing struct {
	tools []Tool
	err   error
}

// listed lists the tools of all servers of an allow-list at once, since each may have to
// start first.
func (r *Registry) listed(ctx context.Context, actor Actor, allowed []string) map[*server]*listing {
	out := map[*server]*listing{}
	var group sync.WaitGroup
	for _, entry := range allowed {
		decl, _, err := r.find(entry)
		if err != nil || decl.server == nil || out[decl.server] != nil {
			continue
		}
		l := &listing{}
		out[decl.server] = l
		group.Go(func() { l.tools, l.err = decl.server.list(ctx, actor) })
	}
	group.Wait()
	return out
}

// all stands for every tool of a server.
const all = "*"

// find returns the declaration for a name of an allow-list or call. member is the
// server's tool, or all.
func (r *Registry) find(name string) (decl *declared, member string, err error) {
	if decl := r.decls[name]; decl != nil {
		return decl, all, nil
	}
	first, member, dotted := strings.Cut(name, ".")
	if decl := r.decls[first]; dotted && decl != nil && decl.server != nil {
		return decl, member, nil
	}
	return nil, "", &Error{Message: fmt.Sprintf("no tool %q is declared; %s", name, list("declared are", r.names))}
}

// Declares reports whether a name of a call belongs to a declared tool or server.
func (r *Registry) Declares(name string) bool {
	_, _, err := r.find(name)
	return err == nil
}

// Own returns a tool that the file declares without a server.
func (r *Registry) Own(name string) (Tool, bool) {
	decl := r.decls[name]
	if decl == nil || decl.server != nil {
		return Tool{}, false
	}
	return decl.tool(), true
}

// Server splits a name of an allow-list that belongs to a server; member is "*" for all
// of its tools.
func (r *Registry) Server(name string) (server, member string, ok bool) {
	decl, member, err := r.find(name)
	if err != nil || decl.server == nil {
		return "", "", false
	}
	return decl.name, member, true
}

// Approve returns when a call needs a person's approval: always, a condition over args
// and state, or "" for never.
func (r *Registry) Approve(name string) string {
	decl, _, err := r.find(name)
	if err != nil {
		return ""
	}
	return decl.Approve
}

// Parameters returns the JSON Schema of the arguments of a tool of the file. It returns nil
// for a server's tool, and for a schema with references, which can't be part of another.
func (r *Registry) Parameters(name string) map[string]any {
	decl, _, err := r.find(name)
	if err != nil || decl.server != nil || decl.Parameters == nil || strings.Contains(eval.Text(decl.Parameters), `"$ref"`) {
		return nil
	}
	return decl.Parameters
}

// permits reports whether an allow-list has a call's name.
func permits(allowed []string, name string) bool {
	server, _, dotted := strings.Cut(name, ".")
	return slices.ContainsFunc(allowed, func(entry string) bool {
		return entry == name || dotted && (entry == server || entry == server+"."+all)
	})
}

// Call makes one call for a node that may call some names. The error is an *Error or
// ctx's.
func (r *Registry) Call(ctx context.Context, actor Actor, allowed []string, call Call) (any, error) {
	if !permits(allowed, call.Name) {
		return nil, &Error{Message: fmt.Sprintf("tool %q may not be called here; %s", call.Name, list("allowed are", allowed)), NotMade: true}
	}
	decl, member, err := r.find(call.Name)
	if err != nil {
		return nil, err
	}
	if decl.server != nil && member == all {
		return nil, &Error{Message: fmt.Sprintf("%q is a server; call one of its tools, as in %s.tool", decl.name, decl.name), NotMade: true}
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
		return nil, &Error{Message: fmt.Sprintf("tool %q was stopped: it took longer than %s", decl.name, eval.DurationText(decl.Timeout)), Kind: "timeout"}
	}
	return result, err
}

// call passes a call on to the server, program or graph.
func (d *declared) call(ctx context.Context, actor Actor, member string, call Call) (any, error) {
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

// tool returns the description for models.
func (d *declared) tool() Tool {
	return Tool{Name: d.name, Description: d.Description, Parameters: d.Parameters}
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

// list joins names, sorted.
func list(intro string, names []string) string {
	if len(names) == 0 {
		return intro + " none"
	}
	return intro + " " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// noMember returns the error for an unknown tool of a server.
func noMember(server, member string, tools []Tool) error {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return &Error{Message: fmt.Sprintf("server %q has no tool %q; %s", server, member, list("its tools are", names))}
}
