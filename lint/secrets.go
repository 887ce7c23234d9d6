// The rules about credentials: plain-secret, secret-leak.

package lint

import (
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/analysis/credentials"
	"github.com/graphrun/graphrun/internal/analysis/dataflow"
	"github.com/graphrun/graphrun/internal/analysis/taint"
	"github.com/graphrun/graphrun/spec"
)

func secretRules() []Rule {
	return []Rule{
		{
			Name: "plain-secret", Group: "security", Severity: spec.Warning, needs: needNode,
			Summary: "a literal that looks like a credential",
			Doc:     "A key, token or password in the file ends up in version control, in stored runs and in logs. Declare it under secrets, from a variable or a file, and write {{ secrets.NAME }}.",
			Bad:     single("ask", "output: output\n", `{kind: http, url: "https://example.org", headers: {Authorization: "Bearer 9f86d081884c7d659a2feaa0c55ad015"}, timeout: 5s}`),
			change:  []string{"output: output\n", "output: output\nsecrets: {KEY: {env: API_KEY}}\n", "9f86d081884c7d659a2feaa0c55ad015", "{{ secrets.KEY }}"},
			check:   checkPlainSecret,
		},
		{
			Name: "secret-leak", Group: "security", Severity: spec.Error, needs: needNode,
			Summary: "a secret reaches a prompt, an argument list or an open state key",
			Doc: "secrets.NAME may stand only in http nodes, in env of exec nodes and tools, in headers of tools, and in providers. Elsewhere it would be sent to a model, shown in the list of processes, or stored. " +
				"The same holds for what a state key with secret: true holds: it must not go into a prompt or a question, a command or script, or a key that is not secret.",
			Bad:    single("ask", "output: output\nsecrets: {KEY: {env: API_KEY}}\n", `{kind: exec, command: [curl, -H, "X-Key: {{ secrets.KEY }}", "https://example.org"], timeout: 5s}`),
			change: []string{`exec, command: [curl, -H, "X-Key: {{ secrets.KEY }}", "https://example.org"]`, `http, url: "https://example.org", headers: {X-Key: "{{ secrets.KEY }}"}`},
			check:  checkSecretLeak,
		},
	}
}

func checkPlainSecret(f *facts) {
	f.reportTokens()
	for _, n := range f.graph.Nodes {
		for i := range n.Fields {
			f.checkCredentials(&n.Fields[i].Value, n.Fields[i].Key.Value)
		}
		f.checkPasswords(n)
	}
	for _, list := range [][]spec.Field{f.graph.Providers, f.graph.Tools} {
		for i := range list {
			f.checkCredentials(&list[i].Value, "")
		}
	}
	for _, key := range f.graph.State {
		if key.Default != nil {
			f.checkCredentials(key.Default, key.Name.Value)
		}
	}
}

// reportTokens reports keys with a prefix of their issuer, in comments too.
func (f *facts) reportTokens() {
	report := func(at spec.Span) {
		f.report(at, "this looks like an API key; declare it under secrets and write {{ secrets.NAME }}")
	}
	credentials.Tokens(f.graph.File.Src, func(from, to int) { report(spec.Span{From: from, To: to}) })
	for _, text := range f.graph.File.Texts() {
		credentials.Tokens(text.Src, func(from, to int) { report(text.InHost(spec.Span{From: from, To: to})) })
	}
}

// checkPasswords reports the password that a node gives a program.
func (f *facts) checkPasswords(n *spec.Node) {
	const message = "this looks like a password; declare it under secrets and give it to the program by env"
	if script := n.Field("script"); script != nil && script.Kind == spec.String {
		if from, to := credentials.InScript(script.Text.Value); to > 0 {
			f.report(script.Text.At(from, to), message)
		}
	}
	command := n.Field("command")
	if command == nil {
		return
	}
	args := collect(command.Items, func(v spec.Value) string { return v.Text.Value })
	if i, from, to := credentials.InCommand(args); to > 0 {
		f.report(command.Items[i].Text.At(from, to), message)
	}
}

// checkCredentials checks every text in the value of a key.
func (f *facts) checkCredentials(v *spec.Value, name string) {
	for i := range v.Items {
		f.checkCredentials(&v.Items[i], name)
	}
	for i := range v.Fields {
		f.checkCredentials(&v.Fields[i].Value, v.Fields[i].Key.Value)
	}
	if v.Kind != spec.String {
		return
	}
	if from, to, what := credentials.In(v.Text.Value, name); to > from {
		f.report(v.Text.At(from, to), "this looks like %s; declare it under secrets and write {{ secrets.NAME }}", what)
	}
}

// checkSecretLeak checks secret state keys, and tools. The compiler of expressions checks
// where `secrets` itself may stand.
func checkSecretLeak(f *facts) {
	for _, part := range f.toolParts() {
		switch { // all users of the machine can see commands, and addresses are logged
		case !part.Program.Uses("secrets"):
		case part.Field == "url":
			f.report(part.SpanOf("secrets"), "a secret reaches the address of tool %q; pass it by headers", part.tool)
		default:
			f.report(part.SpanOf("secrets"), "a secret reaches the argument list of tool %q; pass it by env", part.tool)
		}
	}
	secret := map[string]bool{}
	for _, key := range f.graph.State {
		if key.Secret {
			secret[key.Name.Value] = true
		}
	}
	if len(secret) == 0 {
		return
	}
	for i := range f.uses().All {
		u := &f.uses().All[i]
		if u.Node < 0 || taint.Sanitized(u.Program) {
			continue
		}
		name, where := f.secretIn(u, secret), f.exposedTo(u)
		if name != "" && where != "" {
			f.report(u.Span(), "the secret %q reaches %s", name, where)
		}
	}
	f.checkSecretWrites(secret)
}

// findSecretRead returns the first secret key that a program reads, or "".
func findSecretRead(p *eval.Program, secret map[string]bool) string {
	reads := p.Reads()
	if i := slices.IndexFunc(reads, func(r eval.Read) bool { return secret[r.Path[0]] }); i >= 0 {
		return reads[i].Path[0]
	}
	return ""
}

// secretIn returns the first secret key that a use reads, or reads in the input that an edge
// hands over; "" for none.
func (f *facts) secretIn(u *dataflow.Use, secret map[string]bool) string {
	found := findSecretRead(u.Program, secret)
	for _, r := range u.Program.Reads() {
		if r.Path[0] != "input" || !f.shaped {
			continue
		}
		into, _ := f.taints().HandedBy(u.Node)
		for _, i := range into {
			if t := f.bound.Edges[i].Transform; t != nil {
				taint.Member(t, r).Reads(func(read eval.Read) {
					if found == "" && secret[read.Path[0]] {
						found = read.Path[0]
					}
				})
			}
		}
	}
	return found
}

// exposedTo returns who sees the value of a use, or "".
func (f *facts) exposedTo(u *dataflow.Use) string {
	n := f.graph.Nodes[u.Node]
	switch {
	case isModel(n) && slices.Contains([]string{"prompt", "instructions", "messages", "judge", "loop"}, u.Field):
		return "the prompt of " + strconv.Quote(n.ID.Value)
	case n.Kind.Value == "human" && u.Field == "prompt":
		return "the question of " + strconv.Quote(n.ID.Value) + ", where it is masked"
	case n.Kind.Value == "exec" && (u.Field == "command" || u.Field == "script"):
		return "the argument list of " + strconv.Quote(n.ID.Value) + "; pass it by env"
	}
	return ""
}

// checkSecretWrites reports open keys that take the value of a secret one.
func (f *facts) checkSecretWrites(secret map[string]bool) {
	for v, a := range f.access() {
		for i, w := range a.Writes {
			source := w.Value
			for _, u := range f.uses().OfNode(v) { // a template
				if source == nil && u.Field == "set" && u.Order == i {
					source = u.Program
				}
			}
			if source == nil || secret[w.Name.Value] || taint.Sanitized(source) {
				continue
			}
			if name := findSecretRead(source, secret); name != "" {
				f.report(w.Name.Span, "state key %q takes the secret %q but is not secret itself", w.Name.Value, name)
			}
		}
	}
}
