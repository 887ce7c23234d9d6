package credentials

import (
	"strings"
	"testing"
)

// The test assembles the keys, so that no scanner reports this file as a leak.
func TestTokens(t *testing.T) {
	const letters, hex = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3H4", "0123456789abcdef"
	for what, c := range map[string]struct {
		text string
		is   bool
	}{
		"a model's key":           {"sk-" + letters[:40], true},
		"payments":                {"sk_" + "live_" + letters[:24], true},
		"code":                    {"gh" + "p_" + letters[:36], true},
		"code, another":           {"gl" + "pat-" + letters[:20], true},
		"packages":                {"npm" + "_" + letters[:36], true},
		"packages, another":       {"pypi-" + "AgEIcHlwaS5vcmcC" + letters, true},
		"mail":                    {"SG" + "." + letters[:22] + "." + letters[:43], true},
		"a cloud":                 {"AKI" + "A" + "QWERTY1234567890", true},
		"another cloud":           {"dop" + "_v1_" + strings.Repeat(hex, 4), true},
		"data":                    {"dap" + "i" + strings.Repeat(hex, 2), true},
		"a shop":                  {"shp" + "at_" + strings.Repeat(hex, 2), true},
		"phones":                  {"S" + "K" + strings.Repeat(hex, 2), true},
		"a bot":                   {"123456789" + ":A" + letters[:34], true},
		"a web token":             {"ey" + "J" + letters[:20] + "." + "ey" + "J" + letters[:20] + "." + letters[:30], true},
		"a private key":           {"-----BEGIN RSA " + "PRIVATE KEY-----\nabc", true},
		"a private key, close by": {"key=-----BEGIN " + "PRIVATE KEY-----\nabc", true},
		"a key, close by":         {"k=" + "sk-" + letters[:20], true},
		"a hook":                  {"https://hooks.slack.com/" + "services/T12345678/B12345678/" + letters[:24], true},
		"a public key":            {"-----BEGIN PUBLIC KEY-----\nabc", false},
		"an example":              {"sk-" + "example" + letters[:30], false},
		"words":                   {"sk-learn-is-a-library-for-python, npm_config_registry_of_somebody", false},
		"part of a word":          {"task-" + letters[:40], false},
		"upper case is no hex":    {"SK" + strings.Repeat("0123456789ABCDEF", 2), false},
		"a time and a word":       {"20261122:Another-word-that-is-quite-long-x", false},
		"two parts are no token":  {"ey" + "J" + letters[:20] + "." + "ey" + "J" + letters[:20], false},
		"too short":               {"glpat-abc1", false},
		"a longer number is none": {"dapi" + strings.Repeat(hex, 4), false},
	} {
		found := ""
		VisitTokens([]byte("x: \""+c.text+"\"\n"), func(from, to int) { found = ("x: \"" + c.text + "\"\n")[from:to] })
		if (found != "") != c.is {
			t.Errorf("%s: found %q in %q", what, found, c.text)
		}
	}
}

// Find judges a text by its content and by its key. A placeholder for a credential is not a
// credential.
func TestIn(t *testing.T) {
	const random = "9f86d081884c7d659a2feaa0c55ad015"
	for _, c := range []struct{ text, key, found, what string }{
		{"hunter2-long", "password", "hunter2-long", "a password"},
		{"hunter2-long", "PGPASSWORD", "hunter2-long", "a password"},
		{"hunter2-long", "title", "", ""},
		{"changeme", "password", "", ""},
		{"{{ secrets.X }}", "password", "", ""},
		{"$PASSWORD", "password", "", ""},
		{"Bearer " + random, "Authorization", random, "a credential"},
		{"curl -H 'X-Api-Key: " + random + "'", "command", random, "an api key"},
		{"TOKEN=" + random + " ./deploy", "script", random, "a token"},
		{"postgres://me:secret-one@db/x", "url", "secret-one", "a password in a URL"},
		{"postgres://me:{{ secrets.X }}@db/x", "url", "", ""},
		{"sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2", "token", "", ""}, // Tokens finds it
	} {
		from, to, what := Find(c.text, c.key)
		if c.text[from:to] != c.found || what != c.what {
			t.Errorf("%s: %s: found %q, %s; want %q, %s", c.key, c.text, c.text[from:to], what, c.found, c.what)
		}
	}
}
