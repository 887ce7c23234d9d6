// Package scripted answers model calls from a file, for tests and examples.
package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/spec"
)

// Script is the answers of one file, as they are written. It never changes:
// what a run has used up is kept by the Client that answers the run.
type Script struct {
	name    string
	entries []entry
}

// entry is one answer and the calls that it is for. The zero values of visit
// and turn, and an empty node, match every call.
type entry struct {
	node, role  string
	visit, turn int
	delay       time.Duration
	line        int
	failure     *model.Error // nil: answer is
	answer      model.Response
}

// Open reads a script from a file. The error is one of the file system, or an
// *spec.InvalidError.
func Open(path string) (*Script, error) {
	src, err := bounded.ReadFile(path, bounded.Text)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// Parse reads a script, YAML or JSON; name is what messages call it. The error
// is an *spec.InvalidError.
func Parse(name string, src []byte) (*Script, error) {
	root, findings := spec.Read(name, src, "a script is a map with the key responses", Keys())
	if root == nil {
		return nil, &spec.InvalidError{Findings: findings}
	}
	r := reader{file: spec.NewFile(name, src)}
	list := root.Get("responses")
	if list != nil {
		for i := range list.Items {
			r.entry(&list.Items[i])
		}
	}
	if findings = append(findings, r.findings...).Sort(); len(findings) > 0 {
		return nil, &spec.InvalidError{Findings: findings}
	}
	return &Script{name: name, entries: r.entries}, nil
}

// Keys is the table of a script's keys.
func Keys() []spec.Key {
	text := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeString} }
	count := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeInt, Positive: true} }
	zero := 0.0
	tokens := func(name string) spec.Key { return spec.Key{Name: name, Type: spec.TypeInt, Min: &zero} }
	// A time is a duration or, as in a Retry-After header, a number of seconds.
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

// reader turns checked values into entries. Values of a wrong shape, which are
// reported already, are passed over.
type reader struct {
	file     *spec.File
	entries  []entry
	findings spec.Diagnostics
}

func (r *reader) entry(v *spec.Value) {
	if v.Kind != spec.Map {
		return
	}
	e := entry{
		node: text(v.Get("node")), role: text(v.Get("role")), visit: number(v.Get("visit")), turn: number(v.Get("turn")),
		delay: duration(v.Get("delay")), line: r.file.Position(v.Span.From).Line,
	}
	if e.role == "" {
		e.role = "chat"
	}
	content, calls, failure := v.Get("content"), v.Get("tool_calls"), v.Get("error")
	if content != nil && content.Kind == spec.Null {
		r.report(place(v, "content"), "invalid-value", `"content" must be a text, a map or a list; found no value`)
	}
	if failure != nil {
		kind := text(failure.Get("kind"))
		e.failure = &model.Error{
			Kind: kind, RetryAfter: duration(failure.Get("retry_after")),
			Message: fmt.Sprintf("%s, line %d: the script answers with a failure of kind %s", r.file.Name, e.line, kind),
		}
	}
	e.answer = model.Response{Content: contentOf(content), ToolCalls: callsOf(calls), Stop: model.StopEnd, Usage: usageOf(v.Get("usage"))}
	if len(e.answer.ToolCalls) > 0 {
		e.answer.Stop = model.StopToolCalls
	}
	r.entries = append(r.entries, e)
}

func (r *reader) report(at spec.Span, rule, message string) {
	r.findings = append(r.findings, spec.Diagnostic{File: r.file, Rule: rule, Severity: spec.Error, Span: at, Message: message})
}

// place is the key of a map's entry.
func place(v *spec.Value, name string) spec.Span {
	for i := range v.Fields {
		if v.Fields[i].Key.Value == name {
			return v.Fields[i].Key.Span
		}
	}
	return v.Span
}

// contentOf is the text of an answer: a map or list as JSON, a scalar as it is
// written.
func contentOf(v *spec.Value) string {
	if v == nil || v.Kind == spec.Null {
		return ""
	}
	if v.IsScalar() {
		return v.Text.Value
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v.Data()); err != nil {
		return "" // data of a file is always JSON
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func callsOf(v *spec.Value) []model.ToolCall {
	if v == nil {
		return nil
	}
	var out []model.ToolCall
	for i := range v.Items {
		args := map[string]any{}
		if given := v.Items[i].Get("args"); given != nil && given.Kind == spec.Map {
			args, _ = given.Data().(map[string]any)
		}
		out = append(out, model.ToolCall{Name: text(v.Items[i].Get("name")), Args: args})
	}
	return out
}

func usageOf(v *spec.Value) model.Usage {
	return model.Usage{
		InputTokens: number(v.Get("input_tokens")), OutputTokens: number(v.Get("output_tokens")), CachedTokens: number(v.Get("cached_tokens")),
	}
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
	if d, err := time.ParseDuration(written); err == nil {
		return d
	}
	d, _ := time.ParseDuration(written + "s")
	return d
}
