// Arguments of tool calls as text and as data.

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Call makes a tool call of a name and the text of its arguments. Arguments
// that are no JSON object are kept as text for the caller to refuse; none at
// all are an empty object.
func Call(id, name, args string) model.ToolCall {
	call := model.ToolCall{ID: id, Name: name}
	if text := strings.TrimSpace(args); text == "" || text == "null" {
		call.Args = map[string]any{}
		return call
	}
	decoder := json.NewDecoder(strings.NewReader(args))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || !atEnd(decoder) {
		call.Malformed = args
		return call
	}
	canonical, err := eval.Canonical(value)
	object, ok := canonical.(map[string]any)
	if err != nil || !ok {
		call.Malformed = args
		return call
	}
	call.Args = object
	return call
}

func atEnd(d *json.Decoder) bool {
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}

// Args is the argument object of a call as a provider gets it back. It wants
// an object even where the model gave none.
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
