// Parts of messages: text, images and documents.

package anthropic

import (
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// takes are the parts that the protocol has, with its limits: 5 MB of base64 for an
// image, 32 MB for a request.
func takes() *wire.Takes {
	return &wire.Takes{
		Images: wire.Photos(), ImageURLs: true, Files: []string{"application/pdf"}, FileURLs: true,
		MostImage: 5e6 / 4 * 3, MostAll: 32e6 / 4 * 3,
	}
}

// mediaBlock is an image or a document.
type mediaBlock struct {
	Type   string `json:"type"`
	Source source `json:"source"`
	Title  string `json:"title,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// partBlocks are parts as blocks. A text without a letter is no block.
func partBlocks(parts []model.Part) []any {
	var out []any
	for i := range parts {
		p := &parts[i]
		if p.Kind == model.TextPart {
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, textBlock{"text", p.Text})
			}
			continue
		}
		block := mediaBlock{Type: "image", Source: source{Type: "base64", MediaType: p.Type, Data: p.Data}}
		if p.Kind == model.FilePart {
			block.Type, block.Title = "document", p.Name
		}
		if text, is := wire.TextOf(p); is {
			block.Source = source{Type: "text", MediaType: "text/plain", Data: text}
		}
		if p.URL != "" {
			block.Source = source{Type: "url", URL: p.URL}
		}
		out = append(out, block)
	}
	return out
}

// resultOf is the result of a tool. One that failed holds texts only.
func resultOf(m *model.Message) toolResult {
	out := toolResult{Type: "tool_result", ToolUseID: wireID(m.ToolCallID), IsError: m.IsError}
	if blocks := partBlocks(m.Parts); blocks != nil && !m.IsError {
		out.Content = blocks
	} else if m.Content != "" {
		out.Content = m.Content
	}
	return out
}
