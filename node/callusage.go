// The usage of a model call: reported or estimated tokens, and their cost.

package node

import (
	"errors"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner/handler"
)

// tokensOf returns the tokens of a call, whose request has about size. So that limits
// hold, it estimates what the server does not report or can't be right, and calls that
// broke off after some text. A refused call is free.
func tokensOf(ref modelRef, size int, response *model.Response, err error, heard string) (tokens model.Usage, estimated bool) {
	var failed *model.Error
	switch {
	case ref.isScript() && response == nil:
		return model.Usage{}, false
	case response != nil && ref.isScript():
		return response.Usage, false
	case response != nil:
		return fillUsage(size, response)
	case errors.As(err, &failed) && heard == "" && failed.Kind != "timeout":
		return model.Usage{}, false
	}
	return price.Estimated(size, &model.Response{Content: heard}), true
}

// fillUsage returns the reported tokens of an answer, with estimates for missing ones.
func fillUsage(size int, response *model.Response) (tokens model.Usage, estimated bool) {
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

// usage returns the usage of a call for the journal and budgets.
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
