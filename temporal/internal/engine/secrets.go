// Secrets, which never leave the workers: workflows and histories have marks instead.

package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// secretMark returns the mark of a secret. Without the nonce of the run, nobody who writes
// texts into its state can name a secret.
func secretMark(nonce string, s *spec.Secret) string {
	sum := sha256.Sum256([]byte(nonce + "\x00" + s.Name.Value + "\x00" + s.Env.Value + "\x00" + s.File.Value + "\x00" + spec.Words(s.Command)))
	return "[[graphrun-secret:" + hex.EncodeToString(sum[:12]) + "]]"
}

// sealedSecrets returns the marks of a graph's secrets.
func sealedSecrets(nonce string) func(g *spec.Graph) map[string]any {
	return func(g *spec.Graph) map[string]any {
		out := map[string]any{}
		for i := range g.Secrets {
			out[g.Secrets[i].Name.Value] = secretMark(nonce, &g.Secrets[i])
		}
		return out
	}
}

// secrets holds the marks of a flow and their values, both as JSON has them.
type secrets struct {
	marks, values [][]byte
	texts         []string // the values as they are
}

// openSecrets reads the secrets of the graphs around a task.
func openSecrets(nonce string, graphs []*spec.Graph) (*secrets, error) {
	out := &secrets{}
	for _, g := range graphs {
		values, wrong := input.Secrets(g)
		if len(wrong) > 0 {
			return nil, &runner.InputError{Problems: wrong}
		}
		for i := range g.Secrets {
			text, _ := values[g.Secrets[i].Name.Value].(string)
			quoted, err := json.Marshal(text)
			if err != nil || text == "" {
				continue
			}
			out.marks = append(out.marks, []byte(secretMark(nonce, &g.Secrets[i])))
			out.values = append(out.values, quoted[1:len(quoted)-1])
			out.texts = append(out.texts, text)
		}
	}
	return out, nil
}

// forms returns all spellings of the secrets.
func (s *secrets) forms() (all []string) {
	if s == nil {
		return nil
	}
	for _, text := range s.texts {
		all = append(all, redact.Forms(text)...)
	}
	return all
}

// unmark replaces marks by secrets in v, which it decodes from its JSON again.
func (s *secrets) unmark(v any) error { return s.swap(v, s.marks, s.values) }

// mark replaces secrets by marks.
func (s *secrets) mark(v any) error { return s.swap(v, s.values, s.marks) }

func (s *secrets) swap(v any, from, to [][]byte) error {
	if len(from) == 0 {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	found := false
	for i := range from {
		if bytes.Contains(text, from[i]) {
			found = true
			text = bytes.ReplaceAll(text, from[i], to[i])
		}
	}
	if !found {
		return nil
	}
	return decode(text, v)
}

// mask replaces secrets by stars.
func (s *secrets) mask(v any) error {
	if s == nil {
		return nil
	}
	stars := make([][]byte, len(s.values))
	for i := range stars {
		stars[i] = []byte("***")
	}
	return s.swap(v, s.values, stars)
}
