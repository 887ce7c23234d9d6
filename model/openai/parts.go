// Parts of messages: text, images, audio and files.

package openai

import (
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// takes are the parts that the protocol has, with the limits of OpenAI: other
// servers may say no to more of them, but none takes others.
func takes() *wire.Takes {
	return &wire.Takes{
		Images: wire.Photos(), ImageURLs: true, Files: []string{"application/pdf"}, Audio: []string{"audio/mpeg", "audio/wav"},
		MostImage: 20e6, MostAll: 50e6,
	}
}

// fragment is a part of a message on the wire.
type fragment struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
	Audio *audio    `json:"input_audio,omitempty"`
	File  *file     `json:"file,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type audio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// contentOf is a text where there is nothing else, which all servers take, and
// else a list of parts.
func contentOf(pieces []model.Part) any {
	if len(pieces) == 1 && pieces[0].Kind == model.TextPart {
		return pieces[0].Text
	}
	var list []fragment
	for i := range pieces {
		p := &pieces[i]
		switch p.Kind {
		case model.ImagePart:
			address := p.URL
			if address == "" {
				address = p.DataURI()
			}
			list = append(list, fragment{Type: "image_url", Image: &imageURL{address}})
		case model.AudioPart:
			list = append(list, fragment{Type: "input_audio", Audio: &audio{p.Data, map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}[p.Type]}})
		case model.FilePart:
			if text, is := wire.TextOf(p); is {
				list = append(list, fragment{Type: "text", Text: wire.FileText(p, text)})
				continue
			}
			list = append(list, fragment{Type: "file", File: &file{wire.FileName(p), p.DataURI()}})
		default:
			list = append(list, fragment{Type: "text", Text: p.Text})
		}
	}
	var texts []string
	for i := range list {
		if list[i].Type != "text" {
			return list
		}
		texts = append(texts, list[i].Text)
	}
	return strings.Join(texts, "\n")
}

// shownOf are the parts of a tool's result that are no texts: the protocol has them
// in messages of users only, where a text says whose they are.
func shownOf(m *model.Message) []model.Part {
	var out []model.Part
	if m.Role != model.ToolResult {
		return nil
	}
	for i := range m.Parts {
		if m.Parts[i].Kind != model.TextPart {
			if out == nil {
				out = append(out, model.Part{Kind: model.TextPart, Text: fmt.Sprintf("What the tool %s gave (call %s):", m.Name, m.ToolCallID)})
			}
			out = append(out, m.Parts[i])
		}
	}
	return out
}

// userSays adds what the user says to the messages: to the last one, if it is the user's.
func userSays(messages []message, content any) []message {
	last := len(messages) - 1
	if last < 0 || messages[last].Role != "user" {
		return append(messages, message{Role: "user", Content: content})
	}
	before, isText := messages[last].Content.(string)
	after, alsoText := content.(string)
	if isText && alsoText {
		messages[last].Content = before + "\n\n" + after
		return messages
	}
	messages[last].Content = append(partsOf(messages[last].Content), partsOf(content)...)
	return messages
}

func partsOf(content any) []fragment {
	if text, isText := content.(string); isText {
		return []fragment{{Type: "text", Text: text}}
	}
	list, _ := content.([]fragment)
	return list[:len(list):len(list)]
}
