package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
)

func write(t *testing.T, w *Writing, messages []model.Message) string {
	t.Helper()
	var items []string
	for _, m := range messages[w.From:] {
		items = append(items, m.Content)
	}
	list, err := WriteItems(w, items, len(items), len(messages))
	if err != nil {
		t.Fatal(err)
	}
	text, err := list.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func talk(texts ...string) []model.Message {
	out := []model.Message{{Content: strings.Repeat("x", leastKept)}}
	for _, text := range texts {
		out = append(out, model.Message{Content: text})
	}
	return out
}

// Two that go on from one beginning at once do not write over each other.
func TestSentParts(t *testing.T) {
	var s Sent
	begin := `["` + strings.Repeat("x", leastKept) + `","a"`
	all := talk("a")
	if got := write(t, s.Begin(all, nil, nil), all); got != begin+"]" {
		t.Errorf("got %q", got)
	}
	one, other := talk("a", "b"), talk("a", "c")
	first, second := s.Begin(one, nil, nil), s.Begin(other, nil, nil)
	if first.From != 2 || second.From != 2 {
		t.Errorf("%d and %d messages are known", first.From, second.From)
	}
	if got := write(t, first, one); got != begin+`,"b"]` {
		t.Errorf("got %q", got)
	}
	if got := write(t, second, other); got != begin+`,"c"]` {
		t.Errorf("got %q", got)
	}
	for _, next := range [][]model.Message{one, other} {
		if w := s.Begin(append(next, model.Message{Content: "d"}), nil, nil); w.From != 3 {
			t.Errorf("%d messages are known", w.From)
		} else if got, want := write(t, w, w.messages), begin+`,"`+next[2].Content+`","d"]`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if w := s.Begin(one, []model.Tool{{Name: "f"}}, nil); w.From != 0 {
		t.Error("names on the wire depend on the tools")
	}
	if w := s.Begin(append(one, model.Message{Content: "e"}), nil, func(int) bool { return false }); w.From != 0 {
		t.Error("it does not go on")
	}
}

func TestSentIsBounded(t *testing.T) {
	var s Sent
	for i := range 3 * mostKept {
		all := talk(fmt.Sprint(i))
		write(t, s.Begin(all, nil, nil), all)
	}
	if len(s.kept) != mostKept {
		t.Errorf("%d conversations are kept", len(s.kept))
	}
	for range 4 {
		s.put(&written{size: mostText / 3}, nil)
	}
	size := 0
	for _, k := range s.kept {
		size += k.size
	}
	if size > mostText || len(s.kept) != 3 {
		t.Errorf("%d conversations with %d bytes are kept", len(s.kept), size)
	}
	var few Sent
	short := []model.Message{{Content: "a"}}
	write(t, few.Begin(short, nil, nil), short)
	huge := talk(strings.Repeat("y", mostText))
	write(t, few.Begin(huge, nil, nil), huge)
	if len(few.kept) != 0 {
		t.Errorf("%d conversations are kept", len(few.kept))
	}
}
