package scripted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
)

func parse(t *testing.T, responses string) *Script {
	t.Helper()
	s, err := Parse("s.yaml", []byte("responses:\n"+responses))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(t *testing.T, c *Client, node, role string, visit, turn int) string {
	t.Helper()
	got, err := c.Chat(t.Context(), &model.Request{Caller: model.Caller{Node: node, Role: role, Visit: visit, Turn: turn}}, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	return got.Content
}

func TestFirstUnusedMatchAnswers(t *testing.T) {
	c := parse(t, `
  - {node: b, content: for b}
  - {node: c, turn: 2, content: "c, turn 2"}
  - {node: c, content: c again}
  - {node: a, visit: 2, content: second visit}
  - {node: a, content: one}
  - {node: a, role: judge, content: {verdict: ACCEPT, score: 1}}
  - {node: a, turn: 3, content: third turn}
  - {node: a, content: two}
  - {content: anyone}
`).NewClient(nil)
	for _, test := range []struct {
		node, role  string
		visit, turn int
		want        string
	}{
		{"c", "chat", 1, 1, "c again"},
		{"c", "chat", 1, 2, "c, turn 2"},
		{"a", "chat", 1, 1, "one"},
		{"a", "", 1, 3, "third turn"},
		{"a", "judge", 1, 1, `{"score":1,"verdict":"ACCEPT"}`},
		{"a", "chat", 2, 1, "second visit"},
		{"outer/a", "chat", 9, 1, "two"},
		{"z", "chat", 1, 1, "anyone"},
		{"outer/b", "chat", 1, 1, "for b"},
		{"ab", "chat", 1, 1, `error: s.yaml has no answer left for node "ab", role "chat", visit 1, turn 1: those that match are used up; add to its responses: - {node: ab, visit: 1, turn: 1, content: …}`},
		{"a", "router", 4, 2, `error: s.yaml has no answer left for node "a", role "router", visit 4, turn 2; add to its responses: - {node: a, role: router, visit: 4, turn: 2, content: …}`},
	} {
		if got := ask(t, c, test.node, test.role, test.visit, test.turn); got != test.want {
			t.Errorf("%s %s %d %d: got %s, want %s", test.node, test.role, test.visit, test.turn, got, test.want)
		}
	}
}

func TestElementsAreToldApart(t *testing.T) {
	c := parse(t, `
  - {node: "e[1]", content: second}
  - {node: "outer[0]/e", content: nested}
  - {node: e, content: any}
`).NewClient(nil)
	for _, test := range []struct{ node, place, want string }{
		{"e", "e[0]", "any"}, {"outer/e", "outer[0]/e", "nested"}, {"e", "e[1]", "second"},
	} {
		got, err := c.Chat(t.Context(), &model.Request{Caller: model.Caller{Node: test.node, Place: test.place}}, nil)
		if err != nil || got.Content != test.want {
			t.Errorf("%s: got %v, %v, want %s", test.place, got, err, test.want)
		}
	}
	_, err := c.Chat(t.Context(), &model.Request{Caller: model.Caller{Node: "e", Place: "e[2]", Visit: 1, Turn: 1}}, nil)
	if err == nil || !strings.Contains(err.Error(), `- {node: "e[2]", visit: 1, turn: 1, content: …}`) {
		t.Errorf("got %v", err)
	}
}

func TestAnswers(t *testing.T) {
	c := parse(t, `
  - node: a
    tool_calls: [{name: add, args: {x: 1, deep: {y: [2]}}}, {name: now}]
    usage: {input_tokens: 10, output_tokens: 3, cached_tokens: 4}
  - {node: a, error: {kind: rate_limited, retry_after: 2}}
  - {node: a, content: [1, "<a>"]}
  - {node: a, content: 0.80}
`).NewClient(nil)
	req := &model.Request{Caller: model.Caller{Node: "out/a", Role: "chat", Visit: 2, Turn: 3}}
	got, err := c.Chat(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Response{Stop: model.StopToolCalls, Usage: model.Usage{InputTokens: 10, OutputTokens: 3, CachedTokens: 4}, ToolCalls: []model.ToolCall{
		{ID: "call_out-a_2_3_1", Name: "add", Args: map[string]any{"x": 1, "deep": map[string]any{"y": []any{2}}}},
		{ID: "call_out-a_2_3_2", Name: "now", Args: map[string]any{}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// What is done to an answer does not reach the script.
	got.ToolCalls[0].Args["x"] = "changed"
	got.ToolCalls[0].Args["deep"].(map[string]any)["y"].([]any)[0] = "changed"
	if again, err := c.script.NewClient(nil).Chat(t.Context(), req, nil); err != nil || cmp.Diff(want, again) != "" {
		t.Error(cmp.Diff(want, again), err)
	}
	_, err = c.Chat(t.Context(), req, nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != "rate_limited" || failure.RetryAfter != 2*time.Second || !strings.Contains(failure.Message, "s.yaml, line 6") {
		t.Errorf("got %#v", err)
	}
	for _, want := range []string{`[1,"<a>"]`, "0.80"} {
		if got := ask(t, c, "a", "chat", 1, 1); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestStreamsByWords(t *testing.T) {
	c := parse(t, "  - {content: \"one two\\nthree \"}\n").NewClient(nil)
	var chunks []string
	got, err := c.Chat(t.Context(), &model.Request{}, func(s string) { chunks = append(chunks, s) })
	if err != nil || strings.Join(chunks, "") != got.Content || len(chunks) != 2 {
		t.Errorf("got %q, %v", chunks, err)
	}
}

func TestDelay(t *testing.T) {
	var slept time.Duration
	c := parse(t, "  - {content: late, delay: 90s}\n  - {content: never, delay: 90s}\n").NewClient(func(ctx context.Context, d time.Duration) error {
		slept += d
		return ctx.Err()
	})
	if got := ask(t, c, "a", "chat", 1, 1); got != "late" || slept != 90*time.Second {
		t.Errorf("got %s after %v", got, slept)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Chat(ctx, &model.Request{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A resumed run makes a new client and skips the answered requests: the next answer is the one
// that the first client would have given.
func TestSkipContinues(t *testing.T) {
	s := parse(t, "  - {node: a, content: 1}\n  - {node: a, visit: 3, content: third}\n  - {node: a, content: 2}\n  - {node: a, content: 3}\n")
	whole := s.NewClient(nil)
	for before := range 4 {
		resumed := s.NewClient(nil)
		for visit := 1; visit <= before; visit++ {
			resumed.SkipCall(model.Caller{Node: "a", Role: "chat", Visit: visit, Turn: 1})
		}
		want := ask(t, whole, "a", "chat", before+1, 1)
		if got := ask(t, resumed, "a", "chat", before+1, 1); got != want {
			t.Errorf("after %d calls: got %s, want %s", before, got, want)
		}
	}
}

func TestConcurrentCallsGetOneEntryEach(t *testing.T) {
	c := parse(t, strings.Repeat("  - {content: x}\n", 50)).NewClient(nil)
	var wg sync.WaitGroup
	var failed sync.Map
	for i := range 60 {
		wg.Go(func() {
			if _, err := c.Chat(context.Background(), &model.Request{}, nil); err != nil {
				failed.Store(i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	failed.Range(func(any, any) bool { n++; return true })
	if n != 10 {
		t.Errorf("%d calls of 60 failed with 50 entries", n)
	}
}

func TestFindings(t *testing.T) {
	_, err := Parse("s.yaml", []byte(`responses:
  - {nod: a, content: x}
  - {node: a}
  - {node: a, content: x, error: {kind: lm}}
  - {node: a, role: ruoter, visit: 0, content: }
  - {node: a, tool_calls: [{args: 3}], delay: soon, usage: {input_tokens: -1}}
  - 5
more: 1
`))
	want := strings.TrimSpace(`
s.yaml:2:6: unknown key "nod"; did you mean "node"?
s.yaml:3:6: this map lacks one of the keys content, error or tool_calls
s.yaml:4:27: "content" and "error" exclude each other; use one of content, error or tool_calls
s.yaml:4:41: "kind" can't be "lm"; did you mean "llm"?`)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("got\n%v\nwant\n%s", err, want)
	}
	for _, part := range []string{
		`s.yaml:5:21: "role" must be chat, compact, judge or router; found "ruoter"; did you mean "router"?`,
		`s.yaml:5:36: "visit" must be a whole number greater than 0; found the number 0`,
		`s.yaml:5:39: "content" must be a text, a map or a list; found no value`,
		`s.yaml:6:29: this map lacks the key "name"`, `"args" must be a map`, `"delay" must be a duration`, `"input_tokens" must be`,
		`s.yaml:7:5: each entry of "responses" must be a map; found the number 5`,
		`s.yaml:8:1: unknown key "more"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("lacks %s\nin\n%v", part, err)
		}
	}
	for _, src := range []string{"", "[]", "responses: 1", "a: b: c", "responses: []\n---\n{}", "responses:\n  - &a [*a]"} {
		if _, err := Parse("s", []byte(src)); err == nil {
			t.Errorf("%q is taken", src)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("responses:\n  - {node: a, content: {a: 1}}\n  - {tool_calls: [{name: x, args: {a: [1]}}], delay: 1s}\n"))
	f.Add([]byte("responses: [{error: {kind: llm, retry_after: 1s}, visit: 2}]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse("f", src)
		if err != nil {
			return
		}
		c := s.NewClient(func(context.Context, time.Duration) error { return nil })
		for range s.entries {
			_, _ = c.Chat(t.Context(), &model.Request{Caller: model.Caller{Node: "a", Visit: 1, Turn: 1}}, func(string) {})
		}
	})
}

// The elements of an each ask in any order, and get the answers in theirs.
func TestElementsAnswerInTheirOrder(t *testing.T) {
	script, err := Parse("s.yaml", []byte("responses:\n  - {node: a, content: '0'}\n  - {node: 'a[1]', content: own}\n  - {node: a, content: '1'}\n  - {node: a, content: '2'}\n  - {node: a, visit: 2, content: later}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]int{{0, 2}, {2, 0}} {
		client := script.NewClient(nil)
		for _, element := range order {
			answer, err := client.Chat(t.Context(), &model.Request{Caller: model.Caller{Node: "a", Place: fmt.Sprintf("a[%d]", element), Role: "chat", Visit: 1, Turn: 1}}, nil)
			if err != nil || answer.Content != fmt.Sprint(element) {
				t.Errorf("element %d: %v, %v", element, answer, err)
			}
		}
		answer, err := client.Chat(t.Context(), &model.Request{Caller: model.Caller{Node: "a", Place: "a[1]", Role: "chat", Visit: 1, Turn: 1}}, nil)
		if err != nil || answer.Content != "own" {
			t.Errorf("element 1: %v, %v", answer, err)
		}
	}
}
