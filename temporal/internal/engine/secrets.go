// Secrets never leave the workers. Workflows and histories contain marks instead.

package engine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/graphrun/graphrun/internal/input"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// secretMark returns the mark of a secret. The run's nonce keeps texts in the state from forging one.
func secretMark(nonce string, s *spec.Secret) string {
	sum := sha256.Sum256([]byte(nonce + "\x00" + s.Name.Value + "\x00" + s.Env.Value + "\x00" + s.File.Value + "\x00" + strings.Join(spec.Strings(s.Command), " ")))
	return fmt.Sprintf("[[graphrun-secret:%x]]", sum[:12])
}

// markSecrets returns a function that returns the marks of a graph's secrets by name.
func markSecrets(nonce string) func(g *spec.Graph) map[string]any {
	return func(g *spec.Graph) map[string]any {
		out := map[string]any{}
		for i := range g.Secrets {
			out[g.Secrets[i].Name.Value] = secretMark(nonce, &g.Secrets[i])
		}
		return out
	}
}

// secrets holds the secrets that a task sees. Its replacers work on JSON.
type secrets struct {
	texts        []string
	seal, unseal *strings.Replacer // replace secrets with marks, and marks with secrets
}

func openSecrets(nonce string, graphs []*spec.Graph) (*secrets, error) {
	out := &secrets{}
	var seal, unseal []string
	for _, g := range graphs {
		values, wrong := input.ReadSecrets(g)
		if len(wrong) > 0 {
			return nil, &runner.InputError{Problems: wrong}
		}
		for i := range g.Secrets {
			text, _ := values[g.Secrets[i].Name.Value].(string)
			quoted, err := json.Marshal(text)
			if err != nil || text == "" {
				continue
			}
			value, mark := string(quoted[1:len(quoted)-1]), secretMark(nonce, &g.Secrets[i])
			out.texts = append(out.texts, text)
			seal, unseal = append(seal, value, mark), append(unseal, mark, value)
		}
	}
	out.seal, out.unseal = strings.NewReplacer(seal...), strings.NewReplacer(unseal...)
	return out, nil
}

// listForms returns the secrets in all encodings that are masked.
func (s *secrets) listForms() (all []string) {
	for _, text := range s.texts {
		all = append(all, redact.Forms(text)...)
	}
	return all
}

// insertSecrets replaces marks with secrets in the JSON of v, from which it decodes v again.
func (s *secrets) insertSecrets(v any) error { return s.replaceTexts(v, s.unseal) }

func (s *secrets) replaceSecrets(v any) error { return s.replaceTexts(v, s.seal) }

func (s *secrets) replaceTexts(v any, by *strings.Replacer) error {
	if len(s.texts) == 0 {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	replaced := by.Replace(string(text))
	if replaced == string(text) {
		return nil
	}
	return decodeJSON([]byte(replaced), v)
}
