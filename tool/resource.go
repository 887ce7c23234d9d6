// Resources, prompts and results of servers as parts.

package tool

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// FetchParts returns a server's resource, or its prompt with args, as parts. The error is
// an *Error or ctx's.
func (r *Registry) FetchParts(ctx context.Context, warn func(string), kind, name, of string, args map[string]string) (parts []any, err error) {
	what := fmt.Sprintf("%s %q", kind, of)
	decl := r.decls[name]
	if !decl.IsServer() {
		servers := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return !r.decls[name].IsServer() })
		return nil, &Error{Message: fmt.Sprintf("there is no server %q for the %s; %s", name, what, joinNames("servers are", servers))}
	}
	fetch := fetchResource
	if kind == "prompt" {
		fetch = fetchPrompt
	}
	err = decl.server.useLink(ctx, warn, "while it was asked for the "+what, func(l *link) (bool, error) {
		parts, err = fetch(ctx, l.session, of, args)
		switch {
		case err == nil && len(parts) == 0:
			return false, &Error{Message: fmt.Sprintf("server %q: the %s is empty", name, what)}
		case err != nil && ctx.Err() == nil && !isConnectionLost(err):
			return false, &Error{Message: fmt.Sprintf("server %q: the %s can't be had: %v", name, what, err)}
		}
		return true, err
	})
	return parts, err
}

func fetchResource(ctx context.Context, session *mcp.ClientSession, uri string, _ map[string]string) (parts []any, err error) {
	result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	for _, c := range result.Contents {
		parts = append(parts, resourcePart(c))
	}
	return parts, nil
}

// fetchPrompt returns the messages of a prompt. Texts name the speakers other than the user.
func fetchPrompt(ctx context.Context, session *mcp.ClientSession, name string, args map[string]string) (parts []any, err error) {
	result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	speaker := mcp.Role("user")
	for _, m := range result.Messages {
		if m.Role != speaker {
			parts = append(parts, map[string]any{"text": fmt.Sprintf("[%s]", m.Role)})
			speaker = m.Role
		}
		parts = append(parts, convertContents([]mcp.Content{m.Content})...)
	}
	return parts, nil
}

// Offer is a resource or prompt of a server.
type Offer struct {
	// Kind is resource or prompt. Name is how a graph names it: server:uri.
	Kind, Name, Description string
}

// ListOffers lists the resources and prompts of a server. The error is an *Error or ctx's.
func (r *Registry) ListOffers(ctx context.Context, warn func(string), name string) ([]Offer, error) {
	decl := r.decls[name]
	if !decl.IsServer() {
		return nil, nil
	}
	l, err := decl.server.ensureLink(ctx, warn)
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

// readCallResult returns the content of a result: parts with data URIs if there is more
// than text, else structured content or text.
func readCallResult(answer *mcp.CallToolResult) (any, error) {
	parts := convertContents(answer.Content)
	var texts []string
	for _, part := range parts {
		if text, isText := part.(map[string]any)["text"].(string); isText {
			texts = append(texts, text)
		}
	}
	switch {
	case len(texts) < len(parts):
		return parts, nil
	case answer.StructuredContent != nil && !answer.IsError:
		return eval.Canonical(answer.StructuredContent)
	}
	return strings.Join(texts, "\n"), nil
}

func convertContents(contents []mcp.Content) []any {
	out := make([]any, 0, len(contents))
	for _, c := range contents {
		switch c := c.(type) {
		case *mcp.TextContent:
			out = append(out, map[string]any{"text": c.Text})
		case *mcp.ImageContent:
			out = append(out, map[string]any{"image": dataURI(c.MIMEType, c.Data)})
		case *mcp.AudioContent:
			out = append(out, map[string]any{"audio": dataURI(c.MIMEType, c.Data)})
		case *mcp.ResourceLink:
			out = append(out, map[string]any{"text": linkText(c)})
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				out = append(out, resourcePart(c.Resource))
			}
		default:
			text, err := c.MarshalJSON()
			if err != nil {
				text = []byte(err.Error())
			}
			out = append(out, map[string]any{"text": string(text)})
		}
	}
	return out
}

func resourcePart(r *mcp.ResourceContents) map[string]any {
	if r.Blob == nil {
		return map[string]any{"text": r.Text}
	}
	kind, _, _ := strings.Cut(r.MIMEType, "/")
	switch kind {
	case "image", "audio":
		return map[string]any{kind: dataURI(r.MIMEType, r.Blob)}
	}
	out := map[string]any{"file": dataURI(r.MIMEType, r.Blob)}
	if name := path.Base(r.URI); name != "." && name != "/" {
		out["name"] = name
	}
	return out
}

func linkText(l *mcp.ResourceLink) string {
	text := "resource " + l.URI
	if l.Name != "" {
		text += fmt.Sprintf(" (%s)", l.Name)
	}
	if l.Description != "" {
		text += ": " + l.Description
	}
	return text
}

func dataURI(kind string, data []byte) string {
	part := model.Part{Type: cmp.Or(kind, "application/octet-stream"), Data: base64.StdEncoding.EncodeToString(data)}
	return part.DataURI()
}
