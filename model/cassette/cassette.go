// Package cassette records what models and tools answer, and plays it back
// without asking them. A recording is a YAML file for people to read, the same
// whatever order parallel branches ran in.
package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/model"
)

// Cassette records or plays. A nil *Cassette does neither: everything is asked
// and nothing kept. It is safe for concurrent use.
type Cassette struct {
	mu      sync.Mutex
	name    string // of the file that is played
	playing bool
	calls   []*call
	taken   int // of them, by Take
	secrets []string
}

// call is one recorded call and its answer, both as JSON.
type call struct {
	id     identity
	answer json.RawMessage
	used   bool // it was played
}

// identity is what a call is known by: another model, caller or request makes
// another call.
type identity struct {
	// What is the kind of call: model, tool or tools (a list of them).
	What string `json:"-"`
	// Name is the model or the tool.
	Name    string          `json:"name,omitempty"`
	Caller  model.Caller    `json:"caller"`
	Request json.RawMessage `json:"request"`
}

// The kinds of calls.
const (
	modelCall = "model"
	toolCall  = "tool"
	toolList  = "tools"
)

// New starts a recording.
func New() *Cassette { return &Cassette{} }

// Playing reports whether answers come from a recording.
func (c *Cassette) Playing() bool { return c != nil && c.playing }

// Hide names a text that no recording may hold, such as the value of a secret:
// *** stands in its place, in calls that are played as in the recording, so a
// secret may be another one when it is played. What is too short to be told from
// other text is not hidden.
func (c *Cassette) Hide(secret string) {
	if c == nil || redact.Refusal(secret) != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.secrets, secret) {
		return
	}
	c.hideForms(redact.Forms(secret))
}

// HideForms is Hide for texts that are all that secrets read as already, such as what
// a run masks.
func (c *Cassette) HideForms(texts []string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hideForms(texts)
}

func (c *Cassette) hideForms(texts []string) {
	for _, text := range texts {
		if redact.Refusal(text) == "" && !slices.Contains(c.secrets, text) {
			c.secrets = append(c.secrets, text)
		}
	}
	slices.SortStableFunc(c.secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
}

// keep adds an answer to the recording.
func (c *Cassette) keep(id identity, answer any) error {
	text, err := encode(answer)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, &call{id: id, answer: text})
	return nil
}

// play finds the answer to a call: of equal calls the first that was not
// played yet.
func (c *Cassette) play(id identity) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := scrubbed(id, c.secrets)
	if err != nil {
		return nil, err
	}
	for _, recorded := range c.calls {
		if !recorded.used && recorded.id.equals(id) {
			recorded.used = true
			return recorded.answer, nil
		}
	}
	return nil, errors.New(c.mismatch(id))
}

func (id identity) equals(other identity) bool {
	return id.What == other.What && id.Name == other.Name && id.Caller == other.Caller && bytes.Equal(id.Request, other.Request)
}

// encode writes JSON with sorted keys and <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return canonical(out.Bytes())
}

// canonical sorts the keys of JSON text.
func canonical(text []byte) (json.RawMessage, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// decode reads JSON text, keeping numbers as they are written.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}
