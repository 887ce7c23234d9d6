// What must not stand in a recording.

package cassette

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/internal/redact"
)

// mask stands where a secret was.
const mask = redact.Mask

// scrubbed is a call without secrets: known texts, and what stands under keys
// that hold secrets by their name.
func scrubbed(id identity, secrets []string) (identity, error) {
	text, err := scrubJSON(id.Request, secrets, true)
	id.Request = text
	return id, err
}

// scrubJSON takes secrets out of JSON. Values under telling keys are taken out
// of requests only: in an answer, a flow may go by them.
func scrubJSON(text json.RawMessage, secrets []string, byKey bool) (json.RawMessage, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	return encode(scrub(v, secrets, byKey))
}

func scrub(v any, secrets []string, byKey bool) any {
	switch v := v.(type) {
	case string:
		return hide(v, secrets)
	case []any:
		for i := range v {
			v[i] = scrub(v[i], secrets, byKey)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if text, ok := value.(string); ok && byKey && text != "" && telling(key) {
				value = mask
			}
			out[hideKey(key, secrets)] = scrub(value, secrets, byKey)
		}
		return out
	}
	return v
}

// hideKey leaves secrets that read as names do: a key may be one.
func hideKey(key string, secrets []string) string {
	for _, secret := range secrets {
		if !redact.Word(secret) {
			key = strings.ReplaceAll(key, secret, mask)
		}
	}
	return key
}

func hide(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, mask)
	}
	return text
}

// telling reports whether a key holds a secret by its name.
func telling(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	return slices.Contains([]string{
		"access_token", "api_key", "apikey", "authorization", "client_secret", "cookie", "passwd", "password",
		"proxy_authorization", "refresh_token", "secret", "set_cookie", "x_api_key",
	}, key)
}
