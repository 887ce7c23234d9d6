package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/internal/keys"
)

// fakeActor answers calls with the result of do, and keeps warnings.
type fakeActor struct {
	do       func(ctx context.Context, what string, args map[string]any) (any, error)
	mu       sync.Mutex
	warnings []string
	progress chan string
	answer   any // to questions; nil means no answer
	asked    []string
	parent   string // traceparent
}

func (a *fakeActor) AskPerson(tool, message string, schema map[string]any) (any, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, fmt.Sprintf("%s: %s %v", tool, message, schema["required"]))
	return a.answer, a.answer != nil
}

func (a *fakeActor) Exec(ctx context.Context, _ string, config, args map[string]any) (any, error) {
	return a.do(ctx, keys.Texts(config["command"])[0], args)
}

func (a *fakeActor) Graph(ctx context.Context, file string, args map[string]any) (any, error) {
	return a.do(ctx, file, args)
}

func (a *fakeActor) StandIn(context.Context) (any, bool, error) { return nil, false, nil }

func (a *fakeActor) Warn(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.warnings = append(a.warnings, message)
}

func (a *fakeActor) TraceParent() string { return a.parent }

func (a *fakeActor) Progress(tool, message string, done, total float64) {
	if a.progress != nil {
		a.progress <- fmt.Sprintf("%s %s %v/%v", tool, message, done, total)
	}
}

// echo returns the name and the arguments of the call.
func echo(_ context.Context, what string, args map[string]any) (any, error) {
	return map[string]any{"ran": what, "args": args}, nil
}

func newDecls() map[string]any {
	numbers := map[string]any{
		"properties": map[string]any{"x": map[string]any{"type": "number"}, "n": map[string]any{"type": "integer"}},
		"required":   []any{"x"}, "additionalProperties": false,
	}
	return map[string]any{
		"add":  map[string]any{"exec": map[string]any{"command": []any{"adder"}}, "description": "adds", "parameters": numbers},
		"free": map[string]any{"exec": map[string]any{"command": []any{"freely"}}, "max_result": 10},
		"flow": map[string]any{"graph": "flow.yaml", "parameters": numbers},
		"slow": map[string]any{"exec": map[string]any{"command": []any{"slow"}}, "timeout": "1ms"},
		"srv":  map[string]any{"mcp": map[string]any{"url": "http://127.0.0.1:1/none"}},
	}
}

func newRegistry(tb testing.TB, decls map[string]any) *Registry {
	tb.Helper()
	r, err := New(decls, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func TestCall(t *testing.T) {
	r := newRegistry(t, newDecls())
	for _, test := range []struct {
		name    string
		allowed string
		call    Call
		want    any
		problem string
	}{
		{name: "a program", allowed: "add", call: Call{Name: "add", Args: map[string]any{"x": 1.5}}, want: map[string]any{"ran": "adder", "args": map[string]any{"x": 1.5}}},
		{name: "a graph", allowed: "flow add", call: Call{Name: "flow", Args: map[string]any{"x": 2.0}}, want: map[string]any{"ran": "flow.yaml", "args": map[string]any{"x": 2.0}}},
		{name: "whole numbers", allowed: "add", call: Call{Name: "add", Args: map[string]any{"x": 1, "n": 3.0}}, want: map[string]any{"ran": "adder", "args": map[string]any{"x": 1.0, "n": 3}}},
		{name: "no schema", allowed: "free", call: Call{Name: "free"}, want: map[string]any{"ran": "freely", "args": map[string]any{}}},
		{name: "missing argument", allowed: "add", call: Call{Name: "add"}, problem: `arguments of tool "add": "x" is missing`},
		{name: "unknown argument", allowed: "add", call: Call{Name: "add", Args: map[string]any{"x": 1, "z": 1}}, problem: `arguments of tool "add"`},
		{name: "malformed", allowed: "add", call: Call{Name: "add", Malformed: `{"x": 1`}, problem: `arguments of tool "add" are no JSON object: {"x": 1`},
		{name: "not allowed", allowed: "flow free", call: Call{Name: "add", Args: map[string]any{"x": 1}}, problem: `tool "add" may not be called here; allowed are flow, free`},
		{name: "nothing allowed", call: Call{Name: "add"}, problem: `tool "add" may not be called here; allowed are none`},
		{name: "not declared", allowed: "ad", call: Call{Name: "ad"}, problem: `no tool "ad" is declared; declared are add, flow, free, slow, srv`},
		{name: "a part of a program", allowed: "add.x", call: Call{Name: "add.x"}, problem: `no tool "add.x" is declared`},
		{name: "other server", allowed: "srv.one", call: Call{Name: "srv.two"}, problem: `tool "srv.two" may not be called here; allowed are srv.one`},
		{name: "a server", allowed: "srv", call: Call{Name: "srv"}, problem: `"srv" is a server; call one of its tools, as in srv.tool`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := r.Call(t.Context(), &fakeActor{do: echo}, strings.Fields(test.allowed), test.call)
			var failed *Error
			switch {
			case test.problem != "":
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("got %v, %v; want %q", got, err, test.problem)
				}
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// The timeout of a tool is an error for the model. The timeout of the task ends the task.
func TestCallTimeout(t *testing.T) {
	r := newRegistry(t, newDecls())
	wait := func(ctx context.Context, _ string, _ map[string]any) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var failed *Error
	_, err := r.Call(t.Context(), &fakeActor{do: wait}, []string{"slow"}, Call{Name: "slow"})
	if !errors.As(err, &failed) || !strings.Contains(failed.Message, "longer than 1ms") {
		t.Errorf("the tool's time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Call(ctx, &fakeActor{do: wait}, []string{"free"}, Call{Name: "free"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled task: %v", err)
	}
}

func TestTools(t *testing.T) {
	r := newRegistry(t, newDecls())
	tools, err := r.ListTools(t.Context(), (&fakeActor{}).Warn, []string{"free", "add", "free"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Tool{
		{Name: "free", Parameters: map[string]any{"type": "object"}},
		{Name: "add", Description: "adds", Parameters: map[string]any{
			"type": "object", "required": []any{"x"}, "additionalProperties": false,
			"properties": map[string]any{"x": map[string]any{"type": "number"}, "n": map[string]any{"type": "integer"}},
		}},
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Error(diff)
	}
	if _, err := r.ListTools(t.Context(), (&fakeActor{}).Warn, []string{"nope"}); err == nil {
		t.Error("an unknown tool is offered")
	}
}

func TestFind(t *testing.T) {
	r := newRegistry(t, newDecls())
	for name, want := range map[string]bool{"add": true, "srv": true, "srv.any": true, "add.x": false, "finish": false} {
		if decl, _ := r.FindTool(name); (decl != nil) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestFit(t *testing.T) {
	r := newRegistry(t, newDecls())
	for _, test := range []struct {
		name         string
		result, want any
	}{
		{"free", "0123456789", "0123456789"},
		{"free", "012345678é!", "012345678\n[cut: the first 10 of 12 bytes]"},
		{"free", []any{1, 2}, []any{1, 2}},
		{"free", []any{"0123456789"}, "[\"01234567\n[cut: the first 10 of 14 bytes]"},
		{"add", strings.Repeat("x", maxResult), strings.Repeat("x", maxResult)},
		{"unknown", "short", "short"},
	} {
		decl, _ := r.FindTool(test.name)
		if diff := cmp.Diff(test.want, decl.CutResult(test.result)); diff != "" {
			t.Errorf("%s, %v:\n%s", test.name, test.result, diff)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for entry, want := range map[string]map[string]any{
		"parameters": {"exec": map[string]any{}, "parameters": map[string]any{"type": "objekt"}},
		"timeout":    {"graph": "x", "timeout": "soon"},
	} {
		if _, err := New(map[string]any{"t": want}, Options{Grace: time.Second}); err == nil || !strings.Contains(err.Error(), `tool "t": `) || !strings.Contains(err.Error(), entry) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}
