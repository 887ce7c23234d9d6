// Parts of messages, as prompts, messages and results of tools have them: {text},
// {image}, {file}, {audio} (GraphSpec §9).

package node

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
)

// mostPart is how many bytes a file has that becomes a part: no provider takes more.
const mostPart = 50 << 20

// content is what somebody says: a text, and its parts where it is more than that.
type content struct {
	text  string
	parts []model.Part
}

// isNothing reports whether there is nothing to say.
func (c content) isNothing() bool { return c.text == "" && len(c.parts) == 0 }

// with is the content and a text behind it.
func (c content) with(text string) content {
	if len(c.parts) == 0 {
		return content{text: joinLayers([]string{c.text, text})}
	}
	parts := append(slices.Clip(c.parts), model.Part{Kind: model.TextPart, Text: text})
	return content{model.PartsText(parts), parts}
}

func (c content) message(role model.Role) model.Message {
	return model.Message{Role: role, Content: c.text, Parts: c.parts}
}

// isParts reports whether a value is a list of parts, or one. A list of texts alone
// is data like any other unless some are parts.
func isParts(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return eval.IsPart(v)
	case []any:
		some := false
		for _, item := range v {
			_, isText := item.(string)
			fields, _ := item.(map[string]any)
			if !isText && !eval.IsPart(fields) {
				return false
			}
			some = some || !isText
		}
		return some
	}
	return false
}

// contentOf reads what a message says: a text, parts, or data, which is told as JSON,
// and the parts that stand in it behind. dir is the folder that paths are relative to.
func contentOf(dir string, v any) (content, error) {
	if !isParts(v) {
		pieces, media := eval.Pieces(v)
		if !media {
			return content{text: eval.Text(v)}, nil
		}
		v = pieces
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	var parts []model.Part
	for _, item := range list {
		part, err := readPart(dir, item)
		if err != nil {
			return content{}, err
		}
		parts = append(parts, part)
	}
	return saying(parts), nil
}

// saying is what parts say; those that are texts alone are one.
func saying(parts []model.Part) content {
	out := content{text: model.PartsText(parts)}
	if slices.ContainsFunc(parts, func(p model.Part) bool { return p.Kind != model.TextPart }) {
		out.parts = parts
	}
	return out
}

func readPart(dir string, item any) (model.Part, error) {
	if text, isText := item.(string); isText {
		return model.Part{Kind: model.TextPart, Text: text}, nil
	}
	fields, _ := item.(map[string]any)
	for _, key := range eval.PartKinds() {
		if fields[key] == nil {
			continue
		}
		named, ok := fields[key].(string)
		if !ok {
			return model.Part{}, invalidInput("the part %s is %s; a path, an address or a data URI is wanted", key, keys.TypeName(fields[key]))
		}
		if key == "text" {
			return model.Part{Kind: model.TextPart, Text: named}, nil
		}
		part, err := fetchPart(dir, model.PartKind(key), named)
		if err != nil {
			return model.Part{}, invalidInput("the part %s %q: %v", key, head(named, 80), err)
		}
		if name, ok := fields["name"].(string); ok {
			part.Name = name
		}
		return part, nil
	}
	return model.Part{}, invalidInput("a part is %s; allowed are %s", keys.Preview(item), strings.Join(eval.PartKinds(), ", "))
}

// fetchPart is the part that an address, a data URI or a path names.
func fetchPart(dir string, kind model.PartKind, named string) (model.Part, error) {
	if part, is, err := model.ReadDataURI(named); is {
		part.Kind = kind
		if part.Size() > mostPart {
			err = fmt.Errorf("it has %s; a part has at most %s", bounded.Size(int64(part.Size())), bounded.Size(mostPart))
		}
		if err == nil {
			err = settleType(&part, part.Type)
		}
		return part, err
	}
	if address, err := url.Parse(named); err == nil && address.Host != "" && (address.Scheme == "https" || address.Scheme == "http") {
		return model.Part{Kind: kind, URL: named}, nil
	}
	if named == "" {
		return model.Part{}, errors.New("it is empty; an address, a data URI or a path is wanted")
	}
	path := filepath.FromSlash(named)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	data, err := bounded.ReadFile(path, mostPart)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return model.Part{}, fmt.Errorf("there is no such file; a path is relative to the graph's file")
	case err != nil:
		return model.Part{}, err
	case len(data) == 0:
		return model.Part{}, errors.New("the file is empty")
	}
	part := model.Part{Kind: kind, Data: base64.StdEncoding.EncodeToString(data), Name: filepath.Base(path)}
	return part, settleType(&part, "")
}

// settleType finds out the media type of a part: what its bytes are comes before
// what it is said to be, and that before the end of its name.
func settleType(p *model.Part, said string) error {
	begin, _ := base64.StdEncoding.DecodeString(p.Data[:min(len(p.Data), 1024)/4*4])
	found, _, _ := mime.ParseMediaType(sniff(begin))
	named := typeByName(p.Name)
	general := found == "application/octet-stream" || found == "text/plain"
	switch {
	case !general && !(p.Kind == model.FilePart && (said != "" || named != "")):
		p.Type = found
	case said != "":
		p.Type = said
	case p.Kind == model.FilePart && named != "":
		p.Type = named
	default:
		p.Type = found
	}
	p.Type = plainType(p.Type)
	if p.Kind != model.FilePart && !strings.HasPrefix(p.Type, string(p.Kind)+"/") {
		return fmt.Errorf("it is no %s but %s", p.Kind, p.Type)
	}
	return nil
}

// typeByName is the media type of a file by the end of its name, "" for others than
// models are given. The tables of the machine are not asked: they differ, and a
// recording should not.
func typeByName(name string) string {
	office := "application/vnd.openxmlformats-officedocument."
	return map[string]string{
		".csv": "text/csv", ".docx": office + "wordprocessingml.document", ".htm": "text/html", ".html": "text/html",
		".json": "application/json", ".jsonl": "application/x-ndjson", ".md": "text/markdown", ".pdf": "application/pdf",
		".pptx": office + "presentationml.presentation", ".toml": "application/toml", ".tsv": "text/tab-separated-values",
		".txt": "text/plain", ".xlsx": office + "spreadsheetml.sheet", ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml",
	}[strings.ToLower(filepath.Ext(name))]
}

// sniff is the media type of what begins so; a frame of MPEG without a tag is not
// known to the standard library.
func sniff(begin []byte) string {
	if len(begin) > 2 && begin[0] == 0xff && begin[1]&0xe6 == 0xe2 {
		return "audio/mpeg"
	}
	return http.DetectContentType(begin)
}

// plainType is the common name of a media type that has several.
func plainType(kind string) string {
	switch kind {
	case "audio/wave", "audio/x-wav", "audio/vnd.wave":
		return "audio/wav"
	case "audio/mp3", "audio/mpeg3", "audio/x-mpeg":
		return "audio/mpeg"
	case "image/jpg":
		return "image/jpeg"
	}
	return kind
}
