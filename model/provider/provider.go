// Package provider opens models by the names that graph files use:
// provider/name.
package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/redact"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/anthropic"
	"github.com/graphrun/graphrun/model/openai"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/model/responses"
	"github.com/graphrun/graphrun/model/scripted"
	"github.com/graphrun/graphrun/model/wire"
)

// Options are what a graph and its run say about providers. The zero value
// knows anthropic, openai and scripted.
type Options struct {
	// Declared is the providers block of the graph, evaluated: by name, with the
	// keys type, api, base_url, api_key, headers, timeout, params.
	Declared map[string]any
	// Dir is the folder that scripts are named from, that of the graph file.
	Dir string
	// Getenv reads the environment for OPENAI_API_KEY and ANTHROPIC_API_KEY, the
	// keys of the providers with these names when the graph declares none and no
	// address of its own; nil: os.Getenv.
	Getenv func(string) string
	// Sleep waits out the delays of scripts; nil: on the machine's clock.
	Sleep func(context.Context, time.Duration) error
	// HTTP makes requests; nil: the default transport.
	HTTP *http.Client
}

// Split takes provider/name apart; the name may hold more slashes. It is false
// for a text without both.
func Split(ref string) (provider, name string, ok bool) {
	provider, name, _ = strings.Cut(ref, "/")
	return provider, name, provider != "" && name != ""
}

// declared is one entry of the providers block.
type declared struct {
	kind, api, baseURL, key string
	headers                 map[string]string
	params                  map[string]any
	timeout                 time.Duration
}

// Open returns the client of a model. A script's is a *scripted.Client and
// starts with nothing used up, so a run opens each script once. Errors are
// *model.Error: of kind auth without a key, else of kind invalid_input; what
// they name is what to change. Nothing is connected yet.
func Open(ref string, o Options) (model.Client, error) {
	name, id, ok := Split(ref)
	if !ok {
		return nil, invalid("the model %q is none; it is named provider/name, such as openai/gpt-6-luna", ref)
	}
	p, err := o.find(name)
	if err != nil {
		return nil, err
	}
	if p.key, err = o.keyOf(name, p); err != nil {
		return nil, err
	}
	config := wire.Config{
		Model: id, Provider: name, BaseURL: p.baseURL, Key: p.key, Headers: p.headers, Params: p.params, Timeout: p.timeout, HTTP: o.HTTP,
	}
	if p.kind == "anthropic" {
		known := price.Of("anthropic/" + id)
		config.MaxTokens, config.MostTokens = known.DefaultOutput(), known.MaxOutput()
	}
	var client model.Client
	switch p.protocol() {
	case "chat":
		client, err = opened(openai.New(config))
	case "responses":
		client, err = opened(responses.New(config))
	case "anthropic":
		client, err = opened(anthropic.New(config))
	case "scripted":
		return o.script(id)
	default:
		return nil, invalid("provider %q has the type %q; allowed are anthropic, openai and scripted", name, p.kind)
	}
	if err != nil {
		return nil, invalid("%v", err)
	}
	return client, nil
}

// protocol is what the server speaks. OpenAI's own speaks both of its protocols,
// and its models want the newer one; other servers have the older one.
func (p declared) protocol() string {
	switch {
	case p.kind != "openai":
		return p.kind
	case p.api != "":
		return p.api
	case p.baseURL == "":
		return "responses"
	}
	address, err := url.Parse(p.baseURL)
	if err == nil && (address.Hostname() == "api.openai.com" || strings.HasSuffix(address.Hostname(), ".api.openai.com")) { // eu.api.openai.com
		return "responses"
	}
	return "chat"
}

// opened keeps a nil of a type from becoming a client that is not nil.
func opened[C model.Client](client C, err error) (model.Client, error) {
	if err != nil {
		return nil, err
	}
	return client, nil
}

// Key is the key that a model is asked with; "" for none.
func Key(ref string, o Options) string {
	name, _, _ := Split(ref)
	p, err := o.find(name)
	if err != nil {
		return ""
	}
	key, err := o.keyOf(name, p)
	if err != nil {
		return ""
	}
	return key
}

// find is the provider of a name: declared, or known.
func (o Options) find(name string) (declared, error) {
	known := []string{"anthropic", "openai", "scripted"}
	given, ok := o.Declared[name].(map[string]any)
	if !ok {
		if slices.Contains(known, name) {
			return declared{kind: name}, nil
		}
		known = slices.Sorted(maps.Keys(o.Declared))
		known = slices.Compact(slices.Sorted(slices.Values(append(known, "anthropic", "openai", "scripted"))))
		if near := suggest.Closest(name, known); near != "" {
			return declared{}, invalid("there is no provider %q; did you mean %q?", name, near)
		}
		return declared{}, invalid("there is no provider %q; there are %s", name, strings.Join(known, ", "))
	}
	return read(name, given)
}

func read(name string, given map[string]any) (declared, error) {
	p := declared{headers: map[string]string{}}
	p.kind, _ = given["type"].(string)
	p.api, _ = given["api"].(string)
	p.baseURL, _ = given["base_url"].(string)
	p.key, _ = given["api_key"].(string)
	p.params, _ = given["params"].(map[string]any)
	headers, _ := given["headers"].(map[string]any)
	for header, value := range headers {
		p.headers[header] = fmt.Sprint(value)
	}
	if text, ok := given["timeout"].(string); ok {
		var err error
		if p.timeout, err = time.ParseDuration(text); err != nil {
			return declared{}, invalid("provider %q has the timeout %q; it must be a duration such as 30s", name, text)
		}
	}
	return p, nil
}

// keyOf is the key of a provider. The environment's is sent nowhere but to
// the provider that it is for, so an address of the graph's own gets none.
func (o Options) keyOf(name string, p declared) (string, error) {
	variable := map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}[p.kind]
	if p.key != "" || p.baseURL != "" || variable == "" {
		return p.key, nil
	}
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if key := getenv(variable); key != "" {
		if refusal := redact.Refusal(key); refusal != "" {
			return "", invalid("the key of provider %q: environment variable %s %s", name, variable, refusal)
		}
		return key, nil
	}
	return "", &model.Error{Kind: "auth", Message: fmt.Sprintf("provider %q has no key; set the environment variable %s, or declare providers.%s.api_key", name, variable, name)}
}

func (o Options) script(path string) (model.Client, error) {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(o.Dir, filepath.FromSlash(path))
	}
	src, err := bounded.ReadFile(full, bounded.Text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, invalid("there is no script %q; scripted/PATH is relative to the graph file", path)
	case err != nil:
		return nil, invalid("the script %q can't be read: %v", path, err)
	}
	script, err := scripted.Parse(path, src)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return script.NewClient(o.Sleep), nil
}

func invalid(format string, args ...any) *model.Error {
	return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(format, args...)}
}
