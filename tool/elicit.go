// Questions of servers: a server may ask the user something during a tool call. A person
// may take hours, so the call doesn't wait. The server is told that the question was
// dismissed, the run pauses, and a later call finds the answer.

package tool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

// Declined is the answer of a person who refuses a server's question.
const Declined = "decline"

// errAsked ends a call whose server waits for an answer.
var errAsked = errors.New("a person must answer first")

// questionQueue assigns a server's questions to its calls. Older servers don't name the
// call, so their questions wait until every call in flight has one.
type questionQueue struct {
	mu      sync.Mutex
	changed *sync.Cond
	calls   []*openCall // in flight, oldest first
	open    int         // questions without an answer
}

// openCall is a call of a server's tool. questionQueue.mu guards asks.
type openCall struct {
	actor   Actor
	name    string
	asks    bool        // it has an open question
	waiting atomic.Bool // for a person's answer
}

// callKey is the key of the call in the context of its request.
type callKey struct{}

func newQuestionQueue() *questionQueue {
	a := &questionQueue{}
	a.changed = sync.NewCond(&a.mu)
	return a
}

// beginCall registers a call. The returned function removes it.
func (a *questionQueue) beginCall(ctx context.Context, actor Actor, name string) (context.Context, *openCall, func()) {
	c := &openCall{actor: actor, name: name}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, c)
	return context.WithValue(ctx, callKey{}, c), c, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls = slices.DeleteFunc(a.calls, func(other *openCall) bool { return other == c })
		a.changed.Broadcast()
	}
}

func (a *questionQueue) answerQuestion(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if req.Params.URL != "" {
		return &mcp.ElicitResult{Action: Declined}, nil
	}
	form := readAnswerSchema(req.Params.RequestedSchema)
	c, own := ctx.Value(callKey{}).(*openCall)
	if !own {
		if c = a.awaitSender(ctx); c == nil {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		defer a.closeQuestion(c)
	}
	answer, answered := c.actor.AskPerson(c.name, req.Params.Message, form)
	if !answered {
		c.waiting.Store(true)
		if own { // the question is the result of the call, which has ended
			return nil, errAsked
		}
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	if answer == Declined {
		return &mcp.ElicitResult{Action: Declined}, nil
	}
	fields, _ := answer.(map[string]any)
	return &mcp.ElicitResult{Action: "accept", Content: fields}, nil
}

// readAnswerSchema returns the schema of an answer. It allows any object if the server's is invalid.
func readAnswerSchema(asked any) map[string]any {
	plain, _ := eval.Canonical(asked)
	form, _ := plain.(map[string]any)
	fields, _ := form["properties"].(map[string]any)
	for _, field := range fields {
		if field, ok := field.(map[string]any); ok {
			delete(field, "enumNames") // titles of older servers
		}
	}
	if _, err := schema.Compile(form); err != nil {
		return map[string]any{"type": "object"}
	}
	return form
}

// awaitSender waits until there are as many open questions as calls in flight. It returns a
// call without a question, or nil.
func (a *questionQueue) awaitSender(ctx context.Context) *openCall {
	stop := context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.changed.Broadcast()
	})
	defer stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
	a.changed.Broadcast()
	for ctx.Err() == nil && a.open < len(a.calls) {
		a.changed.Wait()
	}
	for _, c := range a.calls {
		if !c.asks && ctx.Err() == nil {
			c.asks = true
			return c
		}
	}
	a.open--
	return nil
}

func (a *questionQueue) closeQuestion(c *openCall) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.asks = false
	a.open--
	a.changed.Broadcast()
}
