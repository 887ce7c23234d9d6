// What a call of a model is known by, and how large it is.

package node

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/price"
)

// measure returns the key that tells a call apart from others of its task, which model
// is asked for what, and the estimate of its tokens.
func measure(ref modelRef, req *model.Request) (key string, tokens int) {
	k := callKeyText{hash: sha256.New()}
	for i := range req.Messages {
		k.message(&req.Messages[i])
	}
	rest := *req
	rest.Messages = nil
	k.count(len(req.Messages))
	k.text(ref.name)
	k.data(&rest)
	k.flush()
	return hex.EncodeToString(k.hash.Sum(nil)[:16]), price.RequestTokens(req)
}

// callKeyText is what a call is known by: texts, each behind its length, so that no
// two lists of texts are written alike. What is text is taken as it is, and only what
// has a structure is written as JSON.
type callKeyText struct {
	hash         hash.Hash
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
