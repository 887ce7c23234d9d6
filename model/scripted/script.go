// Scripts: files of answers.

// Package scripted answers model calls from a file, for tests and examples.
package scripted

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/spec"
)

// Script holds the answers of a file. It never changes: a Client remembers which
// entries its run has used.
type Script struct {
	name    string
	entries []entry
}

// entry is an answer and the calls that it is for. An empty node and a visit or turn of
// 0 match every call.
type entry struct {
	node, role  string
	visit, turn int
	delay       time.Duration
	failure     *model.Error // nil if it answers
	content     string
	calls       *spec.Value
	usage       model.Usage
}

// Parse reads a script, YAML or JSON. Messages call it by its name. The error is a
// *spec.InvalidError.
func Parse(name string, src []byte) (*Script, error) {
	root, findings := spec.Read(name, src, "a script is a map with the key responses", Keys())
	if root == nil {
		return nil, &spec.InvalidError{Findings: findings}
	}
	out := &Script{name: name}
	file := spec.NewFile(name, src)
	if list := root.Get("responses"); list != nil {
		for i := range list.Items {
			v := &list.Items[i]
			for j := range v.Fields {
				if f := &v.Fields[j]; f.Key.Value == "content" && f.Value.Kind == spec.Null {
					findings = append(findings, spec.Diagnostic{
						File: file, Rule: "invalid-value", Severity: spec.Error, Span: f.Key.Span,
						Message: `"content" must be a text, a map or a list; found no value`,
					})
				}
			}
			if v.Kind == spec.Map {
				out.entries = append(out.entries, newEntry(file, v))
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
	text := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeString} }
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
			text("node"),
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

// newEntry reads an entry; findings cover values of a wrong shape.
func newEntry(file *spec.File, v *spec.Value) entry {
	usage := v.Get("usage")
	e := entry{
		node: text(v.Get("node")), role: cmp.Or(text(v.Get("role")), "chat"), visit: number(v.Get("visit")), turn: number(v.Get("turn")),
		delay: duration(v.Get("delay")), content: contentOf(v.Get("content")), calls: v.Get("tool_calls"),
		usage: model.Usage{
			InputTokens: number(usage.Get("input_tokens")), OutputTokens: number(usage.Get("output_tokens")), CachedTokens: number(usage.Get("cached_tokens")),
		},
	}
	if failure := v.Get("error"); failure != nil {
		kind := text(failure.Get("kind"))
		e.failure = &model.Error{
			Kind: kind, RetryAfter: duration(failure.Get("retry_after")),
			Message: fmt.Sprintf("%s, line %d: the script answers with a failure of kind %s", file.Name, file.Position(v.Span.From).Line, kind),
		}
	}
	return e
}

// response returns the answer of an entry. Ids of tool calls are the same in each run
// and differ within a conversation.
func (e *entry) response(c model.Caller) *model.Response {
	out := &model.Response{Content: e.content, Stop: model.StopEnd, Usage: e.usage}
	if e.calls == nil {
		return out
	}
	out.Stop = model.StopToolCalls
	caller := strings.NewReplacer("/", "-", "[", "-", "]", "", "#", "-").Replace(cmp.Or(c.Place, c.Node))
	for i := range e.calls.Items {
		call := model.ToolCall{
			ID: fmt.Sprintf("call_%s_%d_%d_%d", caller, c.Visit, c.Turn, i+1), Name: text(e.calls.Items[i].Get("name")), Args: map[string]any{},
		}
		if args := e.calls.Items[i].Get("args"); args != nil {
			call.Args, _ = args.Data().(map[string]any)
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out
}

// contentOf returns the text of an answer: maps and lists as JSON, scalars as written.
func contentOf(v *spec.Value) string {
	if v == nil || v.IsScalar() {
		return text(v)
	}
	out, _ := eval.AppendJSON(nil, v.Data()) // data of a file is always JSON
	return string(out)
}

func text(v *spec.Value) string {
	if v == nil {
		return ""
	}
	return v.Text.Value
}

func number(v *spec.Value) int {
	if v == nil {
		return 0
	}
	n, _ := v.Data().(int)
	return n
}

func duration(v *spec.Value) time.Duration {
	written := text(v)
	d, err := time.ParseDuration(written)
	if err != nil {
		d, _ = time.ParseDuration(written + "s")
	}
	return d
}
