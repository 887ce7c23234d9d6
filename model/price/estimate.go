// Estimates of tokens, for limits and before a request is sent.

package price

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Tokens estimates the tokens of a text as a quarter of its bytes, rounded up. That
// fits English, and roughly scripts whose letters have several bytes.
func Tokens(text string) int { return (len(text) + 3) / 4 }

const (
	perMessage = 4 // tokens of role and boundaries
	// An image of usual size costs perPart tokens; perPartByte bytes of a file or of
	// audio make one. Providers count pages, pixels and seconds.
	perPart     = 1600
	perPartByte = 25
)

// RequestTokens estimates the input tokens of a request.
func RequestTokens(req *model.Request) int {
	total := perMessage + jsonTokens(req.Schema)
	if req.System != "" {
		total += Tokens(req.System) + perMessage
	}
	for i := range req.Messages {
		m := &req.Messages[i]
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
	for i := range req.Tools {
		total += perMessage + Tokens(req.Tools[i].Name) + Tokens(req.Tools[i].Description) + jsonTokens(req.Tools[i].Parameters)
	}
	return total
}

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
	text, _ := eval.AppendJSON(nil, v) // sending it will report the error
	return (len(text) + 3) / 4
}

// Estimated returns the usage of a call whose server reported an impossible one.
func Estimated(inputTokens int, answer *model.Response) model.Usage {
	said := model.Request{Messages: []model.Message{{
		Content: answer.Content, ToolCalls: answer.ToolCalls, Thinking: answer.Thinking,
	}}}
	return model.Usage{InputTokens: inputTokens, OutputTokens: RequestTokens(&said)}
}
