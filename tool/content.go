// Results of servers: structured data, text, or parts.

package tool

import (
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
)

// content returns an answer as structured content, as text, or as a list of parts with
// data URIs if there are others than text: their texts repeat the structured content.
func content(answer *mcp.CallToolResult) (any, error) {
	parts := partsOf(answer.Content)
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

// partsOf converts contents of the protocol.
func partsOf(contents []mcp.Content) []any {
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

// resourcePart converts a resource.
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
	if kind == "" {
		kind = "application/octet-stream"
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}
