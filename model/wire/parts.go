// Parts of messages: which of them a protocol takes, checked before a call is paid for.

package wire

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/model"
)

// Takes says which parts a protocol takes. Types of a kind that are nil are none;
// what is a text goes as a text wherever files are taken.
type Takes struct {
	// Images, Files and Audio are media types; "*" is any.
	Images, Files, Audio []string
	// ImageURLs and FileURLs say that a part may be an address.
	ImageURLs, FileURLs bool
	// MostImage is how many bytes an image may have, MostAll all parts of a request
	// together; 0: any number.
	MostImage, MostAll int
}

// Photos are the types of images that all providers take.
func Photos() []string { return []string{"image/gif", "image/jpeg", "image/png", "image/webp"} }

// Check says what of a conversation the protocol does not take. The error is a
// *model.Error of the kind invalid_input.
func (t *Takes) Check(messages []model.Message) error {
	all := 0
	for i := range messages {
		for j := range messages[i].Parts {
			part := &messages[i].Parts[j]
			if part.Kind == model.TextPart {
				continue
			}
			if problem := t.refusal(part); problem != "" {
				return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf("%s can't be sent to this model: %s", partName(part), problem)}
			}
			all += part.Size()
		}
	}
	if t.MostAll > 0 && all > t.MostAll {
		return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf("the parts of the conversation have %s; its provider takes %s in a request", megabytes(all), megabytes(t.MostAll))}
	}
	return nil
}

func partName(p *model.Part) string {
	switch {
	case p.Name != "":
		return fmt.Sprintf("the %s %q", p.Kind, p.Name)
	case p.URL != "":
		return fmt.Sprintf("the %s %q", p.Kind, p.URL)
	}
	return "the " + string(p.Kind)
}

func (t *Takes) refusal(p *model.Part) string {
	types, urls := t.Images, t.ImageURLs
	switch p.Kind {
	case model.FilePart:
		types, urls = t.Files, t.FileURLs
	case model.AudioPart:
		types, urls = t.Audio, false
	}
	_, isText := TextOf(p)
	switch {
	case len(types) == 0:
		return fmt.Sprintf("its protocol takes no %s", p.Kind)
	case p.URL != "" && !urls:
		return "its protocol takes no addresses of these; give a path or a data URI"
	case p.URL != "", p.Kind == model.FilePart && isText:
		return ""
	case types[0] != "*" && !slices.Contains(types, p.Type):
		return fmt.Sprintf("it is %s; taken are %s", p.Type, strings.Join(types, ", "))
	case p.Kind == model.ImagePart && t.MostImage > 0 && p.Size() > t.MostImage:
		return fmt.Sprintf("it has %s; an image may have %s", megabytes(p.Size()), megabytes(t.MostImage))
	}
	return ""
}

func megabytes(n int) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// TextOf is what a file says that is a text; false: it is none.
func TextOf(p *model.Part) (string, bool) {
	if p.Kind != model.FilePart || p.Data == "" || !isText(p.Type) {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	return string(data), err == nil && utf8.Valid(data)
}

func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || slices.Contains([]string{
		"application/json", "application/x-ndjson", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/sql", "application/x-sh",
	}, kind)
}

// FileText is a file that is a text as one: its name stands before it.
func FileText(p *model.Part, text string) string {
	if p.Name == "" {
		return text
	}
	return "[file " + p.Name + "]\n" + text
}

// FileName is the name of a file; those that have none get one of their type.
func FileName(p *model.Part) string {
	if p.Name != "" {
		return p.Name
	}
	_, kind, _ := strings.Cut(p.Type, "/")
	if kind == "" || strings.ContainsAny(kind, ".+-") {
		return "file"
	}
	return "file." + kind
}
