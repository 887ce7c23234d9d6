package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/graphrun/graphrun/model"
)

func read(t *testing.T, r io.Reader) (out []string, err error) {
	t.Helper()
	for stream := (&events{in: bufio.NewReader(r)}); ; {
		name, data, err := stream.readEvent()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%s=%s", name, data))
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for stream, want := range map[string][]string{
		"":                                    nil,
		"data: a\n\ndata: b\n\n":              {"=a", "=b"},
		"event: e\ndata: a\n\ndata: b\n\n":    {"e=a", "=b"},
		"data: a\r\ndata: b\r\n\r\n":          {"=a\nb"},
		"data:a\ndata\ndata:  c\n\n":          {"=a\n\n c"},
		": comment\nid: 1\nretry: 5\n\n":      nil,
		"event: e\n\ndata: a\n\n":             {"=a"},
		"\ufeffdata: a\n\n":                   {"=a"},
		"data: a\n":                           {"=a"},
		"data: a\n\ndata: broken":             {"=a"},
		"data: a\ndata: broken":               {"=a"},
		"data: " + long + "\n\ndata: b\n\n":   {"=" + long, "=b"},
		"data: [DONE]\n\n":                    {"=[DONE]"},
		"data: a: b: c\nother: x\n\n\n\n\n\n": {"=a: b: c"},
	} {
		for _, in := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			got, err := read(t, in)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%.40q: %s %v", stream, diff, err)
			}
		}
	}
	broken := errors.New("broken")
	got, err := read(t, io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// Events never fail on text, and do not depend on how it arrives.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: a\n\nevent: b\r\ndata:c\n\n", ":x\n\n\ndata", "\ufeffdata: \n\n", "data: a\rb\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		want, err := read(t, bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t, iotest.OneByteReader(bytes.NewReader(stream)))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	n := NewNames([]model.Tool{{Name: "a.b"}, {Name: "a_b"}, {Name: "a b"}, {Name: long + "1"}, {Name: long + "2"}, {Name: "é"}, {Name: ""}}, nil)
	seen := map[string]bool{}
	for graph, want := range map[string]string{"a_b": "a_b", "a.b": "a_b_2", "a b": "a_b_3", "é": "_", "": "__2", long + "1": long[:64], long + "2": long[:62] + "_2", "new.one": "new_one"} {
		wire := n.ToWire(graph)
		if wire != want || n.ToGraph(wire) != graph || seen[wire] || len(wire) > maxName {
			t.Errorf("%q: got %q, back %q, want %q", graph, wire, n.ToGraph(wire), want)
		}
		seen[wire] = true
	}
	if n.ToGraph("unheard") != "unheard" {
		t.Error("a name that was not offered is changed")
	}
}

func TestArguments(t *testing.T) {
	for text, want := range map[string]model.ToolCall{
		`{"a":1,"b":2.50,"c":9007199254740993}`: {Args: map[string]any{"a": 1, "b": 2.5, "c": 9007199254740993}},
		"":                                      {Args: map[string]any{}},
		" null ":                                {Args: map[string]any{}},
		`{"a":1} x`:                             {Malformed: `{"a":1} x`},
		`"text"`:                                {Malformed: `"text"`},
		`{"a":`:                                 {Malformed: `{"a":`},
	} {
		want.ID, want.Name = "i", "n"
		if diff := cmp.Diff(want, NewToolCall("i", "n", text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if got := EncodeArgs(model.ToolCall{}); got != "{}" {
		t.Errorf("got %s", got)
	}
}

// An answer that does not end is not read for ever.
func TestAnswerIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	client, err := New(&Protocol{Header: func(string) http.Header { return http.Header{} }}, Config{Provider: "p", Model: "m", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	answered := &Call{Config: &client.config, client: client, ctx: t.Context()}
	if err := answered.post(map[string]any{}); err != nil {
		t.Fatal(err)
	}
	defer answered.close()
	var failure *model.Error
	if _, err := io.ReadAll(answered); !errors.As(err, &failure) || failure.Class != "bad_answer" || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

func TestJoin(t *testing.T) {
	for base, want := range map[string]string{
		"http://h":            "http://h/p",
		"https://h:1/v1/":     "https://h:1/v1/p",
		"https://h/a?key=1":   "https://h/a/p?key=1",
		"h/v1":                "",
		"localhost:11434/v1":  "",
		"file:///etc/passwd":  "",
		"http://[::1]:80/%zz": "",
	} {
		if got, err := JoinURL(base, "/p"); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %s, %v", base, got, err)
		}
	}
}

// Kept items are byte for byte the same after a journal, which sorts keys and decodes numbers, so
// that a call is recognised by them.
func TestKeptThroughAJournal(t *testing.T) {
	before := EncodeKept("p", &model.Response{}, json.RawMessage(`{"z":1.0,"a":"<b>","n":12345678901234567890}`))
	var v any
	if err := json.Unmarshal(before, &v); err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(v)
	if err != nil || string(after) != string(before) {
		t.Errorf("%s became %s, %v", before, after, err)
	}
	var back json.RawMessage
	if found, unchanged := DecodeKept("p", &model.Message{Thinking: after}, &back); !found || !unchanged || !strings.Contains(string(back), `"z":1.0`) || !strings.Contains(string(back), "12345678901234567890") {
		t.Errorf("read %s", back)
	}
}
