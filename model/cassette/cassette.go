// Package cassette records the answers of models and tools in files, and plays them back
// without calling anyone.
package cassette

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/model"
)

// Cassette records or plays. A nil *Cassette does neither. It is safe for concurrent
// use.
type Cassette struct {
	mu      sync.Mutex
	name    string // of the file that is played
	playing bool
	calls   []*call
	taken   int // calls that TakeNewCalls returned
	secrets []string
}

// call is one call and its answer, as plain data. Everything but the answer identifies it.
type call struct {
	// Kind is model, tool, or tools for a list of tools. Name is the model's or tool's name.
	Kind    string       `json:"kind"`
	Name    string       `json:"name,omitempty"`
	Caller  model.Caller `json:"caller"`
	Request any          `json:"request"`
	Answer  any          `json:"answer"`
	used    bool         // it was played
}

// The kinds of calls.
const (
	modelCall = "model"
	toolCall  = "tool"
	toolList  = "tools"
)

// New starts a recording.
func New() *Cassette { return &Cassette{} }

// IsPlaying reports whether answers come from a recording.
func (c *Cassette) IsPlaying() bool { return c != nil && c.playing }

// Name returns the name of the file that is played.
func (c *Cassette) Name() string { return c.name }

// HideSecret masks a secret in the recording, and in calls before they are looked up in
// one, so a replay may use another secret. It ignores secrets too short to tell from
// other text.
func (c *Cassette) HideSecret(secret string) {
	if redact.Refusal(secret) == "" {
		c.HideSecretForms(redact.Forms(secret))
	}
}

// HideSecretForms masks texts that are forms of secrets already.
func (c *Cassette) HideSecretForms(texts []string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		if redact.Refusal(text) == "" && !slices.Contains(c.secrets, text) {
			c.secrets = append(c.secrets, text)
		}
	}
	slices.SortStableFunc(c.secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
}

// playOrRecord plays the answer to a call into a value or, while recording, makes the call
// and records the value. An error of do is returned and not recorded.
func (c *Cassette) playOrRecord(made call, request, into any, do func() error) (err error) {
	if c == nil {
		return do()
	}
	if made.Request, err = eval.Canonical(request); err != nil {
		return fmt.Errorf("the request to %s can't be written as JSON: %w", describeCall(&made), err)
	}
	if c.playing {
		return c.play(&made, into)
	}
	if err := do(); err != nil {
		return err
	}
	if made.Answer, err = eval.Canonical(into); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, &made)
	return nil
}

// play reads the first equal call that was not played yet.
func (c *Cassette) play(made *call, into any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	made = made.maskSecrets(c.secrets)
	i := slices.IndexFunc(c.calls, func(recorded *call) bool { return !recorded.used && recorded.equals(made) })
	if i < 0 {
		return errors.New(c.explainMismatch(made))
	}
	c.calls[i].used = true
	if err := eval.DecodeJSON([]byte(eval.Text(c.calls[i].Answer)), into); err != nil {
		return fmt.Errorf("%s: an answer can't be read: %w", c.name, err)
	}
	return nil
}

func (c *call) equals(other *call) bool {
	return c.Kind == other.Kind && c.Name == other.Name && c.Caller == other.Caller && reflect.DeepEqual(c.Request, other.Request)
}

func compareCalls(a, b *call) int {
	order := cmp.Or(
		cmp.Compare(a.Caller.Node, b.Caller.Node), cmp.Compare(a.Caller.Place, b.Caller.Place), cmp.Compare(a.Caller.Visit, b.Caller.Visit),
		cmp.Compare(a.Caller.Role, b.Caller.Role), cmp.Compare(a.Caller.Turn, b.Caller.Turn), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
	)
	if order == 0 {
		order = cmp.Compare(eval.Text(a.Request), eval.Text(b.Request))
	}
	return order
}

// maskSecrets returns a call without secrets: known texts and, in its request, values under
// keys that name secrets. A flow may depend on such values in an answer.
func (c *call) maskSecrets(secrets []string) *call {
	own := *c
	own.Request, own.Answer = maskValue(c.Request, secrets, true), maskValue(c.Answer, secrets, false)
	return &own
}

func maskValue(v any, secrets []string, byKey bool) any {
	switch v := v.(type) {
	case string:
		for _, secret := range secrets {
			v = strings.ReplaceAll(v, secret, redact.Mask)
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = maskValue(v[i], secrets, byKey)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if text, ok := value.(string); ok && byKey && text != "" && namesSecret(key) {
				value = redact.Mask
			}
			for _, secret := range secrets {
				if !redact.IsWord(secret) { // a word may be the key itself
					key = strings.ReplaceAll(key, secret, redact.Mask)
				}
			}
			out[key] = maskValue(value, secrets, byKey)
		}
		return out
	}
	return v
}

func namesSecret(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	return slices.Contains([]string{
		"access_token", "api_key", "apikey", "authorization", "client_secret", "cookie", "passwd", "password",
		"proxy_authorization", "refresh_token", "secret", "set_cookie", "x_api_key",
	}, key)
}

// NewClient returns a model, named provider/name, whose answers are recorded or played. open
// connects it before the first call, never during a replay. A call that was not recorded is an
// error of kind llm that shows the difference. Cancelled calls are not recorded.
func (c *Cassette) NewClient(name string, open func() (model.Client, error)) model.Client {
	return &client{cassette: c, name: name, open: sync.OnceValues(open)}
}

type client struct {
	cassette *Cassette
	name     string
	open     func() (model.Client, error)
}

// modelAnswer is the answer of a model. One of its fields is set.
type modelAnswer struct {
	Response *model.Response `json:"response,omitempty"`
	Error    *model.Error    `json:"error,omitempty"`
}

// Chat plays or makes a call.
func (c *client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	var inner model.Client
	var err error
	if !c.cassette.IsPlaying() {
		if inner, err = c.open(); err != nil {
			return nil, err
		}
		if c.cassette == nil {
			return inner.Chat(ctx, req, onText)
		}
	} else if err := ctx.Err(); err != nil {
		return nil, err
	}
	request := struct {
		model.Request
		Caller *struct{} `json:"caller,omitempty"` // the recording has it beside the request
	}{Request: *req}
	var a modelAnswer
	err = c.cassette.playOrRecord(call{Kind: modelCall, Name: c.name, Caller: req.Caller}, request, &a, func() (err error) {
		a.Response, err = inner.Chat(ctx, req, onText)
		if errors.As(err, &a.Error) {
			return nil
		}
		return err
	})
	switch {
	case err != nil && inner != nil:
		return nil, err
	case err != nil:
		return nil, &model.Error{Kind: "llm", Message: err.Error()}
	case a.Error != nil:
		return nil, a.Error
	case a.Response == nil:
		return nil, &model.Error{Kind: "llm", Message: c.cassette.name + ": an answer holds neither a response nor an error"}
	case inner != nil:
		return a.Response, nil
	}
	model.StreamWords(a.Response.Content, onText)
	return a.Response, nil
}

// ToolCall is a call of a tool.
type ToolCall struct {
	// Caller is the node that calls. Its Turn numbers the calls of one visit.
	Caller model.Caller   `json:"-"`
	Name   string         `json:"-"`
	Args   map[string]any `json:"args"`
	// Malformed is the text of arguments that are not an object. Args is nil then.
	Malformed string `json:"malformed,omitempty"`
}

// CallTool plays the recorded answer to a tool call, or calls do and records its answer. An
// error of do is returned and not recorded.
func (c *Cassette) CallTool(made ToolCall, do func() (model.ToolAnswer, error)) (out model.ToolAnswer, err error) {
	err = c.playOrRecord(call{Kind: toolCall, Name: made.Name, Caller: made.Caller}, made, &out, func() (err error) {
		out, err = do()
		return err
	})
	return out, err
}

// ListTools plays the list of tools that the names in a node's `tools` select, or calls
// list and records it: a replay must not start the servers that offer them.
func (c *Cassette) ListTools(caller model.Caller, names []string, list func() ([]model.Tool, error)) ([]model.Tool, error) {
	var out struct {
		Tools []model.Tool `json:"tools"`
	}
	err := c.playOrRecord(call{Kind: toolList, Caller: caller}, map[string]any{"names": names}, &out, func() (err error) {
		out.Tools, err = list()
		return err
	})
	return out.Tools, err
}

func (c *Cassette) explainMismatch(made *call) string {
	who := fmt.Sprintf("%s: the call of %s by node %q, visit %d", c.name, describeCall(made), cmp.Or(made.Caller.Place, made.Caller.Node), made.Caller.Visit)
	if made.Caller.Role != "" {
		who += fmt.Sprintf(", role %q, turn %d", made.Caller.Role, made.Caller.Turn)
	}
	nearest, best := (*call)(nil), 0
	for _, recorded := range c.calls {
		if n := rankCall(recorded, made); n > best {
			nearest, best = recorded, n
		}
	}
	switch {
	case nearest == nil:
		who += " was not recorded, nor any other of this node"
	case nearest.equals(made):
		who += " was recorded, but less often than it is made"
	default:
		who += " is not the one recorded: " + strings.Join(listDifferences(nearest, made), "; ")
	}
	return who + "; record again"
}

func describeCall(c *call) string {
	switch c.Kind {
	case modelCall:
		return c.Name
	case toolCall:
		return fmt.Sprintf("the tool %q", c.Name)
	}
	return "the list of tools"
}

// rankCall returns how similar a recorded call is to one that was made, 0 for another node.
func rankCall(r, made *call) int {
	if r.Kind != made.Kind || r.Caller.Node != made.Caller.Node || r.Caller.Role != made.Caller.Role {
		return 0
	}
	score := 1
	for bit, same := range []bool{!r.used, r.Name == made.Name, r.Caller.Place == made.Caller.Place, r.Caller.Turn == made.Caller.Turn, r.Caller.Visit == made.Caller.Visit, r.equals(made)} {
		if same {
			score += 2 << bit
		}
	}
	return score
}

// listDifferences lists paths whose values differ, those of the caller first.
func listDifferences(recorded, made *call) []string {
	fields := func(c *call) any {
		return map[string]any{c.Kind: c.Name, "place": c.Caller.Place, "visit": c.Caller.Visit, "turn": c.Caller.Turn}
	}
	out := append(compareLeaves(fields(recorded), fields(made)), compareLeaves(recorded.Request, made.Request)...)
	const most = 4
	if more := len(out) - most; more > 0 {
		out = append(out[:most], fmt.Sprintf("and %d more", more))
	}
	return out
}

func compareLeaves(recorded, made any) (out []string) {
	was, is := map[string]any{}, map[string]any{}
	addLeaves(was, "", recorded)
	addLeaves(is, "", made)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, had := was[path]
		after, has := is[path]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("%s is new: %s", path, quoteDifference(after, nil)))
		case !has:
			out = append(out, path+" is gone")
		case before != after:
			out = append(out, fmt.Sprintf("%s was %s, is %s", path, quoteDifference(before, after), quoteDifference(after, before)))
		}
	}
	return out
}

// addLeaves adds the scalars of plain data, and empty lists and objects as texts, by
// their paths.
func addLeaves(out map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			addLeaves(out, strings.TrimPrefix(path+"."+key, "."), value)
		}
		if len(v) == 0 {
			out[path] = "{}"
		}
	case []any:
		for i, value := range v {
			addLeaves(out, fmt.Sprintf("%s[%d]", path, i), value)
		}
		if len(v) == 0 {
			out[path] = "[]"
		}
	default:
		out[path] = v
	}
}

// quoteDifference returns a value for a message. It shortens a long text to where it begins
// to differ from other.
func quoteDifference(v, other any) string {
	const most, before = 60, 15
	text, isText := v.(string)
	if !isText {
		return eval.ResultText(v)
	}
	otherText, _ := other.(string)
	same := 0
	for same < min(len(text), len(otherText)) && text[same] == otherText[same] {
		same++
	}
	if len(text) > most && same > before {
		text = "…" + strings.ToValidUTF8(text[same-before:], "")
	}
	return fmt.Sprintf("%q", eval.Shorten(text, most))
}

// header is the first line of a recording.
const header = `{"recording":"v1"}`

// Open reads a recording and starts to play it.
func Open(path string) (*Cassette, error) {
	src, err := bounded.ReadFile(path, bounded.Recording)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// Parse starts to play a recording, which may have been edited. Messages call it by its
// name and name the line.
func Parse(name string, src []byte) (*Cassette, error) {
	first, rest, _ := bytes.Cut(src, []byte("\n"))
	if string(bytes.TrimSpace(first)) != header {
		return nil, fmt.Errorf("%s:1:1: not a recording: its first line must be %s", name, header)
	}
	out, number := &Cassette{name: name, playing: true}, 1
	for line := range bytes.Lines(rest) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := out.readCall(line); err != nil {
			return nil, fmt.Errorf("%s:%d:1: %w", name, number, err)
		}
	}
	return out, nil
}

func (c *Cassette) readCall(text []byte) error {
	var out call
	err := eval.DecodeJSON(text, &out)
	switch {
	case err != nil:
		return fmt.Errorf("this call can't be read: %w", err)
	case !slices.Contains([]string{modelCall, toolCall, toolList}, out.Kind):
		return fmt.Errorf("kind is %q, not model, tool or tools", out.Kind)
	case out.Request == nil || out.Answer == nil:
		return errors.New("it lacks a request or an answer")
	}
	c.calls = append(c.calls, out.maskSecrets(nil))
	return nil
}

// CheckWritable returns an error if a recording can't be written to a file, so that a run
// can fail before it pays for calls. It does not change the file.
func CheckWritable(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	file, err := createTempFile(path)
	if err != nil {
		return err
	}
	_ = file.Close()
	return os.Remove(file.Name())
}

func createTempFile(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// Save writes the recording to a file that only its owner can read: prompts and answers
// may be confidential. It replaces the file as a whole or, on an error, not at all.
func (c *Cassette) Save(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("the recording can't be written: %w", err)
		}
	}()
	text, err := c.Encode()
	if err != nil {
		return err
	}
	file, err := createTempFile(path)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // after the rename it is gone
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Encode returns the recording as text without secrets. Calls are sorted, so the text
// does not depend on which parallel branch was quicker. Equal calls keep their order.
func (c *Cassette) Encode() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return encodeCalls(c.calls, c.secrets)
}

func encodeCalls(calls []*call, secrets []string) ([]byte, error) {
	clean := make([]*call, len(calls))
	for i, one := range calls {
		clean[i] = one.maskSecrets(secrets)
	}
	slices.SortStableFunc(clean, compareCalls)
	out := []byte(header + "\n")
	for _, one := range clean {
		var err error
		if out, err = eval.AppendJSON(out, one); err != nil {
			return nil, err
		}
		out = append(out, '\n')
	}
	return out, nil
}

// TakeNewCalls returns the calls recorded since it was last called, encoded for AddCalls,
// or nil if there are none.
func (c *Cassette) TakeNewCalls() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == len(c.calls) {
		return nil, nil
	}
	part := c.calls[c.taken:]
	c.taken = len(c.calls)
	return encodeCalls(part, c.secrets)
}

// AddCalls adds calls that TakeNewCalls returned to a recording.
func (c *Cassette) AddCalls(taken []byte) error {
	part, err := Parse("a part of the recording", taken)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, part.calls...)
	return nil
}

// CopyPlayed returns a copy of the recording in which only the calls with the given numbers
// count as played.
func (c *Cassette) CopyPlayed(played []int) *Cassette {
	out := &Cassette{name: c.name, playing: true}
	for i, recorded := range c.calls {
		own := *recorded
		own.used = slices.Contains(played, i)
		out.calls = append(out.calls, &own)
	}
	return out
}

// ListPlayed returns the numbers of the calls that were played.
func (c *Cassette) ListPlayed() (out []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, recorded := range c.calls {
		if recorded.used {
			out = append(out, i)
		}
	}
	return out
}
