// Values in the forms that servers send and want back.

package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Count is a number that servers also write as 12.0, "12" or null.
type Count int

// UnmarshalJSON reads any of these forms; anything else is 0.
func (c *Count) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if *c = 0; err == nil && n > -(1<<62) && n < 1<<62 {
		*c = Count(n)
	}
	return nil
}

// Text is a string that some servers send as another JSON value, whose text it is then.
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*string)(t)) != nil {
		*t = Text(text)
	}
	return nil
}

// NewCall returns a tool call with arguments given as JSON text; no text is an empty
// object. Text that is not an object is kept as malformed.
func NewCall(id, name, args string) model.ToolCall {
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

// Args returns the arguments of a call as a JSON object, which providers require.
func Args(call model.ToolCall) (json.RawMessage, error) {
	args := call.Args
	if call.Malformed != "" {
		args = map[string]any{"malformed_arguments": call.Malformed}
	}
	if args == nil {
		args = map[string]any{}
	}
	out, err := eval.AppendJSON(nil, args)
	if err != nil {
		return nil, &model.Error{Kind: "invalid_input", Message: fmt.Sprintf("the arguments of the tool call %q can't be written as JSON: %v", call.ID, err)}
	}
	return out, nil
}

// kept is the form of model.Response.Thinking. Data is JSON in a string and the keys
// are sorted, so it survives a journal byte for byte and a request with it is
// recognised.
type kept struct {
	Data     string `json:"data"`
	Provider string `json:"provider"`
}

// Keep returns data that a provider wants back, for model.Response.Thinking; nil if it
// can't be written as JSON.
func Keep(provider string, data any) json.RawMessage {
	text, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	out, _ := json.Marshal(kept{string(text), provider}) // strings always can
	return out
}

// Kept reads what Keep returned for the same provider; false if there is none.
func Kept(provider string, m *model.Message, into any) bool {
	var k kept
	if len(m.Thinking) == 0 || json.Unmarshal(m.Thinking, &k) != nil || k.Provider != provider {
		return false
	}
	return json.Unmarshal([]byte(k.Data), into) == nil
}
