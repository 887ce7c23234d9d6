// Messages: what model nodes, tools and people said in a conversation.

package machine

import (
	"bytes"
	"encoding/json"

	"github.com/graphrun/graphrun/eval"
)

// Message is one turn of a conversation. Role is user, assistant or tool.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content,omitempty"`
	// Parts is all that is said where it is more than a text; Content is then a text
	// that stands for it.
	Parts []Part `json:"parts,omitempty"`
	// ToolCalls are what an assistant wants done.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID and Name say which call a tool's result answers, IsError that
	// it is an error's text.
	ToolCallID string `json:"tool_call_id,omitempty"`
	Name       string `json:"name,omitempty"`
	IsError    bool   `json:"is_error,omitempty"`
	// Thinking is what the model reasoned, in the form in which its provider
	// wants it back.
	Thinking json.RawMessage `json:"thinking,omitempty"`
	// Node is the id of the node that brought the message into the conversation.
	Node string `json:"node,omitempty"`
}

// Part is a piece of a message: a text, an image, a file or audio.
type Part struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// URL is where it is, or Data its bytes in base64, whose media type is Type.
	URL  string `json:"url,omitempty"`
	Data string `json:"data,omitempty"`
	Type string `json:"type,omitempty"`
	Name string `json:"name,omitempty"`
}

// ToolCall is one call of a tool that a model asks for.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is the argument object; nil with Malformed.
	Args map[string]any `json:"args"`
	// Malformed is the text of arguments that are no JSON object.
	Malformed string `json:"malformed,omitempty"`
}

// TalkDelta is what a task adds to the conversation.
type TalkDelta struct {
	// Drop says how many of the oldest messages that the task was given are
	// replaced by Summary, which is no part of Add.
	Drop    int      `json:"drop,omitempty"`
	Summary *Message `json:"summary,omitempty"`
	// Add are new messages, in order. Their Node is set when they are applied.
	Add []Message `json:"add,omitempty"`
}

// Talk is the conversation as one task gets it.
type Talk struct {
	// Messages is what the node sees, oldest first.
	Messages []Message
	// Own says that the visit has a list of its own; Done and Steps are then
	// those of its beginning.
	Own bool
	// Continues says that Messages ends in the results of the tool calls that
	// this node's last answer asked for: the visit goes on from there.
	Continues bool
	// Moved says that the last model node of the conversation was another one;
	// Ran lists what ran since then.
	Moved bool
	Ran   []Ran
	// Done lists the nodes that finished on the way to this task, the last
	// maxDone of them; Steps is how many there were.
	Done  []string
	Steps int
	// Prior is the node's output before, when its visit before gave one and the
	// node is to be told.
	Prior    string
	HasPrior bool
	// Feedback says that the node is to be told of earlier visits.
	Feedback bool
	// MaxTokens is the length from which on the oldest messages are summarised,
	// but for the last KeepLast turns; 0: never.
	MaxTokens int
	KeepLast  int
}

// Ran is a node that finished since a model last spoke.
type Ran struct {
	Node string `json:"node"`
	// Output is the beginning of its output as JSON, or what it failed with.
	Output string `json:"output"`
	Failed bool   `json:"failed,omitempty"`
	// order tells two visits apart where branches meet.
	Order int `json:"order"`
}

// UnmarshalJSON reads a call back with canonical arguments.
func (c *ToolCall) UnmarshalJSON(text []byte) error {
	type plain ToolCall // without this method
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode((*plain)(c)); err != nil || c.Args == nil {
		return err
	}
	args, err := eval.Canonical(c.Args)
	c.Args, _ = args.(map[string]any)
	return err
}
