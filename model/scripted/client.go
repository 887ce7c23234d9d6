// Which entry of a script answers a call.

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

// Client answers the calls of one run; the next run takes a new one. It is
// safe for concurrent use.
type Client struct {
	script *Script
	sleep  func(context.Context, time.Duration) error

	mu   sync.Mutex
	used []bool // by entry
	// shares holds, for the elements of an each that make the same call, the
	// entries that were unused when the first of them did.
	shares map[model.Caller][]int
}

// NewClient starts a run with all entries unused. sleep waits out an entry's
// delay or returns the context's error; nil waits on the machine's clock.
func (s *Script) NewClient(sleep func(context.Context, time.Duration) error) *Client {
	if sleep == nil {
		sleep = wait
	}
	return &Client{script: s, sleep: sleep, used: make([]bool, len(s.entries))}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Chat answers with the first unused entry that matches the request's caller,
// after the entry's delay; nothing else of the request matters. The text
// streams by words. The entry is used up even if the wait is cancelled, for as
// long as this process has the run. Without an entry the error has kind llm.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	e := c.take(req.Caller)
	if e == nil {
		return nil, c.script.missing(req.Caller)
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
	answer := e.answer
	answer.ToolCalls = identified(e.answer.ToolCalls, req.Caller)
	if onText != nil {
		for word := range strings.SplitAfterSeq(answer.Content, " ") {
			if word != "" {
				onText(word)
			}
		}
	}
	return &answer, nil
}

// Skip uses up the entry that answered a call before the run was resumed.
// Calling it for each earlier call, in the order of the journal, brings a new
// Client to where the old one was.
func (c *Client) Skip(caller model.Caller) { c.take(caller) }

// take finds and uses up the entry for a call; nil: there is none.
func (c *Client) take(caller model.Caller) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.first(caller)
	if element := elementOf(caller); element >= 0 && i >= 0 && !strings.HasSuffix(c.script.entries[i].node, "]") {
		i = c.share(caller, element, i)
	}
	if i < 0 {
		return nil
	}
	c.used[i] = true
	return &c.script.entries[i]
}

// first is the first unused entry for a call; -1: there is none.
func (c *Client) first(caller model.Caller) int {
	for i := range c.used {
		if !c.used[i] && c.script.entries[i].matches(caller) {
			return i
		}
	}
	return -1
}

// share is the entry of an element: elements run at once and ask in any order,
// and yet the first has the first answer, the second the second.
func (c *Client) share(caller model.Caller, element, first int) int {
	all := caller
	all.Place = ""
	list, known := c.shares[all]
	if !known {
		for i := range c.used {
			if !c.used[i] && c.script.entries[i].matches(all) {
				list = append(list, i)
			}
		}
		if c.shares == nil {
			c.shares = map[model.Caller][]int{}
		}
		c.shares[all] = list
	}
	if element < len(list) && !c.used[list[element]] {
		return list[element]
	}
	return first
}

// elementOf is the element of the caller's node, from 0; -1: it is none.
func elementOf(caller model.Caller) int {
	inner, closed := strings.CutSuffix(caller.Place, "]")
	open := strings.LastIndexByte(inner, '[')
	if !closed || open < 0 {
		return -1
	}
	n, err := strconv.Atoi(inner[open+1:])
	if err != nil {
		return -1
	}
	return n
}

// matches reports whether an entry is for a call. An entry names a node of a
// subgraph by its whole path or by the end of it, because a child's own script
// does not know who runs the child, and may name an element: a[2].
func (e *entry) matches(c model.Caller) bool {
	role := c.Role
	if role == "" {
		role = "chat"
	}
	return e.role == role &&
		(e.node == "" || endsPath(c.Node, e.node) || endsPath(c.Place, e.node)) &&
		(e.visit == 0 || e.visit == c.Visit) && (e.turn == 0 || e.turn == c.Turn)
}

// endsPath reports whether a path is a name or ends with it.
func endsPath(path, name string) bool { return path == name || strings.HasSuffix(path, "/"+name) }

// identified gives tool calls ids that are the same in each run and differ in
// one conversation.
func identified(calls []model.ToolCall, c model.Caller) []model.ToolCall {
	out := make([]model.ToolCall, len(calls))
	for i, call := range calls {
		call.ID = fmt.Sprintf("call_%s_%d_%d_%d", plain(c), c.Visit, c.Turn, i+1)
		call.Args = copied(call.Args)
		out[i] = call
	}
	return out
}

// plain is who calls in letters that ids may have.
func plain(c model.Caller) string {
	return strings.NewReplacer("/", "-", "[", "-", "]", "", "#", "-").Replace(cmp.Or(c.Place, c.Node))
}

// copied keeps what a caller does with arguments from reaching the script.
func copied(args map[string]any) map[string]any {
	out, _ := deepCopy(args).(map[string]any)
	return out
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = deepCopy(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = deepCopy(item)
		}
		return out
	}
	return v
}

// missing is the failure of a call that no entry is left for.
func (s *Script) missing(c model.Caller) *model.Error {
	used := ""
	for i := range s.entries {
		if s.entries[i].matches(c) {
			used = ": those that match are used up"
			break
		}
	}
	who := cmp.Or(c.Place, c.Node)
	role, hint := c.Role, fmt.Sprintf("node: %s", quotedName(who))
	if role == "" {
		role = "chat"
	}
	if role != "chat" {
		hint += ", role: " + role
	}
	return &model.Error{Kind: "llm", Message: fmt.Sprintf(
		"%s has no answer left for node %q, role %q, visit %d, turn %d%s; add to its responses: - {%s, visit: %d, turn: %d, content: …}",
		s.name, who, role, c.Visit, c.Turn, used, hint, c.Visit, c.Turn,
	)}
}

// quotedName is a name as YAML takes it.
func quotedName(name string) string {
	if strings.ContainsAny(name, "[]#") {
		return strconv.Quote(name)
	}
	return name
}
