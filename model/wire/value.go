// Values, parts of messages and tool names, as servers send and accept them.

package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Count is a number that servers also write as 12.0, "12" or null.
type Count int

// UnmarshalJSON reads any of these forms. Anything else is 0.
func (c *Count) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if *c = 0; err == nil && n > -(1<<62) && n < 1<<62 {
		*c = Count(n)
	}
	return nil
}

// Text is a string. Some servers send another JSON value instead: then it is that value's JSON.
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*string)(t)) != nil {
		*t = Text(text)
	}
	return nil
}

// NewToolCall returns a tool call with arguments given as JSON text. An empty text means an
// empty object. Malformed keeps a text that is not an object.
func NewToolCall(id, name, args string) model.ToolCall {
	call := model.ToolCall{ID: id, Name: name}
	if text := strings.TrimSpace(args); text == "" || text == "null" {
		call.Args = map[string]any{}
		return call
	}
	if eval.DecodeJSON([]byte(args), &call.Args) != nil || call.Args == nil {
		call.Args, call.Malformed = nil, args
	}
	return call
}

// EncodeArgs returns the arguments of a call as a JSON object, which providers require.
func EncodeArgs(call model.ToolCall) string {
	switch {
	case call.Malformed != "":
		return eval.Text(map[string]any{"malformed_arguments": call.Malformed})
	case call.Args == nil:
		return "{}"
	}
	return eval.Text(call.Args)
}

// kept is the form of model.Response.Thinking. Data is JSON in a string and the keys
// are sorted, so it survives a journal byte for byte and a request with it is
// recognised.
type kept struct {
	Data     string `json:"data"`
	Message  string `json:"of"` // hash of the message
	Provider string `json:"provider"`
}

// EncodeKept returns data that a provider wants back with an answer, for its Thinking, or nil
// if it can't be written as JSON.
func EncodeKept(provider string, of *model.Response, data any) json.RawMessage {
	text, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	out, _ := json.Marshal(kept{string(text), hashMessage(of.Content, of.ToolCalls), provider}) // strings can always be encoded
	return out
}

// DecodeKept reads what EncodeKept returned for the same provider. unchanged reports whether
// the message still has its text and calls.
func DecodeKept(provider string, m *model.Message, into any) (found, unchanged bool) {
	var k kept
	if len(m.Thinking) == 0 || json.Unmarshal(m.Thinking, &k) != nil || k.Provider != provider || json.Unmarshal([]byte(k.Data), into) != nil {
		return false, false
	}
	return true, k.Message == hashMessage(m.Content, m.ToolCalls)
}

// KeptItems returns the items that this provider sent with a message and accepts back. It
// returns nil if there are none or the message has changed since.
func KeptItems[T any](provider string, m *model.Message, accepts func(*T) bool) []any {
	var raw []json.RawMessage
	if _, unchanged := DecodeKept(provider, m, &raw); !unchanged {
		return nil
	}
	var out []any
	for _, text := range raw {
		var item T
		if _ = json.Unmarshal(text, &item); accepts(&item) {
			out = append(out, text)
		}
	}
	return out
}

func hashMessage(content string, calls []model.ToolCall) string {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%q", content)
	for _, call := range calls {
		fmt.Fprintf(sum, "%q", call.ID)
	}
	return strconv.FormatUint(sum.Sum64(), 36)
}

// maxName is the longest name of a tool that all providers allow.
const maxName = 64

// Names translates tool names for one request, because providers refuse the dot in a graph's server.tool.
type Names struct {
	out  map[string]string // by name in the graph
	back map[string]string // by name on the wire
}

// NewNames names the tools of a request and those that its conversation has called. It keeps legal
// names. It names tools in the order of their calls, so later messages don't change a name.
func NewNames(tools []model.Tool, messages []model.Message) *Names {
	n := &Names{out: map[string]string{}, back: map[string]string{}}
	for _, legal := range []bool{true, false} {
		for _, t := range tools {
			if (t.Name == makeLegalName(t.Name)) == legal {
				n.ToWire(t.Name)
			}
		}
	}
	for i := range messages {
		for _, call := range messages[i].ToolCalls {
			n.ToWire(call.Name)
		}
	}
	return n
}

// ToWire returns the name that the provider sees.
func (n *Names) ToWire(name string) string {
	if known, ok := n.out[name]; ok {
		return known
	}
	base := makeLegalName(name)
	wire := base
	_, taken := n.back[wire]
	for i := 2; taken; i++ {
		suffix := "_" + strconv.Itoa(i)
		wire = base[:min(len(base), maxName-len(suffix))] + suffix
		_, taken = n.back[wire]
	}
	n.out[name], n.back[wire] = wire, name
	return wire
}

// ToGraph returns the graph's name of a tool. It returns an unknown name unchanged.
func (n *Names) ToGraph(wire string) string {
	if name, ok := n.back[wire]; ok {
		return name
	}
	return wire
}

// ReplaceIllegal replaces the characters that providers refuse in names and ids.
func ReplaceIllegal(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, text)
}

func makeLegalName(name string) string {
	if name == "" {
		return "_"
	}
	name = ReplaceIllegal(name)
	return name[:min(len(name), maxName)]
}

// PartLimits says which parts a protocol accepts. A text file is sent as text wherever
// files are accepted.
type PartLimits struct {
	// Images, Files and Audio are media types. "*" is any, nil none.
	Images, Files, Audio []string
	// ImageURLs and FileURLs allow addresses of images and files.
	ImageURLs, FileURLs bool
	// MaxImageBytes bounds the bytes of an image, MaxTotalBytes those of all parts of a request.
	// 0 means no bound.
	MaxImageBytes, MaxTotalBytes int
}

// PhotoTypes returns the image types that all providers accept.
func PhotoTypes() []string { return []string{"image/gif", "image/jpeg", "image/png", "image/webp"} }

// Check returns a *model.Error of kind invalid_input for the first part that the protocol
// does not accept.
func (t *PartLimits) Check(messages []model.Message) error {
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
	if t.MaxTotalBytes > 0 && all > t.MaxTotalBytes {
		return InvalidRequest("the parts of the conversation have %s; its provider takes %s in a request", formatMegabytes(all), formatMegabytes(t.MaxTotalBytes))
	}
	return nil
}

func (t *PartLimits) checkPart(p *model.Part) string {
	types, urls := t.Images, t.ImageURLs
	switch p.Kind {
	case model.FilePart:
		types, urls = t.Files, t.FileURLs
	case model.AudioPart:
		types, urls = t.Audio, false
	}
	_, isText := PartText(p)
	switch {
	case len(types) == 0:
		return fmt.Sprintf("its protocol takes no %s", p.Kind)
	case p.URL != "" && !urls:
		return "its protocol takes no addresses of these; give a path or a data URI"
	case p.URL != "", isText:
		return ""
	case types[0] != "*" && !slices.Contains(types, p.Type):
		return fmt.Sprintf("it is %s; taken are %s", p.Type, strings.Join(types, ", "))
	case p.Kind == model.ImagePart && t.MaxImageBytes > 0 && p.Size() > t.MaxImageBytes:
		return fmt.Sprintf("it has %s; an image may have %s", formatMegabytes(p.Size()), formatMegabytes(t.MaxImageBytes))
	}
	return ""
}

func formatMegabytes(n int) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// PartText returns the text of a text part or of a text file.
func PartText(p *model.Part) (string, bool) {
	if p.Kind == model.TextPart {
		return p.Text, true
	}
	if p.Kind != model.FilePart || p.Data == "" || !IsTextType(p.Type) {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	return string(data), err == nil && utf8.Valid(data)
}

// TitledText returns the same text as PartText, with the name of a file before it.
func TitledText(p *model.Part) (string, bool) {
	text, is := PartText(p)
	if is && p.Name != "" {
		text = "[file " + p.Name + "]\n" + text
	}
	return text, is
}

// IsTextType reports whether a media type is text.
func IsTextType(kind string) bool {
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
