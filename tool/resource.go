// What servers have besides tools: resources and prompts, as parts of what a model is told.

package tool

import (
	"cmp"
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource reads a resource of a server and returns it as parts: {text}, {image},
// {audio}, {file}. The error is an *Error, or ctx's own.
func (r *Registry) Resource(ctx context.Context, actor Actor, name, uri string) ([]any, error) {
	return r.fetch(ctx, actor, name, fmt.Sprintf("resource %q", uri), func(ctx context.Context, session *mcp.ClientSession) ([]any, error) {
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		var parts []any
		for _, c := range result.Contents {
			parts = append(parts, resourcePart(c))
		}
		return parts, nil
	})
}

// Prompt asks a server for one of its prompts and returns what that says as parts.
// Where others than the user speak in it, a text before says who does.
func (r *Registry) Prompt(ctx context.Context, actor Actor, name, prompt string, args map[string]string) ([]any, error) {
	return r.fetch(ctx, actor, name, fmt.Sprintf("prompt %q", prompt), func(ctx context.Context, session *mcp.ClientSession) ([]any, error) {
		result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt, Arguments: args})
		if err != nil {
			return nil, err
		}
		var parts []any
		speaker := mcp.Role("user")
		for _, m := range result.Messages {
			if m.Role != speaker {
				parts = append(parts, map[string]any{"text": fmt.Sprintf("[%s]", m.Role)})
				speaker = m.Role
			}
			parts = append(parts, partsOf([]mcp.Content{m.Content})...)
		}
		return parts, nil
	})
}

// fetch asks a server for something, again when the server has died of it: reading
// does no harm.
func (r *Registry) fetch(ctx context.Context, actor Actor, name, what string, ask func(context.Context, *mcp.ClientSession) ([]any, error)) ([]any, error) {
	decl := r.decls[name]
	if decl == nil || decl.server == nil {
		return nil, &Error{Message: fmt.Sprintf("there is no server %q for the %s; %s", name, what, list("servers are", r.servers()))}
	}
	s := decl.server
	for first := true; ; first = false {
		l, err := s.connected(ctx, actor)
		if err != nil {
			return nil, err
		}
		parts, err := ask(ctx, l.session)
		s.warn(actor)
		switch {
		case err == nil && len(parts) == 0:
			return nil, &Error{Message: fmt.Sprintf("server %q: the %s is empty", name, what)}
		case err == nil:
			return parts, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !lost(err):
			return nil, &Error{Message: fmt.Sprintf("server %q: the %s can't be had: %v", name, what, err)}
		}
		s.drop(ctx, actor, l, err)
		if !first {
			return nil, &Error{Message: fmt.Sprintf("server %q went away while it was asked for the %s: %s", name, what, s.death(ctx))}
		}
	}
}

// Listed is a tool as a list of all shows it. A server that can't be asked stands in the
// place of its tools, with an error.
type Listed struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"` // exec, graph or mcp; resource or prompt of a server
	Description string         `json:"description,omitempty"`
	Approve     string         `json:"approve,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// List lists all tools, and the resources and prompts of servers by the names that parts of
// a prompt use. It reports whether a server could not be asked.
func (r *Registry) List(ctx context.Context, actor Actor) (list []Listed, failed bool) {
	_, _ = r.Tools(ctx, actor, r.names) // starts all servers; what fails is told for each
	list = []Listed{}
	for _, name := range r.names {
		kind := "mcp"
		if decl := r.decls[name]; decl.exec != nil {
			kind = "exec"
		} else if decl.server == nil {
			kind = "graph"
		}
		tools, err := r.Tools(ctx, actor, []string{name})
		for _, t := range tools {
			list = append(list, Listed{Name: t.Name, Kind: kind, Description: t.Description, Approve: r.Approve(t.Name), Parameters: t.Parameters})
		}
		var offers []Listed
		if err == nil {
			offers, err = r.offers(ctx, actor, name)
		}
		if err != nil {
			failed = true
			list = append(list, Listed{Name: name, Kind: kind, Error: err.Error()})
		}
		list = append(list, offers...)
	}
	return list, failed
}

// offers lists what a server offers besides tools, and nothing for tools that are no
// servers. The error is an *Error, or ctx's own.
func (r *Registry) offers(ctx context.Context, actor Actor, name string) ([]Listed, error) {
	decl := r.decls[name]
	if decl == nil || decl.server == nil {
		return nil, nil
	}
	l, err := decl.server.connected(ctx, actor)
	if err != nil {
		return nil, err
	}
	var out []Listed
	can := l.session.InitializeResult().Capabilities
	if can != nil && can.Resources != nil {
		for res, err := range l.session.Resources(ctx, nil) {
			if err != nil {
				return nil, &Error{Message: fmt.Sprintf("the resources of server %q can't be listed: %v", name, err)}
			}
			out = append(out, Listed{Kind: "resource", Name: name + ":" + res.URI, Description: cmp.Or(res.Description, res.Name)})
		}
	}
	if can != nil && can.Prompts != nil {
		for prompt, err := range l.session.Prompts(ctx, nil) {
			if err != nil {
				return nil, &Error{Message: fmt.Sprintf("the prompts of server %q can't be listed: %v", name, err)}
			}
			out = append(out, Listed{Kind: "prompt", Name: name + ":" + prompt.Name, Description: prompt.Description})
		}
	}
	return out, nil
}

func (r *Registry) servers() []string {
	var out []string
	for _, name := range r.names {
		if r.decls[name].server != nil {
			out = append(out, name)
		}
	}
	return out
}
