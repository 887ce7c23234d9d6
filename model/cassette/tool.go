// Calls of tools on a cassette, and lists of tools that servers offer.

package cassette

import (
	"encoding/json"
	"fmt"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// ToolCall is a call of a tool.
type ToolCall struct {
	// Caller is the node that calls. Its Turn tells apart the calls of one visit.
	Caller model.Caller
	Name   string
	Args   map[string]any
	// Malformed is the text of arguments that are no object; Args is nil then.
	Malformed string
}

// ToolAnswer is what a tool gave: plain data, or the text of an error.
type ToolAnswer struct {
	Output  any            `json:"output"`
	IsError bool           `json:"is_error,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// Tool plays the answer of a tool, or has do make the call and records its
// answer. An error of do is returned and not recorded. A call that was not
// recorded is an error that says what is different.
func (c *Cassette) Tool(call ToolCall, do func() (ToolAnswer, error)) (ToolAnswer, error) {
	if c == nil {
		return do()
	}
	id, err := call.identity()
	if err != nil {
		return ToolAnswer{}, err
	}
	var out ToolAnswer
	if c.playing {
		err := c.playInto(id, &out)
		return out, err
	}
	if out, err = do(); err != nil {
		return out, err
	}
	return out, c.keep(id, out)
}

func (call ToolCall) identity() (identity, error) {
	text, err := encode(struct {
		Args      map[string]any `json:"args"`
		Malformed string         `json:"malformed,omitempty"`
	}{call.Args, call.Malformed})
	if err != nil {
		return identity{}, fmt.Errorf("the arguments of the tool %q can't be written as JSON: %w", call.Name, err)
	}
	return identity{What: toolCall, Name: call.Name, Caller: call.Caller, Request: text}, nil
}

// Tools plays the list of tools that the names of a node's `tools` stand for,
// or has list make and records it: servers are asked for theirs, and a
// recording must not start them.
func (c *Cassette) Tools(caller model.Caller, names []string, list func() ([]model.Tool, error)) ([]model.Tool, error) {
	if c == nil {
		return list()
	}
	text, err := encode(map[string]any{"names": names})
	if err != nil {
		return nil, err
	}
	id := identity{What: toolList, Caller: caller, Request: text}
	var out struct {
		Tools []model.Tool `json:"tools"`
	}
	if c.playing {
		err := c.playInto(id, &out)
		return out.Tools, err
	}
	if out.Tools, err = list(); err != nil {
		return nil, err
	}
	return out.Tools, c.keep(id, out)
}

// playInto plays an answer as canonical data.
func (c *Cassette) playInto(id identity, into any) error {
	text, err := c.play(id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: an answer can't be read: %w", c.name, err)
	}
	if out, ok := into.(*ToolAnswer); ok {
		return out.canonical(text)
	}
	return nil
}

// canonical reads the data of an answer again, keeping whole numbers whole.
func (a *ToolAnswer) canonical(text []byte) error {
	v, err := decode(text)
	if err == nil {
		v, err = eval.Canonical(v)
	}
	if err != nil {
		return err
	}
	fields, _ := v.(map[string]any)
	a.Output = fields["output"]
	a.Details, _ = fields["details"].(map[string]any)
	return nil
}
