// Parts of messages that a protocol takes, checked before a call is paid for.

package wire

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/model"
)

// Takes says which parts a protocol takes. A file that is text goes as text wherever
// files are taken.
type Takes struct {
	// Images, Files and Audio are media types. "*" is any, nil none.
	Images, Files, Audio []string
	// ImageURLs and FileURLs say that a part may be an address.
	ImageURLs, FileURLs bool
	// MostImage bounds the bytes of an image, MostAll those of all parts of a request.
	// 0 means no bound.
	MostImage, MostAll int
}

// PhotoTypes returns the types of images that all providers take.
func PhotoTypes() []string { return []string{"image/gif", "image/jpeg", "image/png", "image/webp"} }

// Check returns an *model.Error of kind invalid_input for the first part that the
// protocol does not take.
func (t *Takes) Check(messages []model.Message) error {
	all := 0
	for i := range messages {
		for j := range messages[i].Parts {
			part := &messages[i].Parts[j]
			if part.Kind == model.TextPart {
				continue
			}
			if problem := t.checkPart(part); problem != "" {
				return InvalidRequest("the %s can't be sent to this model: %s", strings.Trim(part.String(), "[]"), problem)
			}
			all += part.Size()
		}
	}
	if t.MostAll > 0 && all > t.MostAll {
		return InvalidRequest("the parts of the conversation have %s; its provider takes %s in a request", formatMegabytes(all), formatMegabytes(t.MostAll))
	}
	return nil
}

func (t *Takes) checkPart(p *model.Part) string {
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
	case p.URL != "", isText:
		return ""
	case types[0] != "*" && !slices.Contains(types, p.Type):
		return fmt.Sprintf("it is %s; taken are %s", p.Type, strings.Join(types, ", "))
	case p.Kind == model.ImagePart && t.MostImage > 0 && p.Size() > t.MostImage:
		return fmt.Sprintf("it has %s; an image may have %s", formatMegabytes(p.Size()), formatMegabytes(t.MostImage))
	}
	return ""
}

func formatMegabytes(n int) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// TextOf returns the text of a text part or of a file that is text.
func TextOf(p *model.Part) (string, bool) {
	if p.Kind == model.TextPart {
		return p.Text, true
	}
	if p.Kind != model.FilePart || p.Data == "" || !IsText(p.Type) {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	return string(data), err == nil && utf8.Valid(data)
}

// TitledText is TextOf with the name of a file before its text.
func TitledText(p *model.Part) (string, bool) {
	text, is := TextOf(p)
	if is && p.Name != "" {
		text = "[file " + p.Name + "]\n" + text
	}
	return text, is
}

// IsText reports whether a media type is text.
func IsText(kind string) bool {
	switch kind {
	case "application/graphql", "application/javascript", "application/json", "application/jsonl", "application/sql", "application/toml", "application/x-ndjson",
		"application/x-sh", "application/x-www-form-urlencoded", "application/x-yaml", "application/xml", "application/yaml":
		return true
	}
	_, suffix, _ := strings.Cut(kind, "+")
	return strings.HasPrefix(kind, "text/") || suffix == "json" || suffix == "xml" || suffix == "yaml"
}

// ImageURL returns the address of an image, or its bytes as a data URI.
func ImageURL(p *model.Part) string {
	if p.URL != "" {
		return p.URL
	}
	return p.DataURI()
}

// FileName returns the name of a file, by default one that follows from its type.
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
