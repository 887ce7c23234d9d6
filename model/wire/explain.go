// Errors as servers report them.

package wire

import (
	"bytes"
	"encoding/json"
)

// explain reads {"error": {"message", "type", "code"}} of OpenAI and Anthropic: a
// word for what it is, and a text for people. Other servers put a list around it,
// a text in place of the object, or the fields at the top.
func explain(body []byte) (code, text string) {
	type report struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	var outer struct {
		report
		Error  json.RawMessage `json:"error"`
		Detail any             `json:"detail"`
	}
	var list []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) && json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	_ = json.Unmarshal(body, &outer)
	var inner report
	if json.Unmarshal(outer.Error, &inner) != nil {
		inner = outer.report
		_ = json.Unmarshal(outer.Error, &inner.Message)
	}
	code, _ = inner.Code.(string)
	if code == "" {
		code = inner.Type
	}
	text = inner.Message
	if text == "" {
		text = outer.Message
	}
	if detail, ok := outer.Detail.(string); ok && text == "" {
		text = detail
	}
	return code, text
}
