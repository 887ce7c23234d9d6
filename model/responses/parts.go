// Parts of messages: text, images and files.

package responses

import (
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/wire"
)

// takes are the parts that the protocol has, with the limits of OpenAI.
func takes() *wire.Takes {
	return &wire.Takes{
		Images: wire.Photos(), ImageURLs: true, Files: []string{"*"}, FileURLs: true,
		MostImage: 20e6, MostAll: 50e6,
	}
}

// part is a piece of a message, or of what a function gave.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
}

// contentOf is a text where there is nothing else, and else a list of parts.
func contentOf(m *model.Message) any {
	if len(m.Parts) == 0 {
		return m.Content
	}
	list := make([]part, 0, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		switch text, isText := wire.TextOf(p); {
		case p.Kind == model.TextPart:
			list = append(list, part{Type: "input_text", Text: p.Text})
		case p.Kind == model.ImagePart && p.URL != "":
			list = append(list, part{Type: "input_image", ImageURL: p.URL})
		case p.Kind == model.ImagePart:
			list = append(list, part{Type: "input_image", ImageURL: p.DataURI()})
		case isText:
			list = append(list, part{Type: "input_text", Text: wire.FileText(p, text)})
		case p.URL != "":
			list = append(list, part{Type: "input_file", FileURL: p.URL})
		default:
			list = append(list, part{Type: "input_file", Filename: wire.FileName(p), FileData: p.DataURI()})
		}
	}
	return list
}
