// Conversations as a client sent them last. Each call sends all of its conversation, of
// which only the end is new: what was written of the rest is kept.

package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/model"
)

// leastKept is how many bytes of a conversation are worth keeping, mostKept how many
// conversations of a client are kept, for branches, and mostText their bytes together.
const (
	leastKept = 8 << 10
	mostKept  = 8
	mostText  = 32 << 20
)

// Sent is what a client sent last. The zero value has sent nothing; it is safe for
// concurrent use. What is sent is the same, byte for byte, as if nothing were kept.
type Sent struct {
	mu   sync.Mutex
	kept []*written // the latest last
}

// written is the beginning of a conversation as it was written.
type written struct {
	// tools are the names of those offered: names on the wire depend on them.
	tools []string
	// messages are its first count messages, text their items, a comma behind each, in
	// size bytes. Lists that go on in other ways share both.
	messages    *growing[model.Message]
	text        *growing[byte]
	count, size int
}

// Writing is a conversation that is being written. It is for one goroutine.
type Writing struct {
	// From is how many of its messages are written.
	From int

	sent     *Sent
	known    *written // nil: nothing is
	tools    []string
	messages []model.Message
}

// Begin finds what is written of a conversation. goesOn says whether items of a kept
// beginning, made of the messages before i, stay what they are with messages[i] behind
// them; nil: always.
func (s *Sent) Begin(messages []model.Message, tools []model.Tool, goesOn func(i int) bool) *Writing {
	w := &Writing{sent: s, messages: messages, tools: make([]string, len(tools))}
	for i := range tools {
		w.tools[i] = tools[i].Name
	}
	s.mu.Lock()
	kept := slices.Clone(s.kept)
	s.mu.Unlock()
	for _, k := range kept {
		n := k.count
		if n > w.From && model.HasPrefix(messages, k.messages.first(n)) && slices.Equal(k.tools, w.tools) && (n == len(messages) || goesOn == nil || goesOn(n)) {
			w.From, w.known = n, k
		}
	}
	return w
}

// WriteItems writes the items of the messages from w.From on. The first `settled` of
// them are those of the messages up to upTo, which no message behind changes, and are
// kept.
func WriteItems[T any](w *Writing, items []T, settled, upTo int) (List, error) {
	var text bytes.Buffer
	encoder := newEncoder(&text)
	end := 0
	for i := range items {
		if err := encoder.Encode(&items[i]); err != nil {
			return List{}, err
		}
		text.Truncate(text.Len() - 1) // the encoder's line break
		text.WriteByte(',')
		if i+1 == settled {
			end = text.Len()
		}
	}
	if settled == 0 {
		upTo = w.From
	}
	return List{known: w.keep(text.Bytes()[:end], upTo), fresh: text.Bytes()[end:]}, nil
}

// keep keeps what is known with what is new behind it, and returns all of it.
func (w *Writing) keep(fresh []byte, upTo int) []byte {
	k := w.known
	if k == nil {
		k = &written{text: &growing[byte]{}, messages: &growing[model.Message]{}}
	}
	next := &written{tools: w.tools, count: upTo, size: k.size + len(fresh)}
	next.text = k.text.extend(k.size, fresh)
	if next.size >= leastKept && next.size <= mostText {
		next.messages = k.messages.extend(k.count, w.messages[k.count:upTo])
		w.sent.put(next, w.known)
	}
	return next.text.first(next.size)
}

// put keeps what was written, in the place of what it goes on from, and forgets the
// oldest when there is too much.
func (s *Sent) put(next, known *written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.kept, known); at >= 0 {
		s.kept = slices.Delete(s.kept, at, at+1)
	}
	s.kept = append(s.kept, next)
	size := 0
	for _, k := range s.kept {
		size += k.size
	}
	for len(s.kept) > mostKept || size > mostText {
		size -= s.kept[0].size
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}

// growing is a list that others share the beginning of: what it holds is never changed.
type growing[T any] struct {
	mu   sync.Mutex
	list []T
}

// extend is the first n elements and more behind them: the list itself, where nobody
// else has gone on from there.
func (g *growing[T]) extend(n int, more []T) *growing[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(more) == 0 {
		return g
	}
	if len(g.list) == n {
		g.list = append(g.list, more...)
		return g
	}
	return &growing[T]{list: slices.Concat(g.list[:n], more)}
}

func (g *growing[T]) first(n int) []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.list[:n:n]
}

// List is a list of a request's body, written as JSON.
type List struct {
	first, known, fresh []byte // items, a comma behind each
}

// Before puts an item before all others.
func (l *List) Before(item any) error {
	var text bytes.Buffer
	if err := newEncoder(&text).Encode(item); err != nil {
		return err
	}
	l.first = append(text.Bytes()[:text.Len()-1], ',') // in the place of the encoder's line break
	return nil
}

// pieces are the texts that make the list.
func (l *List) pieces() [][]byte {
	out := [][]byte{[]byte("["), l.first, l.known, l.fresh}
	for i := len(out) - 1; i > 0; i-- {
		if n := len(out[i]); n > 0 {
			out[i] = out[i][:n-1] // no comma behind the last
			break
		}
	}
	return append(out, []byte("]"))
}

// MarshalJSON is the list.
func (l List) MarshalJSON() ([]byte, error) { return bytes.Join(l.pieces(), nil), nil }

func newEncoder(out *bytes.Buffer) *json.Encoder {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder
}
