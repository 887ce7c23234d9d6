// Calls of models on a cassette.

package cassette

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Client is a model, by its name provider/name, whose answers are recorded or
// played. open connects it; it is called at most once, before the first call,
// and never while a recording is played. A call that was not recorded is an
// error of kind llm that says what is different. Calls that were cancelled are
// not recorded.
func (c *Cassette) Client(name string, open func() (model.Client, error)) model.Client {
	return &client{cassette: c, name: name, open: sync.OnceValues(open)}
}

type client struct {
	cassette *Cassette
	name     string
	open     func() (model.Client, error)
}

// Chat plays or makes a call.
func (c *client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	if c.cassette.Playing() {
		return c.play(ctx, req, onText)
	}
	inner, err := c.open()
	if err != nil {
		return nil, err
	}
	if c.cassette == nil {
		return inner.Chat(ctx, req, onText)
	}
	id, err := c.identity(req) // before the call: who gets the request may change it
	if err != nil {
		return nil, err
	}
	resp, err := inner.Chat(ctx, req, onText)
	var failure *model.Error
	switch {
	case err == nil:
		err = c.cassette.keep(id, answer{Response: resp})
	case errors.As(err, &failure):
		if keepErr := c.cassette.keep(id, answer{Error: failed(failure)}); keepErr != nil {
			return nil, keepErr
		}
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// answer is an answer as it is written.
type answer struct {
	Response *model.Response `json:"response,omitempty"`
	Error    *failure        `json:"error,omitempty"`
}

type failure struct {
	Kind       string `json:"kind"`
	Message    string `json:"message"`
	Class      string `json:"class,omitempty"`
	Status     int    `json:"status,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	Final      bool   `json:"final,omitempty"`
	Unsent     bool   `json:"unsent,omitempty"`
}

func failed(e *model.Error) *failure {
	f := &failure{Kind: e.Kind, Message: e.Message, Class: e.Class, Status: e.Status}
	f.Final, f.Unsent = e.Final, e.Unsent
	if e.RetryAfter > 0 {
		f.RetryAfter = e.RetryAfter.String()
	}
	return f
}

func (c *client) identity(req *model.Request) (identity, error) {
	text, err := encode(struct {
		model.Request
		Caller *struct{} `json:"caller,omitempty"` // it stands beside the request
	}{Request: *req})
	if err != nil {
		return identity{}, &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf("the request can't be written as JSON: %v", err)}
	}
	return identity{What: modelCall, Name: c.name, Caller: req.Caller, Request: text}, nil
}

func (c *client) play(ctx context.Context, req *model.Request, onText func(string)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, err := c.identity(req)
	if err != nil {
		return nil, err
	}
	text, err := c.cassette.play(id)
	if err != nil {
		return nil, &model.Error{Kind: "llm", Message: err.Error()}
	}
	a, err := readAnswer(text)
	if err != nil {
		return nil, &model.Error{Kind: "llm", Message: fmt.Sprintf("%s: an answer can't be read: %v", c.cassette.name, err)}
	}
	if f := a.Error; f != nil {
		wait, _ := time.ParseDuration(f.RetryAfter)
		return nil, &model.Error{Kind: f.Kind, Message: f.Message, Class: f.Class, Status: f.Status, RetryAfter: wait, Final: f.Final, Unsent: f.Unsent}
	}
	if onText != nil {
		for word := range strings.SplitAfterSeq(a.Response.Content, " ") {
			if word != "" {
				onText(word)
			}
		}
	}
	return a.Response, nil
}

// readAnswer reads an answer, with the arguments of tool calls as canonical data.
func readAnswer(text []byte) (*answer, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var a answer
	if err := decoder.Decode(&a); err != nil {
		return nil, err
	}
	if a.Response == nil && a.Error == nil {
		return nil, errors.New("it holds neither a response nor an error")
	}
	if a.Response == nil {
		return &a, nil
	}
	for i := range a.Response.ToolCalls {
		one := &a.Response.ToolCalls[i]
		if one.Args == nil {
			continue
		}
		args, err := eval.Canonical(one.Args)
		if err != nil {
			return nil, err
		}
		one.Args, _ = args.(map[string]any)
	}
	return &a, nil
}
