// How many tokens a request will have, before it is sent.

package price

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Tokens estimates the tokens of a text as a quarter of its bytes, rounded up:
// what English text comes to, and close enough for scripts whose letters have
// several bytes.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// perMessage is what role and boundaries of a message cost besides its text.
const perMessage = 4

// RequestTokens estimates the input tokens of a request: its texts, tool calls,
// tools and schema by the rule of Tokens, 4 tokens for each message, and 1600 for an
// image; files and audio by their size, at least as much.
func RequestTokens(req *model.Request) int {
	total := perMessage
	if req.System != "" {
		total += Tokens(req.System) + perMessage
	}
	total += messagesTokens(req.Messages)
	for i := range req.Tools {
		total += perMessage + Tokens(req.Tools[i].Name) + Tokens(req.Tools[i].Description) + jsonTokens(req.Tools[i].Parameters)
	}
	return total + jsonTokens(req.Schema)
}

// messagesTokens is the part of messages in RequestTokens.
func messagesTokens(messages []model.Message) int {
	total := 0
	for i := range messages {
		m := &messages[i]
		total += perMessage + Tokens(string(m.Thinking))
		if len(m.Parts) == 0 {
			total += Tokens(m.Content)
		}
		for j := range m.Parts {
			total += partTokens(&m.Parts[j])
		}
		for _, call := range m.ToolCalls {
			total += perMessage + Tokens(call.Name) + Tokens(call.Malformed) + jsonTokens(call.Args)
		}
	}
	return total
}

// perPart is what an image of usual size costs, and perPartByte how many bytes of a
// file or of audio make a token: providers count pages, pixels and seconds, which
// nobody here sees. An estimate is for limits and is corrected by what is reported.
const (
	perPart     = 1600
	perPartByte = 25
)

func partTokens(p *model.Part) int {
	switch p.Kind {
	case model.TextPart:
		return Tokens(p.Text)
	case model.ImagePart:
		return perPart
	}
	return max(perPart, p.Size()/perPartByte)
}

func jsonTokens(v map[string]any) int {
	if len(v) == 0 {
		return 0
	}
	var few [512]byte
	text, _ := eval.AppendJSON(few[:0], v) // what can't be written is refused when it is sent
	return (len(text) + 3) / 4
}

// Estimated is what a call of so many input tokens came to by the rule of Tokens, for a
// server that says what can't be.
func Estimated(inputTokens int, answer *model.Response) model.Usage {
	said := model.Request{Messages: []model.Message{{
		Content: answer.Content, ToolCalls: answer.ToolCalls, Thinking: answer.Thinking,
	}}}
	return model.Usage{InputTokens: inputTokens, OutputTokens: RequestTokens(&said)}
}
