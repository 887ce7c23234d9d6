// What a call of a model is known by, and how large it is. Each call of a conversation
// has all of it: what is known of its beginning is kept from the call before.

package node

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"slices"
	"sync"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/runner"
)

// measured is the key that tells a call apart from others of its task, who asks which
// model for what, and the estimate of its tokens.
func measured(task *runner.Task, ref modelRef, req *model.Request) (key string, tokens int) {
	var kept *beginnings
	if task.Scope != nil {
		kept = task.Scope.Keep(beginningsKey{}, func() io.Closer { return &beginnings{} }).(*beginnings)
	}
	return kept.measure(ref, req)
}

// beginningsKey is the key of beginnings in the scope of a run.
type beginningsKey struct{}

// beginnings are those of conversations, as calls had them last: a few, for branches.
type beginnings struct {
	mu   sync.Mutex
	kept []beginning
}

// beginning is a list of messages, the hash of it, and its tokens.
type beginning struct {
	messages []model.Message
	hash     hash.Cloner
	tokens   int
}

// mostBeginnings is how many conversations of a run are remembered, and leastBeginning
// how long one is that is.
const (
	mostBeginnings = 8
	leastBeginning = 64
)

// Close has nothing to do.
func (b *beginnings) Close() error { return nil }

// measure is measured; b may be nil.
func (b *beginnings) measure(ref modelRef, req *model.Request) (string, int) {
	known := b.longest(req.Messages)
	key := callKeyText{hash: known.hash}
	for i := len(known.messages); i < len(req.Messages); i++ {
		key.message(&req.Messages[i])
	}
	known.tokens += price.MessagesTokens(req.Messages[len(known.messages):])
	key.flush()
	b.keep(beginning{req.Messages, key.hash, known.tokens}, known.messages)

	rest := *req
	rest.Messages = nil
	key.count(len(req.Messages))
	key.text(ref.name)
	key.data(&rest)
	key.flush()
	return hex.EncodeToString(key.hash.Sum(nil)[:16]), known.tokens + price.RequestTokens(&rest)
}

// longest is what is known of the longest beginning of a conversation.
func (b *beginnings) longest(messages []model.Message) beginning {
	out := beginning{hash: sha256.New().(hash.Cloner)}
	if b == nil {
		return out
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.kept {
		if k := &b.kept[i]; len(k.messages) > len(out.messages) && model.HasPrefix(messages, k.messages) {
			out = *k
		}
	}
	if copied, err := out.hash.Clone(); err == nil {
		out.hash = copied
		return out
	}
	return beginning{hash: sha256.New().(hash.Cloner)}
}

// keep remembers a conversation, in the place of what was known of it or of the oldest.
func (b *beginnings) keep(k beginning, known []model.Message) {
	if b == nil || len(k.messages) < leastBeginning {
		return
	}
	var err error
	if k.hash, err = k.hash.Clone(); err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = slices.DeleteFunc(b.kept, func(old beginning) bool {
		return len(old.messages) == len(known) && &old.messages[0] == &known[0]
	})
	if len(b.kept) == mostBeginnings {
		b.kept = slices.Delete(b.kept, 0, 1)
	}
	b.kept = append(b.kept, k)
}

// callKeyText is what a call is known by: texts, each behind its length, so that no
// two lists of texts are written alike. What is text is taken as it is, and only what
// has a structure is written as JSON.
type callKeyText struct {
	hash         hash.Cloner
	buf, scratch []byte
}

func (k *callKeyText) message(m *model.Message) {
	k.text(string(m.Role))
	k.text(m.Content)
	k.text(m.ToolCallID)
	k.text(m.Name)
	if m.IsError {
		k.text("error")
	}
	for j := range m.Parts {
		p := &m.Parts[j]
		for _, text := range [...]string{string(p.Kind), p.Text, p.URL, p.Data, p.Type, p.Name} {
			k.text(text)
		}
	}
	k.count(len(m.Parts))
	k.count(len(m.ToolCalls))
	for j := range m.ToolCalls {
		c := &m.ToolCalls[j]
		k.text(c.ID)
		k.text(c.Name)
		k.text(c.Malformed)
		k.object(c.Args)
	}
	k.text(string(m.Thinking))
}

func (k *callKeyText) text(s string) {
	k.count(len(s))
	if len(s) > 4<<10 {
		k.flush()
		_, _ = io.WriteString(k.hash, s)
		return
	}
	k.buf = append(k.buf, s...)
}

func (k *callKeyText) count(n int) {
	if len(k.buf) > 8<<10 {
		k.flush()
	}
	k.buf = binary.AppendUvarint(k.buf, uint64(n))
}

func (k *callKeyText) flush() {
	_, _ = k.hash.Write(k.buf)
	k.buf = k.buf[:0]
}

func (k *callKeyText) object(v map[string]any) {
	k.scratch, _ = eval.AppendJSON(k.scratch[:0], v) // what is no JSON: the caller tells calls apart
	k.count(len(k.scratch))
	k.buf = append(k.buf, k.scratch...)
}

func (k *callKeyText) data(v any) {
	text, _ := json.Marshal(v) // arguments that are no JSON: the caller tells calls apart
	k.text(string(text))
}
