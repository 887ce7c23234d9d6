// Secrets never leave the workers: where the run is driven, and in its history, stand
// marks in their place.

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

// secretMark stands for a secret. The nonce is that of the run, so that nobody who
// writes texts into its state can name a secret.
func secretMark(nonce string, s *spec.Secret) string {
	sum := sha256.Sum256([]byte(nonce + "\x00" + s.Name.Value + "\x00" + s.Env.Value + "\x00" + s.File.Value + "\x00" + spec.Words(s.Command)))
	return "[[graphrun-secret:" + hex.EncodeToString(sum[:12]) + "]]"
}

// sealedSecrets gives the marks of a graph's secrets.
func sealedSecrets(nonce string) func(g *spec.Graph) map[string]any {
	return func(g *spec.Graph) map[string]any {
		out := map[string]any{}
		for i := range g.Secrets {
			out[g.Secrets[i].Name.Value] = secretMark(nonce, &g.Secrets[i])
		}
		return out
	}
}

// secrets are the marks of a flow and what they stand for, both as in JSON.
type secrets struct {
	marks, values [][]byte
	texts         []string // the values as they are
}

// openSecrets reads the secrets of the graphs that a task stands in.
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

// forms is how the secrets may read.
func (s *secrets) forms() (all []string) {
	if s == nil {
		return nil
	}
	for _, text := range s.texts {
		all = append(all, redact.Forms(text)...)
	}
	return all
}

// unmark puts the secrets into v, which is read from its JSON again.
func (s *secrets) unmark(v any) error { return s.swap(v, s.marks, s.values) }

// mark puts marks in their place.
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

// mask hides the secrets in v for good.
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
