// Keys of services by what all of them begin with. Which services and how their keys
// look is taken from the rules of gitleaks (github.com/gitleaks/gitleaks), a scanner that
// keeps up with them.

package credentials

import "strings"

// token is how the keys of a service begin, how many characters follow at least, and
// which besides letters, digits, _ and -; hex is for lower-case hexadecimal digits only.
type token struct {
	prefix string
	rest   int
	marks  string
	hex    bool
}

// tokens are those of usual services; what is not as plain has a function below.
var tokens = []token{
	{prefix: "sk-", rest: 17}, // OpenAI, Anthropic and those who follow them
	{prefix: "sk_live_", rest: 10},
	{prefix: "sk_test_", rest: 10},
	{prefix: "rk_live_", rest: 10},
	{prefix: "rk_test_", rest: 10},
	{prefix: "ghp_", rest: 20},
	{prefix: "gho_", rest: 20},
	{prefix: "ghs_", rest: 20},
	{prefix: "ghu_", rest: 20},
	{prefix: "ghr_", rest: 20},
	{prefix: "github_pat_", rest: 20},
	{prefix: "glpat-", rest: 16},
	{prefix: "gldt-", rest: 16},
	{prefix: "glptt-", rest: 16},
	{prefix: "glrt-", rest: 16},
	{prefix: "glcbt-", rest: 16},
	{prefix: "xoxb-", rest: 16},
	{prefix: "xoxp-", rest: 16},
	{prefix: "xoxa-", rest: 16},
	{prefix: "xoxr-", rest: 16},
	{prefix: "xapp-", rest: 16},
	{prefix: "hf_", rest: 24},
	{prefix: "AKIA", rest: 16},
	{prefix: "ASIA", rest: 16},
	{prefix: "AIza", rest: 30},
	{prefix: "npm_", rest: 36},
	{prefix: "pypi-AgE", rest: 50},
	{prefix: "rubygems_", rest: 48, hex: true},
	{prefix: "SG.", rest: 60, marks: "."},
	{prefix: "dapi", rest: 32, hex: true},
	{prefix: "LTAI", rest: 20},
	{prefix: "dop_v1_", rest: 64, hex: true},
	{prefix: "doo_v1_", rest: 64, hex: true},
	{prefix: "dor_v1_", rest: 64, hex: true},
	{prefix: "shpat_", rest: 32},
	{prefix: "shpca_", rest: 32},
	{prefix: "shppa_", rest: 32},
	{prefix: "shpss_", rest: 32},
	{prefix: "lin_api_", rest: 40},
	{prefix: "ntn_", rest: 40},
	{prefix: "pul-", rest: 40, hex: true},
	{prefix: "PMAK-", rest: 50},
	{prefix: "sntrys_", rest: 40, marks: "+/="},
	{prefix: "sntryu_", rest: 64, hex: true},
	{prefix: "hvs.", rest: 60},
	{prefix: "dp.pt.", rest: 40},
	{prefix: "ATATT3", rest: 100, marks: "="},
	{prefix: "glc_", rest: 30, marks: "+/="},
	{prefix: "glsa_", rest: 40},
	{prefix: "gsk_", rest: 40},
	{prefix: "pplx-", rest: 40},
	{prefix: "ops_eyJ", rest: 200, marks: "+/="},
	{prefix: "SK", rest: 32, hex: true},
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
		if !strings.HasPrefix(text[at:], t.prefix) {
			continue
		}
		start := at + len(t.prefix)
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
