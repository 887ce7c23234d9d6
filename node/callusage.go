// What a call of a model came to: tokens as reported or estimated, and their cost.

package node

import (
	"errors"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner/handler"
)

// came is what a call came to in tokens; estimated says that they are an estimate.
// A limit is never void because nobody counted: what the server does not report,
// or can't be right, is estimated, and so is a call that was cut or that broke off
// after it had said something. One that was refused is free.
// The request is estimated at size tokens.
func came(ref modelRef, size int, response *model.Response, err error, heard string) (tokens model.Usage, estimated bool) {
	var failed *model.Error
	switch {
	case ref.isScript() && response == nil:
		return model.Usage{}, false
	case response != nil && ref.isScript():
		return response.Usage, false
	case response != nil:
		return counted(size, response)
	case errors.As(err, &failed) && heard == "" && failed.Kind != "timeout":
		return model.Usage{}, false
	}
	return price.Estimated(size, &model.Response{Content: heard}), true
}

// counted is what an answer came to: what the server reports, and where it says nothing
// or none for what there was, an estimate.
func counted(size int, response *model.Response) (tokens model.Usage, estimated bool) {
	tokens = response.Usage
	said := response.Content != "" || len(response.ToolCalls) > 0
	missing := price.Estimated(size, response)
	if tokens.Unreported || !tokens.Possible() {
		return missing, true
	}
	if tokens.InputTokens == 0 {
		tokens.InputTokens, estimated = missing.InputTokens, true
	}
	if tokens.OutputTokens == 0 && said {
		tokens.OutputTokens, estimated = missing.OutputTokens, true
	}
	return tokens, estimated
}

// usage is what a call came to, as the journal and budgets have it.
func (c *caller) usage(ref modelRef, req *model.Request, tokens model.Usage, estimated bool) handler.Usage {
	who := req.Caller
	out := handler.Usage{
		Calls: 1, Model: ref.name, Scripted: ref.isScript(),
		Node: who.Node, Place: who.Place, Role: who.Role, Visit: who.Visit, Turn: who.Turn,
		InputTokens: tokens.InputTokens, OutputTokens: tokens.OutputTokens,
		CachedTokens: tokens.CachedTokens, ReasoningTokens: tokens.ReasoningTokens, Estimated: estimated,
	}
	prices := ref.prices()
	cost, known := prices.Cost(tokens)
	if known || tokens == (model.Usage{}) {
		out.CostUSD, out.Charged = &cost, cost
	}
	return out
}
