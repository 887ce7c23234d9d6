// Package credentials finds passwords, keys and tokens in texts: by the key that a text
// stands under, by what is assigned in it, and by how the keys of services look.
package credentials

import "strings"

// In finds what looks like a credential in a text that stands under a key, and
// says with its article what it looks like; from is to when there is none. What Tokens
// finds by itself is left to it.
func In(text, key string) (from, to int, what string) {
	if from, to, what = look(text, key); to > from && holdsToken(text[from:to]) {
		return 0, 0, ""
	}
	return from, to, what
}

func look(text, key string) (from, to int, what string) {
	if from, to = password(text); to > from {
		return from, to, "a password in a URL"
	}
	if from, to, what = assignedCredential(text); to > from {
		return from, to, what
	}
	kind := sensitive(key)
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
		return 0, len(text), article(kind) + kind
	}
	return 0, 0, ""
}

// holdsToken reports whether a text holds a key of a service.
func holdsToken(text string) bool {
	found := false
	Tokens(text, func(int, int) { found = true })
	return found
}

// assignedCredential finds name=value and name: value in a text, where the name
// is that of a credential and the value is long and random enough for one.
func assignedCredential(text string) (from, to int, what string) {
	for i := 1; i < len(text); i++ {
		if text[i] != '=' && text[i] != ':' {
			continue
		}
		start := i
		for start > 0 && (isWord(text[start-1]) || text[start-1] == '-') {
			start--
		}
		kind := sensitive(text[start:i])
		if kind == "" {
			continue
		}
		value := i + 1
		for value < len(text) && strings.IndexByte(" '\"", text[value]) >= 0 {
			value++
		}
		if kind == "authorization" {
			kind = "credential"
			for _, scheme := range []string{"Bearer ", "Basic ", "Token ", "bearer ", "token "} {
				if strings.HasPrefix(text[value:], scheme) {
					value += len(scheme)
				}
			}
		}
		end := value
		for end < len(text) && (isWord(text[end]) || strings.IndexByte("-+/.~", text[end]) >= 0) {
			end++
		}
		if isRandom(text[value:end]) && (end == len(text) || strings.IndexByte("{$(<", text[end]) < 0) {
			return value, end, article(kind) + kind
		}
	}
	return 0, 0, ""
}

func article(noun string) string {
	if strings.IndexByte("aeiou", noun[0]) >= 0 {
		return "an "
	}
	return "a "
}

// isRandom reports whether a word is long and mixed as generated ones are.
func isRandom(word string) bool {
	const short = 16
	if len(word) < short || isPlaceholder(word) {
		return false
	}
	digits, letters, marks := 0, 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9':
			digits++
		case isWord(c) && c != '_':
			letters++
		default:
			marks++
		}
	}
	return digits >= 3 && letters >= 3 && marks <= 3
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
	name, pass, ok := strings.Cut(rest[:max(strings.LastIndex(rest, "@"), 0)], ":")
	if !ok || pass == "" || strings.ContainsAny(pass, "{$<*") || isPlaceholder(pass) {
		return 0, 0
	}
	from = i + 3 + len(name) + 1
	return from, from + len(pass)
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
	for _, kind := range []string{"password", "passwd", "api_key", "apikey", "access_key", "secret_key", "private_key", "account_key", "accountkey", "access_token", "auth_token", "api_token", "secret", "token"} {
		if name == kind || strings.HasSuffix(name, "_"+kind) || kind == "password" && strings.HasSuffix(name, kind) { // PGPASSWORD, dbPassword
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

// isWord reports whether a byte may stand in a name.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
