// Keys of services by their first characters, as the rules of gitleaks have them
// (github.com/gitleaks/gitleaks), a scanner that keeps up with the services.

package credentials

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/graphrun/graphrun/internal/lazyregexp"
)

// token is the keys of some services: their prefixes, and a pattern for the rest.
type token struct {
	prefixes []string
	rest     func() *regexp.Regexp
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

// inKeys has the characters of keys.
var inKeys = func() (in [256]bool) {
	for c := range in {
		in[c] = isWord(byte(c)) || strings.IndexByte("-.:+/=", byte(c)) >= 0
	}
	return in
}()

// Tokens calls found for each text that looks like the key of a service.
func Tokens(text []byte, found func(from, to int)) {
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
			word := text[at : at+len(prefix)+len(t.rest().Find(text[at+len(prefix):]))]
			if len(word) > len(prefix) && (prefix == privateKey || bytes.ContainsAny(word, "0123456789")) {
				return at + len(word)
			}
		}
	}
	return 0
}
