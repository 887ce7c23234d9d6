// Keys of services by what all of them begin with. Which services and how their keys
// look is taken from the rules of gitleaks (github.com/gitleaks/gitleaks), a scanner that
// keeps up with them.

package credentials

import (
	"slices"
	"strings"
)

// token is how the keys of some services begin, how many characters follow at least, and
// which besides letters, digits, _ and -; hex is for lower-case hexadecimal digits only.
type token struct {
	prefixes []string
	rest     int
	marks    string
	hex      bool
}

// tokens are those of usual services; what is not as plain has a function below.
var tokens = []token{
	{prefixes: []string{"sk-"}, rest: 17}, // sk-: OpenAI, Anthropic and those who follow them
	{prefixes: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, rest: 10},
	{prefixes: []string{"ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "LTAI"}, rest: 20},
	{prefixes: []string{"glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xapp-", "AKIA", "ASIA"}, rest: 16},
	{prefixes: []string{"hf_"}, rest: 24},
	{prefixes: []string{"AIza"}, rest: 30},
	{prefixes: []string{"npm_"}, rest: 36},
	{prefixes: []string{"pypi-AgE", "PMAK-"}, rest: 50},
	{prefixes: []string{"rubygems_"}, rest: 48, hex: true},
	{prefixes: []string{"SG."}, rest: 60, marks: "."},
	{prefixes: []string{"dapi", "SK"}, rest: 32, hex: true},
	{prefixes: []string{"dop_v1_", "doo_v1_", "dor_v1_", "sntryu_"}, rest: 64, hex: true},
	{prefixes: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, rest: 32},
	{prefixes: []string{"lin_api_", "ntn_", "dp.pt.", "glsa_", "gsk_", "pplx-"}, rest: 40},
	{prefixes: []string{"pul-"}, rest: 40, hex: true},
	{prefixes: []string{"sntrys_"}, rest: 40, marks: "+/="},
	{prefixes: []string{"hvs."}, rest: 60},
	{prefixes: []string{"ATATT3"}, rest: 100, marks: "="},
	{prefixes: []string{"glc_"}, rest: 30, marks: "+/="},
	{prefixes: []string{"ops_eyJ"}, rest: 200, marks: "+/="},
}

// shortest is how many characters of words and of the marks of keys stand side by side
// at least where a key does: what a private key begins with.
const shortest = len("-----BEGIN")

// inKeys are the characters of words and of the marks of keys: each one of a file is asked
// for.
var inKeys = func() (in [256]bool) {
	for c := range in {
		in[c] = isWord(byte(c)) || strings.IndexByte("-.:+/=", byte(c)) >= 0
	}
	return in
}()

// Tokens calls found for each key that looks like one of a service.
func Tokens(text string, found func(from, to int)) {
	for at, words := 0, 0; at < len(text); at++ {
		for words = max(words, at); words < len(text) && inKeys[text[words]]; words++ {
		}
		if words-at < shortest {
			at = words // most words of a text are too short
			continue
		}
		if !beginsToken(text, at) {
			continue
		}
		end := max(tokenAt(text, at), webTokenAt(text, at), botTokenAt(text, at), privateKeyAt(text, at), hookAt(text, at))
		if end > at && !isPlaceholder(text[at:end]) {
			found(at, end)
			at = end - 1
		}
	}
}

// beginsToken reports whether any kind of key may begin there.
func beginsToken(text string, at int) bool {
	if at > 0 && (isWord(text[at-1]) || text[at-1] == '-') {
		return false
	}
	return strings.IndexByte("srgxhAnpSdLloPtGae-0123456789", text[at]) >= 0
}

// tokenAt is the end of a key with a prefix of a service, 0 when there is none.
func tokenAt(text string, at int) int {
	for i := range tokens {
		t := &tokens[i]
		begins := slices.IndexFunc(t.prefixes, func(prefix string) bool { return strings.HasPrefix(text[at:], prefix) })
		if begins < 0 {
			continue
		}
		start := at + len(t.prefixes[begins])
		end := start
		for end < len(text) && t.has(text[end]) {
			end++
		}
		exact := !t.hex || end-start == t.rest && (end == len(text) || !isWord(text[end]))
		if end-start >= t.rest && exact && strings.ContainsAny(text[at:end], "0123456789") {
			return end
		}
	}
	return 0
}

func (t *token) has(c byte) bool {
	if t.hex {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
	}
	return isWord(c) || c == '-' || strings.IndexByte(t.marks, c) >= 0
}

// run is where characters end that are words or some marks.
func run(text string, at int, marks string) int {
	for at < len(text) && (isWord(text[at]) || strings.IndexByte(marks, text[at]) >= 0) {
		at++
	}
	return at
}

// webTokenAt is the end of a signed JSON Web Token: head, claims and signature.
func webTokenAt(text string, at int) int {
	const least = 16 // of each part
	if !strings.HasPrefix(text[at:], "eyJ") {
		return 0
	}
	head := run(text, at, "-")
	if head-at < least || !strings.HasPrefix(text[head:], ".eyJ") {
		return 0
	}
	claims := run(text, head+1, "-")
	if claims-head < least || claims == len(text) || text[claims] != '.' {
		return 0
	}
	if end := run(text, claims+1, "-"); end-claims > least {
		return end
	}
	return 0
}

// botTokenAt is the end of a key of a Telegram bot: its number, a colon, and 35 more
// characters, the first of which is A.
func botTokenAt(text string, at int) int {
	colon := at
	for colon < len(text) && text[colon] >= '0' && text[colon] <= '9' {
		colon++
	}
	if n := colon - at; n < 8 || n > 16 || !strings.HasPrefix(text[colon:], ":A") {
		return 0
	}
	const length = 35
	if end := run(text, colon+1, "-"); end-colon-1 == length {
		return end
	}
	return 0
}

// privateKeyAt is the end of the first line of a private key.
func privateKeyAt(text string, at int) int {
	rest, is := strings.CutPrefix(text[at:], "-----BEGIN ")
	if !is {
		return 0
	}
	kind, _, is := strings.Cut(rest[:min(len(rest), 40)], "-----")
	if !is || !strings.HasSuffix(kind, "PRIVATE KEY") {
		return 0
	}
	return at + len("-----BEGIN ") + len(kind) + len("-----")
}

// hookAt is the end of an address that lets whoever knows it write to Slack.
func hookAt(text string, at int) int {
	const host = "hooks.slack.com/services/"
	if !strings.HasPrefix(text[at:], host) {
		return 0
	}
	const least = 30
	if end := run(text, at+len(host), "/"); end-at-len(host) >= least {
		return end
	}
	return 0
}
