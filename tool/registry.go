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

// declared is one entry of `tools`. Exactly one of exec, graph and server is set.
type declared struct {
	name        string
	description string
	parameters  map[string]any
	schema      *schema.Schema
	timeout     time.Duration // of a call; 0: none
	maxResult   int           // bytes
	exec        *Program      // without Args
	graph       string
	server      *server
	approve     string // always, a condition, or nothing
	retries     []retry
	flights     chan struct{} // holds a token for each call under way; nil: any number
}

// New makes a registry of declarations as the file has them, by name, templates
// rendered. Nothing is started. The error says which declaration is wrong.
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

// Close ends the servers. No call may be under way.
func (r *Registry) Close() error {
	var all []error
	for _, name := range r.names {
		if server := r.decls[name].server; server != nil {
			all = append(all, server.close())
		}
	}
	return errors.Join(all...)
}

// All is the list that allows every declared tool.
func (r *Registry) All() []string { return r.names }

// Tools lists what a node that is allowed these names can call, in the order of
// the names; a server's own tools come in its order. It starts the servers that
// it has to ask.
func (r *Registry) Tools(ctx context.Context, actor Actor, allowed []string) ([]Tool, error) {
	var out []Tool
	lists := r.listed(ctx, actor, allowed)
	seen := map[string]bool{}
	add := func(t Tool) {
		if !seen[t.Name] {
			seen[t.Name] = true
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
				add(Tool{decl.name + "." + t.Name, t.Description, t.Parameters})
			}
		}
		if !found && member != all {
			return nil, noMember(decl.name, member, tools)
		}
	}
	return out, nil
}

// listing is what a server has, or why that is not known.
type listing struct {
	tools []Tool
	err   error
}

// listed asks the servers of an allow-list for their tools, all at once: each may
// have to be started first.
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

// find returns what a name of an allow-list, or of a call, declares. The member
// is the server's tool, or all.
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

// Declares reports whether a name, as a call has it, is that of a declared tool
// or of a declared server's.
func (r *Registry) Declares(name string) bool {
	_, _, err := r.find(name)
	return err == nil
}

// Own is a tool that the file declares itself, without a server to ask.
func (r *Registry) Own(name string) (Tool, bool) {
	decl := r.decls[name]
	if decl == nil || decl.server != nil {
		return Tool{}, false
	}
	return decl.tool(), true
}

// Server splits a name of an allow-list that is a server's, or that of a tool of
// one; member is "*" for all of its tools.
func (r *Registry) Server(name string) (server, member string, ok bool) {
	decl, member, err := r.find(name)
	if err != nil || decl.server == nil {
		return "", "", false
	}
	return decl.name, member, true
}

// Approve is when a person is asked before a call of that name, as the file says:
// always, a condition over args and state, or "" for never.
func (r *Registry) Approve(name string) string {
	decl, _, err := r.find(name)
	if err != nil {
		return ""
	}
	return decl.approve
}

// Parameters is the JSON Schema of the arguments of a tool that the file declares; nil
// for one of a server, and for one that can't stand inside of another schema.
func (r *Registry) Parameters(name string) map[string]any {
	decl, _, err := r.find(name)
	if err != nil || decl.server != nil || decl.parameters == nil || strings.Contains(eval.Text(decl.parameters), `"$ref"`) {
		return nil
	}
	return decl.parameters
}

// permits says whether an allow-list has a call's name.
func permits(allowed []string, name string) bool {
	server, _, dotted := strings.Cut(name, ".")
	return slices.ContainsFunc(allowed, func(entry string) bool {
		return entry == name || dotted && (entry == server || entry == server+"."+all)
	})
}

// Call makes one call for a node that is allowed these names. The error is an
// *Error, or ctx's own.
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
		return nil, &Error{Message: fmt.Sprintf("arguments of tool %q are no JSON object: %s", call.Name, head(call.Malformed, 200)), NotMade: true}
	}
	if decl.flights != nil {
		select {
		case decl.flights <- struct{}{}:
			defer func() { <-decl.flights }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	result, err := decl.timed(ctx, func(ctx context.Context) (any, error) { return decl.call(ctx, actor, member, call) })
	var own *Error
	if err == nil || errors.As(err, &own) || ctx.Err() != nil {
		return result, err
	}
	return nil, err
}

// timed bounds one call by the tool's own timeout.
func (d *declared) timed(ctx context.Context, call func(context.Context) (any, error)) (any, error) {
	if d.timeout == 0 {
		return call(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	result, err := call(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return nil, &Error{Message: fmt.Sprintf("tool %q was stopped: it took longer than %s", d.name, eval.DurationText(d.timeout)), Kind: "timeout"}
	}
	return result, err
}

// call does the work of a call whose tool is found.
func (d *declared) call(ctx context.Context, actor Actor, member string, call Call) (any, error) {
	if d.server != nil {
		if result, handled, err := actor.Server(ctx); handled {
			return result, err
		}
		return d.server.call(ctx, actor, member, call)
	}
	args, err := checkArgs(call.Name, d.schema, call.Args)
	if err != nil {
		return nil, err
	}
	if d.exec != nil {
		program := *d.exec
		program.Args = args
		return actor.Exec(ctx, &program)
	}
	return actor.Graph(ctx, d.graph, args)
}

// tool is the declaration as a model is offered it.
func (d *declared) tool() Tool {
	return Tool{Name: d.name, Description: d.description, Parameters: d.parameters}
}

// checkArgs makes the arguments fit a schema, or says what is wrong with them.
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

// list names what there is.
func list(intro string, names []string) string {
	if len(names) == 0 {
		return intro + " none"
	}
	return intro + " " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// noMember says that a server has no such tool.
func noMember(server, member string, tools []Tool) error {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return &Error{Message: fmt.Sprintf("server %q has no tool %q; %s", server, member, list("its tools are", names))}
}
