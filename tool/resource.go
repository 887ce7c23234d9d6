// Resources and prompts of servers, as parts of a prompt.

package tool

import (
	"cmp"
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource reads a resource of a server as parts: {text}, {image}, {audio}, {file}. The
// error is an *Error or ctx's.
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

// Prompt fetches a prompt of a server as parts. A text names each speaker other than the
// user.
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

// fetch asks a server for parts.
func (r *Registry) fetch(ctx context.Context, actor Actor, name, what string, ask func(context.Context, *mcp.ClientSession) ([]any, error)) (parts []any, err error) {
	decl := r.decls[name]
	if !decl.IsServer() {
		return nil, &Error{Message: fmt.Sprintf("there is no server %q for the %s; %s", name, what, list("servers are", r.servers()))}
	}
	err = decl.server.use(ctx, actor, "while it was asked for the "+what, func(l *link) (bool, error) {
		parts, err = ask(ctx, l.session)
		switch {
		case err == nil && len(parts) == 0:
			return false, &Error{Message: fmt.Sprintf("server %q: the %s is empty", name, what)}
		case err != nil && ctx.Err() == nil && !lost(err):
			return false, &Error{Message: fmt.Sprintf("server %q: the %s can't be had: %v", name, what, err)}
		}
		return true, err
	})
	return parts, err
}

// Offer is a resource or prompt of a server.
type Offer struct {
	// Kind is resource or prompt, Name its name in prompts: server:uri.
	Kind, Name, Description string
}

// Offers lists the resources and prompts of a server; none for other tools. The error is an
// *Error or ctx's.
func (r *Registry) Offers(ctx context.Context, actor Actor, name string) ([]Offer, error) {
	decl := r.decls[name]
	if !decl.IsServer() {
		return nil, nil
	}
	l, err := decl.server.connected(ctx, actor)
	if err != nil {
		return nil, err
	}
	var out []Offer
	can := l.session.InitializeResult().Capabilities
	if can != nil && can.Resources != nil {
		for res, err := range l.session.Resources(ctx, nil) {
			if err != nil {
				return nil, &Error{Message: fmt.Sprintf("the resources of server %q can't be listed: %v", name, err)}
			}
			out = append(out, Offer{"resource", name + ":" + res.URI, cmp.Or(res.Description, res.Name)})
		}
	}
	if can != nil && can.Prompts != nil {
		for prompt, err := range l.session.Prompts(ctx, nil) {
			if err != nil {
				return nil, &Error{Message: fmt.Sprintf("the prompts of server %q can't be listed: %v", name, err)}
			}
			out = append(out, Offer{"prompt", name + ":" + prompt.Name, prompt.Description})
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
