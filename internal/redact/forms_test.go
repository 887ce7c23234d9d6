package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hidden masks the forms of a secret in a text, the longest first.
func hidden(text, secret string) string {
	forms := Forms(secret)
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, Mask)
	}
	return text
}

// Secrets are hidden in every encoding, alone and inside other text.
func TestForms(t *testing.T) {
	const secret = "pa?s/w0rd>~é&!"
	for _, around := range [][2]string{{"", ""}, {"u:", "x"}, {"us:", "xy"}, {"use:", "xyz"}, {"", "\n"}} {
		text := around[0] + secret + around[1]
		each := ""
		for _, c := range []byte(text) {
			each += fmt.Sprintf("%%%02x", c)
		}
		digits := hex.EncodeToString([]byte(text))
		for name, form := range map[string]string{
			"plain": text, "query": url.QueryEscape(text), "path": url.PathEscape(text), "quoted": fmt.Sprintf("%q", text),
			"lower query": regexp.MustCompile(`%..`).ReplaceAllStringFunc(url.QueryEscape(text), strings.ToLower), "every byte": each,
			"as Python quotes": around[0] + "pa%3Fs/w0rd%3E~%C3%A9%26%21", "as encodeURIComponent": "pa%3Fs%2Fw0rd%3E~%C3%A9%26!",
			"as a path": (&url.URL{Path: text}).EscapedPath(), "an address in an address": url.QueryEscape(url.QueryEscape(text)),
			"quoted twice": fmt.Sprintf("%q", fmt.Sprintf("%q", text)), "HTML": html.EscapeString(text),
			"HTML as Python escapes": strings.ReplaceAll(html.EscapeString(text), "&#34;", "&quot;"),
			"dumped hex":             spaced(digits, " "), "hex with colons": strings.ToUpper(spaced(digits, ":")),
			"hex": digits, "upper hex": strings.ToUpper(digits),
			"base64": base64.StdEncoding.EncodeToString([]byte(text)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte(text)),
		} {
			// Some bits may show of a group of characters that the secret shares with
			// its neighbours.
			if got := hidden(form, secret); !strings.Contains(got, Mask) || len(got) > len(Mask)+3*len(around[0]+around[1])+8 {
				t.Errorf("%s of %q: %s shows as %s", name, text, form, got)
			}
		}
	}
	for _, text := range []string{"YWJj", "ZGVm", "abce", "6162", "%61%62"} {
		if got := hidden(text, "abcd"); got != text {
			t.Errorf("%q shows as %q", text, got)
		}
	}
}

// Each language escapes quotes and backslashes in its own way.
func TestQuotedForms(t *testing.T) {
	const secret = `it's a "back\slash"`
	for name, form := range map[string]string{
		"JSON": `"it's a \"back\\slash\""`, "Python, JavaScript": `'it\'s a "back\\slash"'`, "repr without an escaped quote": `it's a "back\\slash"`,
		"YAML": `'it''s a "back\slash"'`, "a shell": `'it'\''s a "back\slash"'`, "Python's shlex": `'it'"'"'s a "back\slash"'`,
	} {
		if got := hidden(form, secret); !strings.Contains(got, Mask) || strings.Contains(got, "slash") {
			t.Errorf("%s: %s shows as %s", name, form, got)
		}
	}
}

// spaced puts a separator between the digits of bytes.
func spaced(digits, between string) string {
	var bytes []string
	for i := 0; i < len(digits); i += 2 {
		bytes = append(bytes, digits[i:i+2])
	}
	return strings.Join(bytes, between)
}

// Long secrets are hidden line by line, as base64 wraps them and as indented PEM keys.
func TestLongForms(t *testing.T) {
	var secret strings.Builder
	for i := range 100 {
		fmt.Fprintf(&secret, "%d-%x/", i, i*i)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(secret.String()))
	for _, width := range []int{64, 76} {
		for _, end := range []string{"\n", "\r\n"} {
			text := ""
			for i := 0; i < len(encoded); i += width {
				text += encoded[i:min(len(encoded), i+width)] + end
			}
			if got := hidden(text, secret.String()); strings.TrimSpace(got) != Mask {
				t.Errorf("in lines of %d: %s", width, got)
			}
		}
	}
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----\n"
	if got := hidden("  MIIEvQIBADANBgkqhkiG9w0BAQ\n  EFAASCBKcwggSjAgEAAoIBAQ\n", pem); got != "  ***\n  ***\n" {
		t.Errorf("lines of a key: %s", got)
	}
}

// Refusal says why a short text can't be a secret.
func TestRefusal(t *testing.T) {
	for secret, want := range map[string]string{
		"": "is empty", "k": "has 1 character;", "éé": "has 2 characters;", "abc": "has 3 characters;", "abcd": "", "éééé": "",
	} {
		if got := Refusal(secret); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", secret, got, want)
		}
	}
}

// Secrets that look like names stay in object keys.
func TestWord(t *testing.T) {
	for text, want := range map[string]bool{"kind": true, "x-api-key": true, "tool_calls": true, "hunter2": false, "a b": false, "sk-1": false, "clé": false} {
		if IsWord(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
