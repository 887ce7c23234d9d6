// What a provider wants back with a message, and nobody else may see.

package wire

import (
	"bytes"
	"encoding/json"

	"github.com/graphrun/graphrun/model"
)

// kept is model.Response.Thinking: the data of a provider, and its name. The data is
// JSON in a text, and the keys are sorted: so it comes out of a journal as it went in,
// byte for byte, and a call that had it in its request is known again.
type kept struct {
	Data     string `json:"data"`
	Provider string `json:"provider"`
}

// Keep is data that a provider wants back, for model.Response.Thinking; nil when
// it can't be written as JSON.
func Keep(provider string, data any) json.RawMessage {
	text, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	out, _ := json.Marshal(kept{string(text), provider}) // what was just written can be
	return out
}

// Kept reads what Keep made for a message of the same provider; false: there is
// none, or it is another provider's.
func Kept(provider string, m *model.Message, into any) bool {
	var k kept
	if len(m.Thinking) == 0 || json.Unmarshal(m.Thinking, &k) != nil || k.Provider != provider {
		return false
	}
	return json.Unmarshal([]byte(k.Data), into) == nil
}

// HasKept reports whether a message holds what Keep made for it. It reads the end only,
// where the name of the provider is: of a long conversation it is asked often.
func HasKept(provider string, m *model.Message) bool {
	end, _ := json.Marshal(provider)
	return bytes.HasSuffix(m.Thinking, append(append([]byte(`,"provider":`), end...), '}'))
}
