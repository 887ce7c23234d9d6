package cassette

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/model/openai"
	"github.com/graphrun/graphrun/model/wire"
)

// fake answers with what a function says.
type fake func(req *model.Request) (*model.Response, error)

func (f fake) Chat(ctx context.Context, req *model.Request, _ func(string)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f(req)
}

func echo(req *model.Request) (*model.Response, error) {
	return &model.Response{Content: "re: " + req.Messages[0].Content, Stop: model.StopEnd}, nil
}

func with(inner model.Client) func() (model.Client, error) {
	return func() (model.Client, error) { return inner, nil }
}

func never() (model.Client, error) { return nil, errors.New("a provider was opened") }

func ask(node, text string) *model.Request {
	return &model.Request{Caller: model.Caller{Node: node, Role: "chat", Visit: 1, Turn: 1}, Messages: []model.Message{{Role: model.User, Content: text}}}
}

// replayed saves a recording and starts to play it.
func replayed(t *testing.T, c *Cassette) *Cassette {
	t.Helper()
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := Parse("c.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// A recording of calls over the wire plays like the wire itself.
func TestConformance(t *testing.T) {
	modeltest.Run(t, func(t *testing.T, scenario string, streams bool) model.Client {
		file, cut := modeltest.FindRecording("../openai/testdata", scenario, streams)
		client, err := wire.New(&openai.Protocol, wire.Config{Model: "m", BaseURL: modeltest.ServeFile(t, file, cut, nil), Key: modeltest.Key})
		if err != nil {
			t.Fatal(err)
		}
		return &again{t: t, inner: client}
	})
}

// again records a call and answers from the recording.
type again struct {
	t     *testing.T
	inner model.Client
}

func (a *again) Chat(ctx context.Context, req *model.Request, onText func(string)) (*model.Response, error) {
	c := New()
	c.HideSecret(modeltest.Key)
	_, err := c.NewClient("openai/m", with(a.inner)).Chat(ctx, req, func(string) {})
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	return replayed(a.t, c).NewClient("openai/m", never).Chat(ctx, req, onText)
}

func TestEqualCallsAnswerInOrder(t *testing.T) {
	c, n := New(), 0
	client := c.NewClient("p/m", with(fake(func(*model.Request) (*model.Response, error) {
		n++
		if n == 1 {
			return nil, &model.Error{Kind: "overloaded", Message: "busy"}
		}
		return &model.Response{Content: fmt.Sprint(n), Stop: model.StopEnd}, nil
	})))
	for range 3 {
		_, _ = client.Chat(t.Context(), ask("a", "x"), nil)
	}
	played := replayed(t, c).NewClient("p/m", never)
	var got []string
	for range 4 {
		resp, err := played.Chat(t.Context(), ask("a", "x"), nil)
		if err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, resp.Content)
		}
	}
	want := []string{"busy", "2", "3", `c.yaml: the call of p/m by node "a", visit 1, role "chat", turn 1 was recorded, but less often than it is made; record again`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChangedRequestSaysWhatChanged(t *testing.T) {
	c := New()
	client := c.NewClient("p/m", with(fake(echo)))
	long := strings.Repeat("the same words again and again ", 10)
	first := ask("a", long+"at last red")
	first.MaxTokens = 5
	for _, req := range []*model.Request{first, ask("b", "other")} {
		if _, err := client.Chat(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	changed := ask("a", long+"at last blue")
	changed.System = "Be brief."
	visit := ask("b", "other")
	visit.Caller.Visit = 2
	for _, test := range []struct {
		name, model string
		req         *model.Request
		want        []string
	}{
		{"fields", "p/m", changed, []string{`max_tokens is gone`, `messages[0].content was "… again at last red", is "… again at last blue"`, `system is new: "Be brief."`, "record again"}},
		{"model", "p/new", ask("b", "other"), []string{"the call of p/new", `model was "p/m", is "p/new"`}},
		{"visit", "p/m", visit, []string{"visit was 1, is 2"}},
		{"node", "p/m", ask("c", "other"), []string{`node "c"`, "was not recorded, nor any other of this node"}},
		{"more messages", "p/m", &model.Request{Caller: ask("b", "").Caller, Messages: append(ask("b", "other").Messages, model.Message{Role: model.User})}, []string{"messages[1].role is new"}},
	} {
		_, err := replayed(t, c).NewClient(test.model, never).Chat(t.Context(), test.req, nil)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != "llm" {
			t.Errorf("%s: got %v", test.name, err)
			continue
		}
		for _, part := range test.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v lacks %s", test.name, err, part)
			}
		}
	}
}

func TestNoSecretIsWritten(t *testing.T) {
	const secret = "hunter2-canary"
	c := New()
	req := ask("a", "my key is "+secret)
	req.Params = map[string]any{"metadata": map[string]any{"X-Api-Key": "other-canary", "api_key": "", secret: 1}}
	client := c.NewClient("p/m", with(fake(func(*model.Request) (*model.Response, error) {
		return &model.Response{Content: secret + " it is", Stop: model.StopEnd}, nil
	})))
	if _, err := client.Chat(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{"password": "third-canary", "q": secret}
	if _, err := c.CallTool(ToolCall{Name: "t", Args: args}, func() (model.ToolAnswer, error) {
		return model.ToolAnswer{Output: []any{map[string]any{"password": "needed", "k": secret}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	c.HideSecret(secret[:7]) // a secret that is part of another
	c.HideSecret(secret)
	text, err := c.Encode()
	if err != nil || strings.Contains(string(text), "canary") || strings.Contains(string(text), "hunter") || !strings.Contains(string(text), "needed") {
		t.Errorf("%v\n%s", err, text)
	}
	// Played with another secret, the call is the same.
	player := replayed(t, c)
	player.HideSecret("new-secret2")
	req.Messages[0].Content = "my key is new-secret2"
	req.Params = map[string]any{"metadata": map[string]any{"X-Api-Key": "more", "api_key": "", "new-secret2": 1}}
	if got, err := player.NewClient("p/m", never).Chat(t.Context(), req, nil); err != nil || got.Content != "*** it is" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Only values are masked: a key may equal a secret. A secret too short to be distinguished from
// other text is not masked.
func TestKeysAreKept(t *testing.T) {
	c := New()
	req := ask("a", "what kind of network?")
	req.Params = map[string]any{"kind": "kind of", "k": "k"}
	client := c.NewClient("network/kind", with(fake(func(*model.Request) (*model.Response, error) {
		return &model.Response{Content: "the kind", Stop: model.StopEnd}, nil
	})))
	if _, err := client.Chat(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	c.HideSecret("kind")
	c.HideSecret("k")
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"network/kind", `"kind":"*** of"`, `"k":"k"`, "what *** of network?", "the ***"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// A recording in portions is complete, and each call in it is played once.
func TestPortions(t *testing.T) {
	record := func(c *Cassette, visit int) {
		req := ask("a", "<b> & my key is hunter2-canary")
		req.Caller.Visit = visit
		for range 2 {
			if _, err := c.NewClient("p/m", with(fake(echo))).Chat(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole, sum := New(), New()
	whole.HideSecret("hunter2-canary")
	for visit := range 3 {
		record(whole, visit)
		one := New()
		one.HideSecret("hunter2-canary")
		record(one, visit)
		taken, err := one.TakeNewCalls()
		if err != nil || strings.Contains(string(taken), "canary") {
			t.Fatalf("%v: %s", err, taken)
		}
		if again, err := one.TakeNewCalls(); err != nil || again != nil {
			t.Fatalf("taken again: %v, %s", err, again)
		}
		if err := sum.AddCalls(taken); err != nil {
			t.Fatal(err)
		}
	}
	want, err := whole.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := sum.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	played := replayed(t, whole)
	for i := range 3 {
		part := played.CopyPlayed([]int{2, 3}[:i])
		req := ask("a", "<b> & my key is ***")
		_, err := part.NewClient("p/m", never).Chat(t.Context(), req, nil)
		want := []int{2, 3}[:min(i+1, 2)]
		if diff := cmp.Diff(want, part.ListPlayed()); diff != "" || (err == nil) != (i < 2) {
			t.Errorf("%d played elsewhere: %v; %s", i, err, diff)
		}
	}
}

// The file does not tell in which order branches were answered.
func TestFileIsStable(t *testing.T) {
	record := func(nodes ...string) string {
		c := New()
		client := c.NewClient("p/m", with(fake(echo)))
		for _, node := range nodes {
			if _, err := client.Chat(t.Context(), ask(node, "hello\n\n  world: "+node+"\n"), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CallTool(ToolCall{Name: "t", Caller: model.Caller{Node: node}}, func() (model.ToolAnswer, error) { return model.ToolAnswer{Output: 1}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := record("a", "b", "c")
	if got := record("c", "a", "b"); got != want {
		t.Error(cmp.Diff(want, got))
	}
	const begin = `{"recording":"v1"}
{"kind":"tool","name":"t","caller":{"node":"a","role":"","visit":0,"turn":0},"request":{"args":null},"answer":{"output":1}}
{"kind":"model","name":"p/m","caller":{"node":"a","role":"chat","visit":1,"turn":1},"request":{"messages":[{"content":"hello\n\n  world: a\n","role":"user"}]},"answer":{"response":{"content":"re: hello\n\n  world: a\n","stop":"end","usage":{"input_tokens":0,"output_tokens":0}}}}
`
	if !strings.HasPrefix(want, begin) {
		t.Errorf("got\n%s\nwant\n%s", want, begin)
	}
	var again string
	for range 3 {
		p, err := Parse("f", []byte(want))
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again = string(text)
	}
	if again != want {
		t.Error("what is read is not written again: " + cmp.Diff(want, again))
	}
}

func TestTools(t *testing.T) {
	c := New()
	call := ToolCall{Name: "s.add", Caller: model.Caller{Node: "a", Visit: 1}, Args: map[string]any{"x": 1, "y": 2.5}}
	output := map[string]any{"n": 3, "big": 1 << 60, "list": []any{1, 2.5, nil, true, "x"}}
	for _, answer := range []model.ToolAnswer{{Output: output, Details: map[string]any{"code": 2}}, {Output: "no", IsError: true}} {
		if got, err := c.CallTool(call, func() (model.ToolAnswer, error) { return answer, nil }); err != nil || cmp.Diff(answer, got) != "" {
			t.Fatal(got, err)
		}
	}
	broken := errors.New("cancelled")
	if _, err := c.CallTool(call, func() (model.ToolAnswer, error) { return model.ToolAnswer{}, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	tools := []model.Tool{{Name: "s.add", Description: "adds", Parameters: map[string]any{"type": "object"}}}
	if got, err := c.ListTools(call.Caller, []string{"s.*"}, func() ([]model.Tool, error) { return tools, nil }); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	p := replayed(t, c)
	fail := func() (model.ToolAnswer, error) { t.Error("the tool was called"); return model.ToolAnswer{}, nil }
	for _, want := range []model.ToolAnswer{{Output: output, Details: map[string]any{"code": 2}}, {Output: "no", IsError: true}} {
		if got, err := p.CallTool(call, fail); err != nil || cmp.Diff(want, got) != "" {
			t.Error(cmp.Diff(want, got), err)
		}
	}
	call.Args["x"] = 2
	if _, err := p.CallTool(call, fail); err == nil || !strings.Contains(err.Error(), `the tool "s.add" by node "a", visit 1 is not the one recorded: args.x was 1, is 2`) {
		t.Error(err)
	}
	got, err := p.ListTools(call.Caller, []string{"s.*"}, func() ([]model.Tool, error) { t.Error("listed"); return nil, nil })
	if diff := cmp.Diff(tools, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestNoCassette(t *testing.T) {
	var c *Cassette
	c.HideSecret("x")
	if got, err := c.NewClient("p/m", with(fake(echo))).Chat(t.Context(), ask("a", "x"), nil); err != nil || got.Content != "re: x" || c.IsPlaying() {
		t.Error(got, err)
	}
	if got, err := c.CallTool(ToolCall{}, func() (model.ToolAnswer, error) { return model.ToolAnswer{Output: 1}, nil }); err != nil || got.Output != 1 {
		t.Error(got, err)
	}
	if got, err := c.ListTools(model.Caller{}, nil, func() ([]model.Tool, error) { return nil, nil }); err != nil || got != nil {
		t.Error(got, err)
	}
	if _, err := New().NewClient("p/m", never).Chat(t.Context(), ask("a", "x"), nil); err == nil {
		t.Error("a provider that can't be opened answers")
	}
}

func TestSaveAndOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.yaml")
	c := New()
	var wg sync.WaitGroup
	client := c.NewClient("p/m", with(fake(echo)))
	for i := range 20 {
		wg.Go(func() { _, _ = client.Chat(context.Background(), ask(fmt.Sprint("n", i), "x"), nil) })
	}
	wg.Wait()
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.NewClient("p/m", never).Chat(t.Context(), ask("n7", "x"), nil); err != nil || got.Content != "re: x" {
		t.Error(got, err)
	}
	if err := CheckWritable(path); err != nil {
		t.Error(err)
	}
	if CheckWritable(dir) == nil || CheckWritable(filepath.Join(dir, "none", "c.yaml")) == nil {
		t.Error("a folder, or a file in one that is not there, could be written")
	}
	// What can't be written leaves the old file, and nothing beside it.
	before, _ := os.ReadFile(path)
	c.calls[0].Answer = json.RawMessage("{")
	if err := c.Save(path); err == nil {
		t.Error("broken JSON was saved")
	}
	if err := New().Save(filepath.Join(dir, "none", "c.yaml")); err == nil {
		t.Error("saved in a folder that is not there")
	}
	after, _ := os.ReadFile(path)
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || string(before) != string(after) {
		t.Errorf("the folder holds %v", entries)
	}
	if _, err := Open(dir + "/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestBadRecordings(t *testing.T) {
	for src, want := range map[string]string{
		"":                   `c.yaml:1:1: not a recording: its first line must be {"recording":"v1"}`,
		`{"recording":"v2"}`: "c.yaml:1:1: not a recording",
		header + "\n\n{}":    "c.yaml:3:1: kind is \"\", not model, tool or tools",
		header + "\n{":       "c.yaml:2:1: this call can't be read",
		header + `
{"modl":""}`: "",
		header + "\n" + `{"kind":"tool","nam":"x"}`:  "it lacks a request or an answer",
		header + "\n" + `{"kind":"tool","name":"x"}`: "it lacks a request or an answer",
	} {
		_, err := Parse("c.yaml", []byte(src))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", src, err, want)
		}
	}
	p, err := Parse("c.yaml", []byte(header+"\n"+`{"kind":"model","name":"p/m","caller":{"node":"a","role":"chat","visit":1,"turn":1},"request":{"messages":[{"role":"user","content":"x"}]},"answer":{"respnse":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.NewClient("p/m", never).Chat(t.Context(), ask("a", "x"), nil); err == nil || !strings.Contains(err.Error(), "neither a response nor an error") {
		t.Error(err)
	}
}

// Any data survives being written and read.
func FuzzData(f *testing.F) {
	for _, seed := range []string{`"a\nb"`, `{"a": [1, 2.5, {"yes": null}], "x: y": "- |\n  # x\n\n"}`, `[[], {}, "", " a\nb", "a\n \nb", "\u0000\u2028\ud83d\ude00\ufeff", 1e-7, 1e300]`, `{"":{"":[["` + strings.Repeat("long ", 40) + `"]]}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := eval.ParseJSON([]byte(text))
		if err == nil {
			v, err = eval.Canonical(v)
		}
		if err != nil || strings.Count(text, "[")+strings.Count(text, "{") > 80 {
			return
		}
		want := map[string]any{"v": v}
		c := New()
		answer := map[string]any{"v": v}
		if err := c.playOrRecord(call{Kind: toolCall}, answer, &answer, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		src, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse("f", src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if diff := cmp.Diff(any(want), p.calls[0].Request); diff != "" {
			t.Errorf("%s\n%s", diff, src)
		}
		if diff := cmp.Diff(any(want), p.calls[0].Answer); diff != "" {
			t.Errorf("%s\n%s", diff, src)
		}
	})
}
