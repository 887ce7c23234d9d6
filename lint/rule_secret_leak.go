// secret-leak: a secret reaches a prompt, the open state or an argument list.

package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/spec"
)

func secretLeak() Rule {
	return Rule{
		Name: "secret-leak", Group: "security", Severity: spec.Error, needs: needNode,
		Summary: "a secret reaches a prompt, an argument list or an open state key",
		Doc: "secrets.NAME may stand only in http nodes, in env of exec nodes and tools, in headers of tools, and in providers. Elsewhere it would be sent to a model, shown in the list of processes, or stored. " +
			"The same holds for what a state key with secret: true holds: it must not go into a prompt, a command or script, or a key that is not secret.",
		Bad: `graphrun: v1
name: call
start: ask
output: output
secrets: {KEY: {env: API_KEY}}
nodes:
  ask: {kind: exec, command: [curl, -H, "X-Key: {{ secrets.KEY }}", "https://example.org"], timeout: 5s}
edges:
  - {from: ask, to: END}
`,
		change: []string{`exec, command: [curl, -H, "X-Key: {{ secrets.KEY }}", "https://example.org"]`, `http, url: "https://example.org", headers: {X-Key: "{{ secrets.KEY }}"}`},
		check:  checkSecretLeak,
	}
}

// The places where `secrets` itself may stand are checked with the expressions.
func checkSecretLeak(f *facts) {
	f.toolSecrets()
	secret := map[string]bool{}
	for _, key := range f.graph.State {
		if key.Secret {
			secret[key.Name.Value] = true
		}
	}
	if len(secret) == 0 {
		return
	}
	all := f.uses().All
	for i := range all {
		u := &all[i]
		name := secretRead(u.Program, secret)
		if name == "" && f.shaped && u.Node >= 0 {
			name = f.secretInput(u, secret)
		}
		if name == "" || u.Node < 0 || taint.Sanitized(u.Program) {
			continue
		}
		if where := f.exposes(u); where != "" {
			f.report(u.Span(), "the secret %q reaches %s", name, where)
		}
	}
	f.secretWrites(secret)
}

// secretRead is the first secret key that a program reads; "" for none.
func secretRead(p *eval.Program, secret map[string]bool) string {
	for _, r := range p.Reads() {
		if secret[r.Path[0]] {
			return r.Path[0]
		}
	}
	return ""
}

// secretInput is the first secret key that an edge hands over in the input that
// a use reads; "" for none.
func (f *facts) secretInput(u *dataflow.Use, secret map[string]bool) string {
	for _, r := range u.Program.Reads() {
		if r.Path[0] != "input" {
			continue
		}
		into, _ := f.taints().HandedBy(u.Node)
		for _, i := range into {
			if t := f.bound.Edges[i].Transform; t != nil {
				found := ""
				taint.Member(t, r).Reads(func(read eval.Read) {
					if found == "" && secret[read.Path[0]] {
						found = read.Path[0]
					}
				})
				if found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// exposes says to whom a use shows its value; "" when to none.
func (f *facts) exposes(u *dataflow.Use) string {
	n := f.graph.Nodes[u.Node]
	switch {
	case isModel(n) && slices.Contains([]string{"prompt", "instructions", "messages", "judge", "loop"}, u.Field):
		return "the prompt of " + quoteKey(n.ID.Value)
	case n.Kind.Value == "exec" && (u.Field == "command" || u.Field == "script"):
		return "the argument list of " + quoteKey(n.ID.Value) + "; pass it by env"
	}
	return ""
}

// secretWrites reports open keys that take the value of a secret one.
func (f *facts) secretWrites(secret map[string]bool) {
	for v, a := range f.access() {
		n := f.graph.Nodes[v]
		for i, w := range a.Writes {
			if secret[w.Name.Value] {
				continue
			}
			source := w.Value
			if source == nil && n.Kind.Value == "set" {
				source = f.templateAssignment(v, i)
			}
			if source == nil || taint.Sanitized(source) {
				continue
			}
			if name := secretRead(source, secret); name != "" {
				f.report(w.Name.Span, "state key %q takes the secret %q but is not secret itself", w.Name.Value, name)
			}
		}
	}
}

// templateAssignment returns a program in the template of the i-th assignment of a set node,
// or nil.
func (f *facts) templateAssignment(v, i int) *eval.Program {
	for _, u := range f.uses().OfNode(v) {
		if u.Field == "set" && u.Order == i {
			return u.Program
		}
	}
	return nil
}

// toolSecrets reports secrets in the commands of tools, which all users of the
// machine can see, and in the addresses of servers, which are logged.
func (f *facts) toolSecrets() {
	for i := range f.graph.Tools {
		t, name := &f.graph.Tools[i].Value, f.graph.Tools[i].Key.Value
		for _, kind := range []string{"exec", "mcp"} {
			if command := t.Get(kind).Get("command"); command != nil {
				for j := range command.Items {
					f.toolSecret(command.Items[j].Text, "the argument list of tool "+strconv.Quote(name)+"; pass it by env")
				}
			}
		}
		if url := t.Get("mcp").Get("url"); url != nil {
			f.toolSecret(url.Text, "the address of tool "+strconv.Quote(name)+"; pass it by headers")
		}
	}
}

func (f *facts) toolSecret(text spec.Text, where string) {
	const word = "secrets"
	open := strings.Index(text.Value, "{{")
	if open < 0 {
		return
	}
	at := strings.Index(text.Value[open:], word)
	if at < 0 {
		return
	}
	at += open
	if next := strings.TrimLeft(text.Value[at+len(word):], " "); strings.HasPrefix(next, ".") || strings.HasPrefix(next, "[") || strings.HasPrefix(next, "?.") {
		f.report(text.At(at, at+len(word)), "a secret reaches %s", where)
	}
}
