// Contents of messages: texts, and parts that are images, files or audio.

package node

import (
	"cmp"
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
	procs "github.com/graphrun/graphrun/internal/process"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/runner"
)

// maxPart bounds the bytes of a part: no provider takes more.
const maxPart = 50 << 20

// content is the text of a message, and its parts if it is more than text.
type content struct {
	text  string
	parts []model.Part
}

func (c content) isEmpty() bool { return c.text == "" && len(c.parts) == 0 }

func (c content) withText(text string) content {
	if len(c.parts) == 0 {
		return content{text: joinLayers([]string{c.text, text})}
	}
	parts := append(slices.Clip(c.parts), model.Part{Kind: model.TextPart, Text: text})
	return content{model.FormatParts(parts), parts}
}

func (c content) newMessage(role model.Role) model.Message {
	return model.Message{Role: role, Content: c.text, Parts: c.parts}
}

// buildContent returns the content of parts. If all are texts, it is one text.
func buildContent(parts []model.Part) content {
	out := content{text: model.FormatParts(parts)}
	if slices.ContainsFunc(parts, func(p model.Part) bool { return p.Kind != model.TextPart }) {
		out.parts = parts
	}
	return out
}

// fileFinder returns the absolute path of the file that a part names.
type fileFinder func(task *runner.Task, kind, named string) (string, error)

// findAnyFile finds files relative to the graph's folder, for parts in the graph's file.
func findAnyFile(task *runner.Task, _, named string) (string, error) {
	return procs.JoinPath(task.Dir, named), nil
}

// findOwnFile finds files only in the folders of the graph and the run, for parts in
// values. People, tools and requests must not be able to send any other file to a provider.
func findOwnFile(task *runner.Task, kind, named string) (string, error) {
	if path, within := findWithin(task, named); within {
		return path, nil
	}
	return "", fmt.Errorf("there is no such file in the folder of the graph or of the run, and a value names no others; write {%s: path} in the prompt for one elsewhere", kind)
}

// errNotMedia means that a tool's result names a file that is not sent to the model.
var errNotMedia = errors.New("not media")

// findToolFile finds images and audio in the results of tools. Other paths are data.
func findToolFile(task *runner.Task, kind, named string) (string, error) {
	if path, within := findWithin(task, named); within && kind != "file" {
		return path, nil
	}
	return "", errNotMedia
}

func readValueContent(task *runner.Task, v any) (content, error) {
	return readContent(task, v, findOwnFile)
}

// readResultContent reads a tool's result: images, files and audio as parts, other data as JSON.
func readResultContent(task *runner.Task, v any) (content, error) {
	if _, media := eval.SplitPieces(v); !media {
		return content{text: eval.Text(v)}, nil
	}
	c, err := readContent(task, v, findToolFile)
	if errors.Is(err, errNotMedia) {
		return content{text: eval.Text(v)}, nil
	}
	return c, err
}

// holdsParts reports whether a value is a part, or a list of parts and texts with at least
// one part. A list of texts is data.
func holdsParts(v any) bool {
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	some := false
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if _, isText := item.(string); !isText && !eval.IsPart(fields) {
			return false
		}
		some = some || eval.IsPart(fields)
	}
	return some
}

// readContent returns the content of a text, of parts, or of other data as JSON, with its parts
// between the pieces of text.
func readContent(task *runner.Task, v any, find fileFinder) (content, error) {
	if !holdsParts(v) {
		pieces, media := eval.SplitPieces(v)
		if !media {
			return content{text: eval.Text(v)}, nil
		}
		v = pieces
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	parts := make([]model.Part, len(list))
	for i, item := range list {
		var err error
		if parts[i], err = readPart(task, item, find); err != nil {
			return content{}, err
		}
	}
	return buildContent(parts), nil
}

func readPart(task *runner.Task, item any, find fileFinder) (model.Part, error) {
	if text, isText := item.(string); isText {
		return model.Part{Kind: model.TextPart, Text: text}, nil
	}
	given, _ := item.(map[string]any)
	for _, kind := range eval.PartKinds() {
		named, isText := given[kind].(string)
		switch {
		case given[kind] == nil:
			continue
		case !isText:
			return model.Part{}, invalidInput("the part %s is %s; a path, an address or a data URI is wanted", kind, keys.TypeName(given[kind]))
		case kind == "text":
			return model.Part{Kind: model.TextPart, Text: named}, nil
		}
		part, err := fetchPart(task, model.PartKind(kind), named, find)
		if errors.Is(err, errNotMedia) {
			return model.Part{}, err
		}
		if err != nil {
			return model.Part{}, invalidInput("the part %s %q: %v", kind, eval.Shorten(named, 80), err)
		}
		if name, ok := given["name"].(string); ok {
			part.Name = name
		}
		return part, nil
	}
	return model.Part{}, invalidInput("a part is %s; allowed are %s", keys.Preview(item), strings.Join(eval.PartKinds(), ", "))
}

// fetchPart returns the part of an address, a data URI or a path.
func fetchPart(task *runner.Task, kind model.PartKind, named string, find fileFinder) (model.Part, error) {
	if part, is, err := model.ReadDataURI(named); is {
		part.Kind = kind
		if part.Size() > maxPart {
			err = fmt.Errorf("it has %s; a part has at most %s", bounded.Size(int64(part.Size())), bounded.Size(maxPart))
		}
		if err == nil {
			err = setMediaType(&part, part.Type)
		}
		return part, err
	}
	if address, err := url.Parse(named); err == nil && address.Host != "" && (address.Scheme == "https" || address.Scheme == "http") {
		return model.Part{Kind: kind, URL: named}, nil
	}
	if named == "" {
		return model.Part{}, errors.New("it is empty; an address, a data URI or a path is wanted")
	}
	path, err := find(task, string(kind), named)
	if err != nil {
		return model.Part{}, err
	}
	data, err := bounded.ReadFile(path, maxPart)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return model.Part{}, fmt.Errorf("there is no such file; a path is relative to the graph's file")
	case err != nil:
		return model.Part{}, err
	case len(data) == 0:
		return model.Part{}, errors.New("the file is empty")
	}
	part := model.Part{Kind: kind, Data: base64.StdEncoding.EncodeToString(data), Name: filepath.Base(named)}
	return part, setMediaType(&part, "")
}

// findWithin returns the real path of a file if it is in the folder of the graph or of the run.
func findWithin(task *runner.Task, named string) (path string, within bool) {
	dirs := []string{task.Dir}
	if task.RunDir != nil {
		if dir, err := task.RunDir(); err == nil {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		home, lost := filepath.EvalSymlinks(dir)
		real, missing := filepath.EvalSymlinks(procs.JoinPath(dir, named))
		if rel, far := filepath.Rel(home, real); cmp.Or(err, lost, missing, far) == nil && filepath.IsLocal(rel) {
			return real, true
		}
	}
	return "", false
}

// setMediaType sets the media type of a part by its bytes, its declared type, or the
// extension of its name. For files, the bytes decide last.
func setMediaType(p *model.Part, declared string) error {
	begin, _ := base64.StdEncoding.DecodeString(p.Data[:min(len(p.Data), 1024)/4*4])
	found, _, _ := mime.ParseMediaType(detectMediaType(begin))
	vague := found == "application/octet-stream" || found == "text/plain"
	switch {
	case p.Kind == model.FilePart:
		p.Type = cmp.Or(declared, typeByName[strings.ToLower(filepath.Ext(p.Name))], found)
	case vague:
		p.Type = cmp.Or(declared, found)
	default:
		p.Type = found
	}
	p.Type = cmp.Or(commonTypes[p.Type], p.Type)
	if p.Kind != model.FilePart && !strings.HasPrefix(p.Type, string(p.Kind)+"/") {
		return fmt.Errorf("it is %s, not %s/*", p.Type, p.Kind)
	}
	return nil
}

// typeByName has media types by extension. Tables of the system would make recordings differ.
var typeByName = map[string]string{
	".csv": "text/csv", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".htm": "text/html", ".html": "text/html", ".json": "application/json", ".jsonl": "application/x-ndjson", ".md": "text/markdown",
	".pdf": "application/pdf", ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".toml": "application/toml", ".tsv": "text/tab-separated-values", ".txt": "text/plain",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xml": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml",
}

// commonTypes map aliases of media types to their usual names.
var commonTypes = map[string]string{
	"audio/wave": "audio/wav", "audio/x-wav": "audio/wav", "audio/vnd.wave": "audio/wav",
	"audio/mp3": "audio/mpeg", "audio/mpeg3": "audio/mpeg", "audio/x-mpeg": "audio/mpeg", "image/jpg": "image/jpeg",
}

// detectMediaType detects a media type. Unlike the standard library, it knows MPEG audio without a tag.
func detectMediaType(begin []byte) string {
	if len(begin) > 2 && begin[0] == 0xff && begin[1]&0xe6 == 0xe2 {
		return "audio/mpeg"
	}
	return http.DetectContentType(begin)
}

// convertChatParts converts texts and images of chat APIs ({type: text, text}, {type: image_url,
// image_url: {url}}) to the form of graph files.
func convertChatParts(v any) (any, error) {
	list, isList := v.([]any)
	if !isList {
		return v, nil
	}
	out := slices.Clone(list)
	for i, item := range list {
		given, _ := item.(map[string]any)
		image, _ := given["image_url"].(map[string]any)
		switch kind, typed := given["type"].(string); {
		case !typed:
		case kind == "text":
			out[i] = map[string]any{"text": given["text"]}
		case kind == "image_url":
			out[i] = map[string]any{"image": cmp.Or(image["url"], given["image_url"])}
		default:
			return nil, invalidInput("a part has the type %q; parts are {text}, {image}, {file} and {audio}", kind)
		}
	}
	return out, nil
}
