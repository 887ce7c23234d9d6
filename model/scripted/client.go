// Clients, which find the entry for a call.

package scripted

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/model"
)

// Client answers the calls of one run. It is safe for concurrent use.
type Client struct {
	script *Script
	sleep  func(context.Context, time.Duration) error

	mu   sync.Mutex
	used []bool // by entry
	// shares holds the entries that were unused when the first element of an each made
	// a call, by the call without its element.
	shares map[model.Caller][]int
}

// NewClient starts a run with all entries unused. sleep waits for an entry's delay or
// returns the context's error; nil means the machine's clock.
func (s *Script) NewClient(sleep func(context.Context, time.Duration) error) *Client {
	if sleep == nil {
		sleep = wait
	}
	return &Client{script: s, sleep: sleep, used: make([]bool, len(s.entries)), shares: map[model.Caller][]int{}}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Chat answers with the first unused entry for the request's caller, after its delay.
// The text streams by words. An entry is used up even if the wait is cancelled. Without
// an entry the error has kind llm.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	e := c.take(req.Caller)
	if e == nil {
		return nil, c.script.missingEntry(req.Caller)
	}
	if e.delay > 0 {
		if err := c.sleep(ctx, e.delay); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.failure != nil {
		failure := *e.failure
		return nil, &failure
	}
	answer := e.response(req.Caller)
	for word := range strings.SplitAfterSeq(answer.Content, " ") {
		if onText != nil && word != "" {
			onText(word)
		}
	}
	return answer, nil
}

// Skip uses up the entry of a call that was answered before the run was resumed. Skip
// each earlier call in the order of the journal.
func (c *Client) Skip(caller model.Caller) { c.take(caller) }

// take uses up the entry for a call; nil if there is none.
func (c *Client) take(caller model.Caller) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	unused := c.unused(caller)
	if len(unused) == 0 {
		return nil
	}
	i := unused[0]
	// Elements run at once and ask in any order, yet the first gets the first answer.
	if n := elementOf(caller.Place); n >= 0 && !strings.HasSuffix(c.script.entries[i].node, "]") {
		all := caller
		all.Place = ""
		if _, known := c.shares[all]; !known {
			c.shares[all] = c.unused(all)
		}
		if share := c.shares[all]; n < len(share) && !c.used[share[n]] {
			i = share[n]
		}
	}
	c.used[i] = true
	return &c.script.entries[i]
}

func (c *Client) unused(caller model.Caller) (out []int) {
	for i := range c.used {
		if !c.used[i] && c.script.entries[i].matches(caller) {
			out = append(out, i)
		}
	}
	return out
}

// elementOf returns the element at the end of a place, from 0; -1 if there is none.
func elementOf(place string) int {
	inner, closed := strings.CutSuffix(place, "]")
	n, err := strconv.Atoi(inner[strings.LastIndexByte(inner, '[')+1:])
	if !closed || err != nil {
		return -1
	}
	return n
}

// matches reports whether an entry is for a call. An entry names a node of a subgraph by
// its path or the end of it, because a child's script does not know who runs the child,
// and may name an element: a[2].
func (e *entry) matches(c model.Caller) bool {
	return e.role == cmp.Or(c.Role, "chat") &&
		(e.node == "" || endsPath(c.Node, e.node) || endsPath(c.Place, e.node)) &&
		(e.visit == 0 || e.visit == c.Visit) && (e.turn == 0 || e.turn == c.Turn)
}

func endsPath(path, name string) bool { return path == name || strings.HasSuffix(path, "/"+name) }

// missingEntry returns the failure of a call without an entry.
func (s *Script) missingEntry(c model.Caller) *model.Error {
	used := ""
	for i := range s.entries {
		if s.entries[i].matches(c) {
			used = ": those that match are used up"
			break
		}
	}
	node, role := cmp.Or(c.Place, c.Node), cmp.Or(c.Role, "chat")
	hint := "node: " + node
	if strings.ContainsAny(node, "[]#") {
		hint = "node: " + strconv.Quote(node)
	}
	if role != "chat" {
		hint += ", role: " + role
	}
	return &model.Error{Kind: "llm", Message: fmt.Sprintf(
		"%s has no answer left for node %q, role %q, visit %d, turn %d%s; add to its responses: - {%s, visit: %d, turn: %d, content: …}",
		s.name, node, role, c.Visit, c.Turn, used, hint, c.Visit, c.Turn,
	)}
}
