// Package credentials finds passwords, keys and tokens in texts.
package credentials

import (
	"bytes"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// Find locates what looks like a credential in the text of a key, and names it with its article. Without
// one, from is to. It leaves out what VisitTokens finds.
func Find(text, key string) (from, to int, what string) {
	from, to, what = findCredential(text, key)
	VisitTokens([]byte(text[from:to]), func(int, int) { what = "" })
	if what == "" {
		return 0, 0, ""
	}
	return from, to, what
}

func findCredential(text, key string) (from, to int, what string) {
	if at := urlPassword.Get().FindStringSubmatchIndex(text); at != nil && !isPlaceholder(text[at[2]:at[3]]) {
		return at[2], at[3], "a password in a URL"
	}
	for i := range text {
		if text[i] == '=' || text[i] == ':' {
			if from, to, what = findAssigned(text, i); to > from {
				return from, to, what
			}
		}
	}
	kind := kindOfSecret(key)
	if kind == "" || strings.ContainsAny(text, "$") || strings.Contains(text, "{{") || isPlaceholder(text) {
		return 0, 0, ""
	}
	if kind == "authorization" {
		scheme, value, ok := strings.Cut(text, " ")
		switch {
		case ok && len(value) >= 8 && !strings.Contains(value, " "):
			return len(scheme) + 1, len(text), "a credential"
		case !ok && len(text) >= 16:
			return 0, len(text), "a credential"
		}
	} else if len(text) >= 6 && !strings.ContainsAny(text, " \n") {
		return 0, len(text), article(kind) + kind
	}
	return 0, 0, ""
}

// urlPassword matches the password in scheme://user:password@host.
var urlPassword = lazyregexp.New(`://[^:/?# \n]*:([^/?# \n{$<*]+)@`)

// findAssigned finds a long random credential after name= or name:, whose sign is at i.
func findAssigned(text string, i int) (from, to int, what string) {
	name := text[:i]
	name = name[strings.LastIndexFunc(name, func(r rune) bool { return r != '-' && (r > 127 || !isWord(byte(r))) })+1:]
	kind := kindOfSecret(name)
	if kind == "" {
		return 0, 0, ""
	}
	value := strings.TrimLeft(text[i+1:], " '\"")
	if kind == "authorization" {
		kind = "credential"
		for _, scheme := range []string{"Bearer ", "Basic ", "Token ", "bearer ", "token "} {
			value = strings.TrimPrefix(value, scheme)
		}
	}
	rest := strings.TrimLeftFunc(value, func(r rune) bool { return r < 128 && (isWord(byte(r)) || strings.ContainsRune("-+/.~", r)) })
	word := strings.TrimSuffix(value, rest)
	if !isRandom(word) || rest != "" && strings.Contains("{$(<", rest[:1]) {
		return 0, 0, ""
	}
	from = len(text) - len(value)
	return from, from + len(word), article(kind) + kind
}

func article(noun string) string {
	if strings.Contains("aeiou", noun[:1]) {
		return "an "
	}
	return "a "
}

// isRandom reports whether a word is as long and as mixed as a generated one.
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

// kindOfSecret returns the probable kind of a value under a name, or "" if it is not secret.
func kindOfSecret(name string) string {
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
	parts := []string{"example", "changeme", "change-me", "change_me", "your-", "your_", "xxxx", "dummy", "placeholder", "redacted", "****", "<", "..."}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) }) ||
		slices.Contains([]string{"password", "secret", "token", "none", "string", "fake-key", "not-needed", "no-key", "unused", "ollama"}, text)
}

// isWord reports whether a byte may occur in a name.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// passwords match a program in a script with a password, the last group.
var passwords = []*lazyregexp.Regexp{
	lazyregexp.New(`\b(?:curl|wget)\b[^\n|;&]*?\s(?:-u|--user)[ =]?["']?[^\s:'"{$]+:([^\s'"{$]+)`),
	lazyregexp.New(`\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]*?\s(?:-p|--password=)["']?([^\s'"{$]+)`),
	lazyregexp.New(`\bsshpass\s+-p\s*["']?([^\s'"{$]+)`),
	lazyregexp.New(`(?:^|[\s;&(])(?:export\s+)?[A-Z_]*PASS(?:WORD|WD)=["']?([^\s'"{$;]+)`),
}

// FindInScript finds a password that a script gives a program; to is 0 if there is none.
func FindInScript(script string) (from, to int) {
	for _, pattern := range passwords {
		for _, at := range pattern.Get().FindAllStringSubmatchIndex(script, -1) {
			if word := script[at[2]:at[3]]; len(word) >= 4 && !isPlaceholder(word) {
				return at[2], at[3]
			}
		}
	}
	return 0, 0
}

// FindInCommand finds the argument of a command that holds a password, as FindInScript does.
func FindInCommand(args []string) (index, from, to int) {
	if from, to = FindInScript(strings.Join(args, " ")); to == 0 {
		return 0, 0, 0
	}
	begin := 0
	for i, arg := range args {
		if from < begin+len(arg) {
			return i, from - begin, min(to-begin, len(arg))
		}
		begin += len(arg) + 1
	}
	return 0, 0, 0
}

// token describes the keys of some services: their prefixes, and a pattern for the rest.
type token struct {
	prefixes []string
	rest     *lazyregexp.Regexp
}

var tokens = []token{
	keys(`[\w-]{17,}`, "sk-"), // OpenAI, Anthropic and others
	keys(`[\w-]{10,}`, "sk_live_", "sk_test_", "rk_live_", "rk_test_"),
	keys(`[\w-]{20,}`, "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "LTAI"),
	keys(`[\w-]{16,}`, "glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xapp-", "AKIA", "ASIA"),
	keys(`[\w-]{24,}`, "hf_"),
	keys(`[\w-]{30,}`, "AIza"),
	keys(`[\w-]{36,}`, "npm_"),
	keys(`[\w-]{50,}`, "pypi-AgE", "PMAK-"),
	keys(`[0-9a-f]{48}\b`, "rubygems_"),
	keys(`[\w.-]{60,}`, "SG."),
	keys(`[0-9a-f]{32}\b`, "dapi", "SK"),
	keys(`[0-9a-f]{64}\b`, "dop_v1_", "doo_v1_", "dor_v1_", "sntryu_"),
	keys(`[\w-]{32,}`, "shpat_", "shpca_", "shppa_", "shpss_"),
	keys(`[\w-]{40,}`, "lin_api_", "ntn_", "dp.pt.", "glsa_", "gsk_", "pplx-"),
	keys(`[0-9a-f]{40}\b`, "pul-"),
	keys(`[\w+/=-]{40,}`, "sntrys_"),
	keys(`[\w-]{60,}`, "hvs."),
	keys(`[\w=-]{100,}`, "ATATT3"),
	keys(`[\w+/=-]{30,}`, "glc_"),
	keys(`[\w+/=-]{200,}`, "ops_eyJ"),
	keys(`[\w-]{13,}\.eyJ[\w-]{12,}\.[\w-]{16,}`, "eyJ"), // JSON Web Tokens
	keys(`[\w/]{30,}`, "hooks.slack.com/services/"),
	keys(`\d{7,15}:A[\w-]{34}\b`, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"), // Telegram
	keys(`[A-Z ]{0,24}PRIVATE KEY-----`, privateKey),
}

const privateKey = "-----BEGIN "

func keys(rest string, prefixes ...string) token {
	return token{prefixes, lazyregexp.New("^" + rest)}
}

// inKeys holds the characters that occur in keys.
var inKeys = func() (in [256]bool) {
	for c := range in {
		in[c] = isWord(byte(c)) || strings.IndexByte("-.:+/=", byte(c)) >= 0
	}
	return in
}()

// VisitTokens calls found for each text that looks like the key of a service.
func VisitTokens(text []byte, found func(from, to int)) {
	const shortest = len(privateKey) - 1
	for at, words := 0, 0; at < len(text); at++ {
		for words = max(words, at); words < len(text) && inKeys[text[words]]; words++ {
		}
		if words-at < shortest {
			at = words // most words of a text are too short
			continue
		}
		if at > 0 && (isWord(text[at-1]) || text[at-1] == '-') {
			continue
		}
		if end := tokenAt(text, at); end > at && !isPlaceholder(string(text[at:end])) {
			found(at, end)
			at = end - 1
		}
	}
}

// tokenAt returns the end of a key, or 0.
func tokenAt(text []byte, at int) int {
	for _, t := range tokens {
		for _, prefix := range t.prefixes {
			if !bytes.HasPrefix(text[at:], []byte(prefix)) {
				continue
			}
			word := text[at : at+len(prefix)+len(t.rest.Get().Find(text[at+len(prefix):]))]
			if len(word) > len(prefix) && (prefix == privateKey || bytes.ContainsAny(word, "0123456789")) {
				return at + len(word)
			}
		}
	}
	return 0
}
