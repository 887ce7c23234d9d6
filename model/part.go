// Parts: what a message holds besides text.

package model

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// PartKind says what a part is. The zero value is unset.
type PartKind string

// The kinds of parts.
const (
	TextPart  PartKind = "text"
	ImagePart PartKind = "image"
	FilePart  PartKind = "file"
	AudioPart PartKind = "audio"
)

// Part is a piece of a message: a text, or something that is none. What is no text
// has either its bytes or the address where a provider finds it.
type Part struct {
	Kind PartKind `json:"kind"`
	// Text is that of a text.
	Text string `json:"text,omitempty"`
	// URL is where the provider gets it: http or https.
	URL string `json:"url,omitempty"`
	// Data is the bytes in base64, Type their media type, such as image/png.
	Data string `json:"data,omitempty"`
	Type string `json:"type,omitempty"`
	// Name is that of the file; empty: it has none.
	Name string `json:"name,omitempty"`
}

// Size is how many bytes a part has; 0 for one that is at an address.
func (p *Part) Size() int {
	if p.Kind == TextPart {
		return len(p.Text)
	}
	return len(p.Data)/4*3 - (len(p.Data) - len(strings.TrimRight(p.Data, "=")))
}

// String names a part where it can't be shown: [image map.png].
func (p *Part) String() string {
	switch {
	case p.Kind == TextPart:
		return p.Text
	case p.Name != "":
		return fmt.Sprintf("[%s %s]", p.Kind, p.Name)
	case p.URL != "":
		return fmt.Sprintf("[%s %s]", p.Kind, p.URL)
	}
	return fmt.Sprintf("[%s %s]", p.Kind, p.Type)
}

// DataURI is a part with bytes as a data URI.
func (p *Part) DataURI() string { return "data:" + p.Type + ";base64," + p.Data }

// PartsText is what parts say where only text can stand: texts, and the names of
// what is none.
func PartsText(parts []Part) string {
	out := make([]string, len(parts))
	for i := range parts {
		out[i] = parts[i].String()
	}
	return strings.Join(out, "\n")
}

// ReadDataURI reads a data URI into the Data and Type of a part; false: it is none.
// The error says what is wrong with one.
func ReadDataURI(uri string) (part Part, is bool, err error) {
	rest, is := cutScheme(uri)
	if !is {
		return Part{}, false, nil
	}
	head, body, found := strings.Cut(rest, ",")
	if !found {
		return Part{}, true, errors.New("the data URI has no comma before its data")
	}
	head, coded := strings.CutSuffix(head, ";base64")
	kind, _, problem := mime.ParseMediaType(head)
	if problem != nil || head == "" {
		kind = "text/plain" // as RFC 2397 has it
	}
	var data []byte
	if coded {
		if data, err = decode64(body); err != nil {
			return Part{}, true, fmt.Errorf("the data URI is no base64: %w", err)
		}
	} else {
		text, err := url.PathUnescape(body)
		if err != nil {
			return Part{}, true, fmt.Errorf("the data URI can't be read: %w", err)
		}
		data = []byte(text)
	}
	if len(data) == 0 {
		return Part{}, true, errors.New("the data URI is empty")
	}
	return Part{Type: kind, Data: base64.StdEncoding.EncodeToString(data)}, true, nil
}

func cutScheme(uri string) (rest string, is bool) {
	if len(uri) < 5 || !strings.EqualFold(uri[:5], "data:") {
		return "", false
	}
	return uri[5:], true
}

// decode64 reads base64 with or without padding, in either alphabet, with blanks.
func decode64(text string) ([]byte, error) {
	text = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\n', '\r', '\t':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}
