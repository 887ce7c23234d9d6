// Parts of messages: texts, images, files and audio.

package model

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// PartKind is the kind of a part. The zero value is unset.
type PartKind string

// The kinds of parts.
const (
	TextPart  PartKind = "text"
	ImagePart PartKind = "image"
	FilePart  PartKind = "file"
	AudioPart PartKind = "audio"
)

// Part is a piece of a message: a text, or the bytes or address of something else.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text,omitempty"`
	// URL is an http or https address from which the provider fetches the part.
	URL string `json:"url,omitempty"`
	// Data is the bytes in base64, Type their media type, such as image/png.
	Data string `json:"data,omitempty"`
	Type string `json:"type,omitempty"`
	// Name is the name of a file, or "".
	Name string `json:"name,omitempty"`
}

// Size returns the bytes of a part; 0 for an address.
func (p *Part) Size() int {
	if p.Kind == TextPart {
		return len(p.Text)
	}
	return len(p.Data)/4*3 - (len(p.Data) - len(strings.TrimRight(p.Data, "=")))
}

// String returns a text, or the name of another part: [image map.png].
func (p *Part) String() string {
	if p.Kind == TextPart {
		return p.Text
	}
	return fmt.Sprintf("[%s %s]", p.Kind, cmp.Or(p.Name, p.URL, p.Type))
}

// DataURI returns the bytes of a part as a data URI.
func (p *Part) DataURI() string { return "data:" + p.Type + ";base64," + p.Data }

// PartsText returns parts as text, with names in place of others than text.
func PartsText(parts []Part) string {
	out := make([]string, len(parts))
	for i := range parts {
		out[i] = parts[i].String()
	}
	return strings.Join(out, "\n")
}

// ReadDataURI reads a data URI into the Data and Type of a part; is is false for other
// texts.
func ReadDataURI(uri string) (part Part, is bool, err error) {
	if len(uri) < 5 || !strings.EqualFold(uri[:5], "data:") {
		return Part{}, false, nil
	}
	head, body, found := strings.Cut(uri[5:], ",")
	if !found {
		return Part{}, true, errors.New("the data URI has no comma before its data")
	}
	head, coded := strings.CutSuffix(head, ";base64")
	kind, _, problem := mime.ParseMediaType(head)
	if problem != nil || head == "" {
		kind = "text/plain" // the default of RFC 2397
	}
	var data []byte
	if coded {
		data, err = decode64(body)
	} else {
		var text string
		text, err = url.PathUnescape(body)
		data = []byte(text)
	}
	switch {
	case err != nil && coded:
		return Part{}, true, fmt.Errorf("the data URI is not base64: %w", err)
	case err != nil:
		return Part{}, true, fmt.Errorf("the data URI can't be read: %w", err)
	case len(data) == 0:
		return Part{}, true, errors.New("the data URI is empty")
	}
	return Part{Type: kind, Data: base64.StdEncoding.EncodeToString(data)}, true, nil
}

// decode64 decodes base64 with or without padding and blanks, in either alphabet.
func decode64(text string) ([]byte, error) {
	text = strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "", "-", "+", "_", "/").Replace(text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}
