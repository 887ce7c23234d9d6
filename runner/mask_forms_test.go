package runner

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// A secret is hidden however it is written, alone and as a part of more.
func TestSecretForms(t *testing.T) {
	const secret = "pa?s/w0rd>~é&!"
	m := &masker{}
	m.hide(secret)
	for _, around := range [][2]string{{"", ""}, {"u:", "x"}, {"us:", "xy"}, {"use:", "xyz"}, {"", "\n"}} {
		text := around[0] + secret + around[1]
		for name, form := range map[string]string{
			"plain": text, "query": url.QueryEscape(text), "path": url.PathEscape(text), "quoted": fmt.Sprintf("%q", text),
			"base64": base64.StdEncoding.EncodeToString([]byte(text)), "base64 url": base64.RawURLEncoding.EncodeToString([]byte(text)),
		} {
			// Of a group of characters that the secret shares with what is around it
			// some bits may show.
			if got := m.text(form); !strings.Contains(got, masked) || len(got) > len(masked)+3*len(around[0]+around[1])+8 {
				t.Errorf("%s of %q: %s shows as %s", name, text, form, got)
			}
		}
	}
	short := &masker{}
	short.hide("abcd")
	for _, text := range []string{"YWJj", "ZGVm", "abce"} {
		if got := short.text(text); got != text {
			t.Errorf("%q shows as %q", text, got)
		}
	}
}
