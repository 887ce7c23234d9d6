// plain-secret: a credential stands in the file as it is.

package lint

import (
	"strings"

	"github.com/graphrun/graphrun/spec"
)

func plainSecret() Rule {
	return Rule{
		Name: "plain-secret", Severity: spec.Warning, needs: needNode,
		Summary: "a literal that looks like a credential",
		Doc:     "A key, token or password in the file ends up in version control, in stored runs and in logs. Declare it under secrets, from a variable or a file, and write {{ secrets.NAME }}.",
		Bad: `graphrun: v1
name: call
start: ask
output: output
nodes:
  ask: {kind: http, url: "https://example.org", headers: {Authorization: "Bearer 9f86d081884c7d659a2feaa0c55ad015"}, timeout: 5s}
edges:
  - {from: ask, to: END}
`,
		Good: `graphrun: v1
name: call
start: ask
output: output
secrets: {KEY: {env: API_KEY}}
nodes:
  ask: {kind: http, url: "https://example.org", headers: {Authorization: "Bearer {{ secrets.KEY }}"}, timeout: 5s}
edges:
  - {from: ask, to: END}
`,
		check: checkPlainSecret,
	}
}

func checkPlainSecret(f *facts) {
	for _, n := range f.graph.Nodes {
		for i := range n.Fields {
			f.credentials(&n.Fields[i].Value, n.Fields[i].Key.Value)
		}
	}
	for _, list := range [][]spec.Field{f.graph.Providers, f.graph.Tools} {
		for i := range list {
			f.credentials(&list[i].Value, "")
		}
	}
	for _, key := range f.graph.State {
		if key.Default != nil {
			f.credentials(key.Default, key.Name.Value)
		}
	}
}

// credentials looks at every text of a value; name is the key it stands under.
func (f *facts) credentials(v *spec.Value, name string) {
	for i := range v.Items {
		f.credentials(&v.Items[i], name)
	}
	for i := range v.Fields {
		f.credentials(&v.Fields[i].Value, v.Fields[i].Key.Value)
	}
	if v.Kind != spec.String {
		return
	}
	if from, to, what := credential(v.Text.Value, name); to > from {
		f.report(v.Text.At(from, to), "this looks like %s; declare it under secrets and write {{ secrets.NAME }}", what)
	}
}

// credential finds what looks like one in a text that stands under a name.
func credential(text, name string) (from, to int, what string) {
	if i := strings.Index(text, "-----BEGIN "); i >= 0 && strings.Contains(text, "PRIVATE KEY-----") {
		return i, i + strings.Index(text[i:], "PRIVATE KEY-----") + len("PRIVATE KEY-----"), "a private key"
	}
	if from, to = token(text); to > from {
		return from, to, "an API key"
	}
	if from, to = password(text); to > from {
		return from, to, "a password in a URL"
	}
	kind := sensitive(name)
	if kind == "" || strings.Contains(text, "{{") || strings.Contains(text, "$") || isPlaceholder(text) {
		return 0, 0, ""
	}
	switch {
	case kind == "authorization":
		scheme, value, ok := strings.Cut(text, " ")
		if ok && len(value) >= 8 && !strings.Contains(value, " ") {
			return len(scheme) + 1, len(text), "a credential"
		}
		if !ok && len(text) >= 16 {
			return 0, len(text), "a credential"
		}
	case len(text) >= 6 && !strings.ContainsAny(text, " \n"):
		return 0, len(text), "a " + kind
	}
	return 0, 0, ""
}

// shortestToken is how many characters a key has at least, with its prefix.
const shortestToken = 20

// token finds a key with a prefix that its issuer gives to all of its keys.
func token(text string) (from, to int) {
	if len(text) < shortestToken {
		return 0, 0
	}
	prefixes := []struct {
		text string
		rest int // how many characters follow at least
	}{
		{"sk-", 17},
		{"ghp_", 20},
		{"gho_", 20},
		{"ghs_", 20},
		{"github_pat_", 20},
		{"glpat-", 16},
		{"xoxb-", 16},
		{"xoxp-", 16},
		{"hf_", 24},
		{"AKIA", 16},
		{"AIza", 30},
	}
	for _, p := range prefixes {
		for at := 0; ; {
			i := strings.Index(text[at:], p.text)
			if i < 0 {
				break
			}
			start := at + i
			end := start + len(p.text)
			for end < len(text) && (isWord(text[end]) || text[end] == '-') {
				end++
			}
			alone := start == 0 || !isWord(text[start-1]) && text[start-1] != '-'
			if alone && end-start-len(p.text) >= p.rest && strings.ContainsAny(text[start:end], "0123456789") && !isPlaceholder(text[start:end]) {
				return start, end
			}
			at = end
		}
	}
	return 0, 0
}

// password finds the password in scheme://user:password@host.
func password(text string) (from, to int) {
	i := strings.Index(text, "://")
	if i < 0 {
		return 0, 0
	}
	rest := text[i+3:]
	if end := strings.IndexAny(rest, "/?# \n"); end >= 0 {
		rest = rest[:end]
	}
	user, _, ok := cutLast(rest, "@")
	if !ok {
		return 0, 0
	}
	name, pass, ok := strings.Cut(user, ":")
	if !ok || pass == "" || strings.ContainsAny(pass, "{$<*") || isPlaceholder(pass) {
		return 0, 0
	}
	from = i + 3 + len(name) + 1
	return from, from + len(pass)
}

func cutLast(s, sep string) (head, tail string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// sensitive says what a value under a name is likely to be; "" for nothing secret.
func sensitive(name string) string {
	if name == "" || !strings.Contains("dntyDNTY", name[len(name)-1:]) {
		return "" // all of them end in one of these letters
	}
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if name == "authorization" || name == "proxy_authorization" {
		return "authorization"
	}
	for _, kind := range []string{"password", "passwd", "api_key", "apikey", "access_key", "secret_key", "private_key", "access_token", "auth_token", "api_token", "secret", "token"} {
		if name == kind || strings.HasSuffix(name, "_"+kind) {
			return strings.ReplaceAll(kind, "_", " ")
		}
	}
	return ""
}

// isPlaceholder reports whether a text only shows where a credential goes.
func isPlaceholder(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"example", "changeme", "change-me", "change_me", "your-", "your_", "xxxx", "dummy", "placeholder", "redacted", "****", "<", "..."} {
		if strings.Contains(text, word) {
			return true
		}
	}
	switch text {
	case "password", "secret", "token", "none", "string", "fake-key", "not-needed", "no-key", "unused", "ollama":
		return true
	}
	return false
}
