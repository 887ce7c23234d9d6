// Calls of models and tools on a cassette.

package cassette

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/model"
)

// Client returns a model, named provider/name, whose answers are recorded or played.
// open connects it before the first call, never during a replay. A call that was not
// recorded is an error of kind llm that shows the difference. Cancelled calls are not
// recorded.
func (c *Cassette) Client(name string, open func() (model.Client, error)) model.Client {
	return &client{cassette: c, name: name, open: sync.OnceValues(open)}
}

type client struct {
	cassette *Cassette
	name     string
	open     func() (model.Client, error)
}

// modelAnswer is the answer of a model; one of its fields is set.
type modelAnswer struct {
	Response *model.Response `json:"response,omitempty"`
	Error    *model.Error    `json:"error,omitempty"`
}

// Chat plays or makes a call.
func (c *client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	var inner model.Client
	var err error
	if !c.cassette.Playing() {
		if inner, err = c.open(); err != nil {
			return nil, err
		}
		if c.cassette == nil {
			return inner.Chat(ctx, req, onText)
		}
	} else if err := ctx.Err(); err != nil {
		return nil, err
	}
	request := struct {
		model.Request
		Caller *struct{} `json:"caller,omitempty"` // it stands beside the request
	}{Request: *req}
	var a modelAnswer
	err = c.cassette.answer(call{Kind: modelCall, Name: c.name, Caller: req.Caller}, request, &a, func() (err error) {
		a.Response, err = inner.Chat(ctx, req, onText)
		if errors.As(err, &a.Error) {
			return nil
		}
		return err
	})
	switch {
	case err != nil && inner != nil:
		return nil, err
	case err != nil:
		return nil, &model.Error{Kind: "llm", Message: err.Error()}
	case a.Error != nil:
		return nil, a.Error
	case a.Response == nil:
		return nil, &model.Error{Kind: "llm", Message: c.cassette.name + ": an answer holds neither a response nor an error"}
	case inner != nil:
		return a.Response, nil
	}
	return replay(a.Response, onText)
}

// replay streams a played answer by words.
func replay(r *model.Response, onText func(string)) (*model.Response, error) {
	for word := range strings.SplitAfterSeq(r.Content, " ") {
		if onText != nil && word != "" {
			onText(word)
		}
	}
	return r, nil
}

// ToolCall is a call of a tool.
type ToolCall struct {
	// Caller is the node that calls; its Turn numbers the calls of one visit.
	Caller model.Caller   `json:"-"`
	Name   string         `json:"-"`
	Args   map[string]any `json:"args"`
	// Malformed is the text of arguments that are no object; Args is nil then.
	Malformed string `json:"malformed,omitempty"`
}

// Tool plays the answer of a tool, or calls do and records its answer. An error of do
// is returned and not recorded.
func (c *Cassette) Tool(made ToolCall, do func() (model.ToolAnswer, error)) (out model.ToolAnswer, err error) {
	if c == nil {
		return do()
	}
	err = c.answer(call{Kind: toolCall, Name: made.Name, Caller: made.Caller}, made, &out, func() (err error) {
		out, err = do()
		return err
	})
	return out, err
}

// Tools plays the list of tools that the names in a node's `tools` select, or calls
// list and records it: a replay must not start the servers that offer them.
func (c *Cassette) Tools(caller model.Caller, names []string, list func() ([]model.Tool, error)) ([]model.Tool, error) {
	if c == nil {
		return list()
	}
	var out struct {
		Tools []model.Tool `json:"tools"`
	}
	err := c.answer(call{Kind: toolList, Caller: caller}, map[string]any{"names": names}, &out, func() (err error) {
		out.Tools, err = list()
		return err
	})
	return out.Tools, err
}
