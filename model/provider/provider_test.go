package provider

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/modeltest"
	"github.com/graphrun/graphrun/model/scripted"
)

// ask makes a call and returns what its server saw.
func ask(t *testing.T, ref string, o Options) {
	t.Helper()
	client, err := Open(ref, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Chat(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Content: "x"}}}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestDeclaredProvider(t *testing.T) {
	var seen modeltest.Request
	url := modeltest.ServeFile(t, "../openai/testdata/text.http", 0, func(r modeltest.Request) { seen = r })
	t.Setenv("OPENAI_API_KEY", "of-the-environment")
	t.Setenv("ANTHROPIC_API_KEY", "of-the-environment")
	ask(t, "local/org/m-1", Options{Declared: map[string]any{"local": map[string]any{
		"type": "openai", "base_url": url + "/v1/", "headers": map[string]any{"X-Team": 7}, "timeout": "1m", "params": map[string]any{"seed": 3},
	}}})
	if seen.Path != "/v1/chat/completions" || seen.Body["model"] != "org/m-1" || seen.Body["seed"] != 3.0 || seen.Header.Get("X-Team") != "7" || seen.Header.Get("Authorization") != "" {
		t.Errorf("got %+v", seen)
	}
	url = modeltest.ServeFile(t, "../anthropic/testdata/text.http", 0, func(r modeltest.Request) { seen = r })
	ask(t, "claude/m-2", Options{Declared: map[string]any{"claude": map[string]any{"type": "anthropic", "base_url": url + "/v1", "api_key": "key-1"}}})
	if seen.Path != "/v1/messages" || seen.Header.Get("X-Api-Key") != "key-1" || seen.Header.Get("Anthropic-Version") == "" {
		t.Errorf("got %+v", seen)
	}
}

func TestKeyOfEnvironment(t *testing.T) {
	for ref, variable := range map[string]string{"openai/m": "OPENAI_API_KEY", "anthropic/m": "ANTHROPIC_API_KEY"} {
		t.Setenv(variable, "key-1")
		var key string
		if _, err := Open(ref, Options{Hide: func(given string) { key = given }}); err != nil || key != "key-1" {
			t.Errorf("got the key %q, %v", key, err)
		}
		t.Setenv(variable, "k")
		if _, err := Open(ref, Options{}); err == nil || !strings.Contains(err.Error(), variable+" has 1 character; at least 4 are needed") {
			t.Errorf("got %v", err)
		}
		t.Setenv(variable, "")
		_, err := Open(ref, Options{})
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != "auth" || !strings.Contains(err.Error(), variable) {
			t.Errorf("got %v", err)
		}
	}
}

func TestScript(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("responses: [{content: hi}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("respones: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := Open("scripted/s.yaml", Options{Dir: dir})
	if _, ok := client.(*scripted.Client); !ok || err != nil {
		t.Errorf("got %T, %v", client, err)
	}
	ask(t, "fake/s.yaml", Options{Dir: dir, Declared: map[string]any{"fake": map[string]any{"type": "scripted"}}})
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("respones: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Declared: map[string]any{
		"local": map[string]any{"type": "openai", "base_url": "localhost:1234"},
		"slow":  map[string]any{"type": "openai", "base_url": "http://h", "timeout": "soon"},
		"odd":   map[string]any{"type": "magic"},
	}}
	for ref, want := range map[string]string{
		"gpt":                `invalid model "gpt"`,
		"openai/":            `invalid model "openai/"`,
		"opnai/m":            `did you mean "openai"?`,
		"xyzzy/m":            "there are anthropic, local, odd, openai, scripted, slow",
		"local/m":            `invalid base URL "localhost:1234"`,
		"slow/m":             `"timeout" is "soon"`,
		"odd/m":              `the type "magic"`,
		"scripted/none.yaml": `there is no script "none.yaml"`,
		"scripted/bad.yaml":  `bad.yaml:1:1: `,
	} {
		_, err := Open(ref, o)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != "invalid_input" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", ref, err, want)
		}
	}
}

// OpenAI itself is called with its newer protocol, other providers with their only one.
func TestProtocolOfOpenAI(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "a-key")
	answers := map[string]string{"/responses": "../responses/testdata/text.http", "/chat/completions": "../openai/testdata/text.http"}
	for want, cases := range map[string][]map[string]any{
		"/responses":        {nil, {"type": "openai"}, {"type": "openai", "base_url": "https://eu.api.openai.com/v1"}, {"type": "openai", "base_url": "https://gateway.example/v1", "api": "responses"}},
		"/chat/completions": {{"type": "openai", "api": "chat"}, {"type": "openai", "base_url": "https://gateway.example/v1"}, {"type": "openai", "base_url": "https://api.openai.com.example/v1"}},
	} {
		for _, declared := range cases {
			var path string
			url := modeltest.ServeFile(t, answers[want], 0, func(r modeltest.Request) { path = r.Path })
			o := Options{HTTP: &http.Client{Transport: redirected(url)}}
			if declared != nil {
				o.Declared = map[string]any{"openai": declared}
			}
			ask(t, "openai/m", o)
			if !strings.HasSuffix(path, want) {
				t.Errorf("%v: asked at %s", declared, path)
			}
		}
	}
}

// redirected sends all requests to one address.
type redirected string

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host = "http", strings.TrimPrefix(string(r), "http://")
	return http.DefaultTransport.RoundTrip(out)
}
