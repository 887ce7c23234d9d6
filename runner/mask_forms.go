// The forms in which a secret may show.

package runner

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
)

// leastEncoded is the length from which on a form in base64 is hidden: shorter ones
// would hide too much.
const leastEncoded = 8

// formsOf is how a text reads: as it is, inside a message that quotes it, in an
// address, and in base64.
func formsOf(text string) []string {
	return append(append(quotedForms(text), text, url.QueryEscape(text), url.PathEscape(text)), encodedForms(text)...)
}

// quotedForms is how a text reads inside a message that quotes it.
func quotedForms(text string) []string {
	inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
	out := []string{inner(strconv.Quote(text)), inner(strconv.QuoteToASCII(text))}
	if asJSON, err := json.Marshal(text); err == nil {
		out = append(out, inner(string(asJSON)))
	}
	return out
}

// encodedForms is how a text reads in base64, alone or as a part of more, such as
// the name and password of an HTTP header: three bytes are four characters, so
// that it depends on where the text begins. Characters that hold bits of what
// stands around it are not among them.
func encodedForms(text string) []string {
	var out []string
	for before := range 3 {
		bytes := append(make([]byte, before), text...)
		from, to := (before*8+5)/6, len(bytes)*8/6
		if to-from < leastEncoded {
			continue
		}
		for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, encoding.EncodeToString(bytes)[from:to])
		}
	}
	return out
}
