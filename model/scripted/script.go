// Scripts, and clients that find the entry for a call.

// Package scripted answers model calls from a file, for tests and examples.
package scripted

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/spec"
)

// Script holds the answers of a file. It never changes: a Client remembers which
// entries its run has used.
type Script struct {
	name    string
	entries []entry
}

// entry is an answer and the calls that it answers. An empty node and a visit or turn of 0
// match every call.
type entry struct {
	Node  string         `key:"node"`
	Role  string         `key:"role" default:"chat"`
	Visit int            `key:"visit"`
	Turn  int            `key:"turn"`
	Delay any            `key:"delay"`
	Usage map[string]any `key:"usage"`
	Error map[string]any `key:"error"`

	content string
	calls   *spec.Value
	failure *model.Error // nil if it answers
}

// Parse reads a script in YAML or JSON. name is for messages. The error is a *spec.InvalidError.
func Parse(name string, src []byte) (*Script, error) {
	root, findings := spec.Read(name, src, "a script is a map with the key responses", Keys())
	if root == nil {
		return nil, &spec.InvalidError{Findings: findings}
	}
	out := &Script{name: name}
	file := spec.NewFile(name, src)
	if list := root.Get("responses"); list != nil {
		for _, v := range list.Items {
			for j := range v.Fields {
				if f := &v.Fields[j]; f.Key.Value == "content" && f.Value.Kind == spec.Null {
					findings = append(findings, spec.Diagnostic{
						File: file, Rule: "invalid-value", Severity: spec.Error, Span: f.Key.Span,
						Message: `"content" must be a text, a map or a list; found no value`,
					})
				}
			}
			if v.Kind == spec.Map {
				out.entries = append(out.entries, newEntry(file, &v))
			}
		}
	}
	if len(findings) > 0 {
		return nil, &spec.InvalidError{Findings: findings.Sort()}
	}
	return out, nil
}

// Keys returns the keys of a script.
func Keys() []spec.Key {
	count := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeInt, Positive: true} }
	zero := 0.0
	tokens := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeInt, Min: &zero} }
	// A pause is a duration or, as in a Retry-After header, a number of seconds.
	pause := func(name string) spec.Key {
		return spec.Key{Name: name, Type: spec.TypeOneOf, Forms: []spec.Key{{Type: spec.TypeNumber, Min: &zero}, {Type: spec.TypeDuration}}}
	}
	call := spec.Key{Type: spec.TypeObject, Keys: []spec.Key{
		{Name: "name", Type: spec.TypeString, Required: true},
		{Name: "args", Type: spec.TypeMap, Elem: &spec.Key{Type: spec.TypeAny}},
	}}
	response := spec.Key{
		Type:    spec.TypeObject,
		Choices: []spec.Choice{{Keys: []string{"content", "error", "tool_calls"}, Required: true}},
		Keys: []spec.Key{
			{Name: "node", Type: spec.TypeString},
			{Name: "role", Type: spec.TypeEnum, Enum: []string{"chat", "compact", "judge", "router"}},
			count("visit"), count("turn"),
			{Name: "content", Type: spec.TypeAny},
			{Name: "tool_calls", Type: spec.TypeList, Elem: &call, NonEmpty: true},
			{Name: "error", Type: spec.TypeObject, Keys: []spec.Key{
				{Name: "kind", Type: spec.TypeEnum, Enum: spec.FailureKinds(), Required: true},
				pause("retry_after"),
			}},
			pause("delay"),
			{Name: "usage", Type: spec.TypeObject, Keys: []spec.Key{tokens("input_tokens"), tokens("output_tokens"), tokens("cached_tokens")}},
		},
	}
	return []spec.Key{{Name: "responses", Type: spec.TypeList, Elem: &response, Required: true}}
}

// newEntry reads an entry. spec.Read has already reported values of a wrong type.
func newEntry(file *spec.File, v *spec.Value) entry {
	e := entry{content: formatContent(v.Get("content")), calls: v.Get("tool_calls")}
	values, _ := v.Data().(map[string]any)
	_ = keys.Decode(values, &e)
	if e.Error != nil {
		kind, _ := e.Error["kind"].(string)
		e.failure = &model.Error{
			Kind: kind, RetryAfter: parseDuration(e.Error["retry_after"]),
			Message: fmt.Sprintf("%s, line %d: the script answers with a failure of kind %s", file.Name, file.Position(v.Span.From).Line, kind),
		}
	}
	return e
}

// newResponse returns the answer of an entry. Ids of tool calls are the same in each run
// and differ within a conversation.
func (e *entry) newResponse(c model.Caller) *model.Response {
	out := &model.Response{Content: e.content, Stop: model.StopEnd}
	_ = eval.DecodeJSON([]byte(eval.Text(e.Usage)), &out.Usage) // the parser has checked it
	if e.calls == nil {
		return out
	}
	out.Stop = model.StopToolCalls
	_ = eval.DecodeJSON([]byte(eval.Text(e.calls.Data())), &out.ToolCalls)
	caller := strings.NewReplacer("/", "-", "[", "-", "]", "", "#", "-").Replace(cmp.Or(c.Place, c.Node))
	for i := range out.ToolCalls {
		call := &out.ToolCalls[i]
		call.ID = fmt.Sprintf("call_%s_%d_%d_%d", caller, c.Visit, c.Turn, i+1)
		if call.Args == nil {
			call.Args = map[string]any{}
		}
	}
	return out
}

// formatContent returns the text of an answer: maps and lists as JSON, scalars as written.
func formatContent(v *spec.Value) string {
	switch {
	case v == nil:
		return ""
	case v.IsScalar():
		return v.Text.Value
	}
	return eval.Text(v.Data())
}

// parseDuration reads a duration, or a number of seconds.
func parseDuration(v any) time.Duration {
	text := eval.Text(v)
	d, err := time.ParseDuration(text)
	if err != nil {
		d, _ = time.ParseDuration(text + "s")
	}
	return d
}

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
// returns the context's error.
func (s *Script) NewClient(sleep func(context.Context, time.Duration) error) *Client {
	return &Client{script: s, sleep: sleep, used: make([]bool, len(s.entries)), shares: map[model.Caller][]int{}}
}

// Chat answers with the first unused entry for the request's caller, after its delay. The text streams by
// words. An entry counts as used even if the wait is cancelled. Without an entry the error has kind llm.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	e := c.takeEntry(req.Caller)
	if e == nil {
		return nil, c.script.missingEntry(req.Caller)
	}
	if delay := parseDuration(e.Delay); delay > 0 {
		if err := c.sleep(ctx, delay); err != nil {
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
	answer := e.newResponse(req.Caller)
	model.StreamWords(answer.Content, onText)
	return answer, nil
}

// SkipCall marks the entry of a call that was answered before the run was resumed as used.
// Call it for each earlier call in the order of the journal.
func (c *Client) SkipCall(caller model.Caller) { c.takeEntry(caller) }

// takeEntry returns the first unused entry for a call and marks it as used, or returns nil.
func (c *Client) takeEntry(caller model.Caller) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	unused := c.listUnused(caller)
	if len(unused) == 0 {
		return nil
	}
	i := unused[0]
	// Elements run in parallel and call in any order, but the first element gets the first answer.
	if n := parseElement(caller.Place); n >= 0 && !strings.HasSuffix(c.script.entries[i].Node, "]") {
		all := caller
		all.Place = ""
		if _, known := c.shares[all]; !known {
			c.shares[all] = c.listUnused(all)
		}
		if share := c.shares[all]; n < len(share) && !c.used[share[n]] {
			i = share[n]
		}
	}
	c.used[i] = true
	return &c.script.entries[i]
}

func (c *Client) listUnused(caller model.Caller) (out []int) {
	for i := range c.used {
		if !c.used[i] && c.script.entries[i].matches(caller) {
			out = append(out, i)
		}
	}
	return out
}

// parseElement returns the element at the end of a place, from 0, or -1 if there is none.
func parseElement(place string) int {
	inner, closed := strings.CutSuffix(place, "]")
	n, err := strconv.Atoi(inner[strings.LastIndexByte(inner, '[')+1:])
	if !closed || err != nil {
		return -1
	}
	return n
}

// matches reports whether an entry answers a call. An entry names a node of a subgraph by its path or the
// end of it, because a script does not know which graph calls the subgraph. It may name an element: a[2].
func (e *entry) matches(c model.Caller) bool {
	return e.Role == cmp.Or(c.Role, "chat") &&
		(e.Node == "" || hasPathSuffix(c.Node, e.Node) || hasPathSuffix(c.Place, e.Node)) &&
		(e.Visit == 0 || e.Visit == c.Visit) && (e.Turn == 0 || e.Turn == c.Turn)
}

func hasPathSuffix(path, name string) bool { return path == name || strings.HasSuffix(path, "/"+name) }

func (s *Script) missingEntry(c model.Caller) *model.Error {
	used := ""
	if slices.ContainsFunc(s.entries, func(e entry) bool { return e.matches(c) }) {
		used = ": those that match are used up"
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
