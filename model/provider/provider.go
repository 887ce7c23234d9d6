// Opening models by name, with the settings of their providers.

// Package provider opens models by the names that graph files use: provider/name.
package provider

import (
	"cmp"
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
	"github.com/graphrun/graphrun/internal/keys"
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

// Options are settings of providers. The zero value knows anthropic, openai and
// scripted.
type Options struct {
	// Declared is the evaluated providers block of the graph: by name, with the keys
	// type, api, base_url, api_key, headers, timeout, params.
	Declared map[string]any
	// Dir is the folder of the graph file, which scripts are relative to.
	Dir string
	// Sleep waits for the delays of scripts, which need it.
	Sleep func(context.Context, time.Duration) error
	// Hide receives the key, or "", so that messages and logs can mask it.
	Hide func(key string)
	// HTTP makes requests, by default with the default transport.
	HTTP *http.Client
}

// Split cuts provider/name, where the name may hold more slashes. ok is false if one of them is missing.
func Split(ref string) (provider, name string, ok bool) {
	provider, name, _ = strings.Cut(ref, "/")
	return provider, name, provider != "" && name != ""
}

// types are the types of providers, with the variables that hold their keys.
var types = map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "scripted": ""}

// declared is an entry of the providers block.
type declared struct {
	name    string
	Kind    string         `key:"type"`
	API     string         `key:"api"`
	BaseURL string         `key:"base_url"`
	Key     string         `key:"api_key"`
	Params  map[string]any `key:"params"`
	Headers map[string]any `key:"headers"`
	Timeout time.Duration  `key:"timeout"`
}

// Open returns the client of a model without connecting it. A script's is a
// *scripted.Client with all entries unused, so a run opens each script once. Errors are
// *model.Error: of kind auth without a key, else of kind invalid_input.
func Open(ref string, o Options) (model.Client, error) {
	name, id, ok := Split(ref)
	if !ok {
		return nil, wire.InvalidRequest("invalid model %q; models are named provider/name, such as openai/gpt-6-luna", ref)
	}
	p, err := o.findProvider(name)
	if err == nil {
		p.Key, err = p.findKey()
	}
	if err != nil {
		return nil, err
	}
	if o.Hide != nil {
		o.Hide(p.Key)
	}
	config := wire.Config{
		Model: id, Provider: name, BaseURL: p.BaseURL, Key: p.Key, Headers: map[string]string{}, Params: p.Params, Timeout: p.Timeout, HTTP: o.HTTP,
	}
	for header, value := range p.Headers {
		config.Headers[header] = fmt.Sprint(value)
	}
	var client *wire.Client
	switch p.chooseProtocol() {
	case "chat":
		client, err = wire.New(&openai.Protocol, config)
	case "responses":
		client, err = wire.New(&responses.Protocol, config)
	case "anthropic":
		known := price.Of("anthropic/" + id).BaseRates()
		config.MaxTokens, config.MaxModelTokens = known.DefaultOutput, known.MaxOutput
		client, err = anthropic.New(config)
	case "scripted":
		return o.openScript(id)
	default:
		return nil, wire.InvalidRequest("provider %q has the type %q; allowed are anthropic, openai and scripted", name, p.Kind)
	}
	if err != nil {
		return nil, wire.InvalidRequest("%v", err)
	}
	return client, nil
}

// chooseProtocol returns the protocol of the server. OpenAI speaks chat and responses, and
// its models work better with responses. Other servers speak chat.
func (p declared) chooseProtocol() string {
	switch {
	case p.Kind != "openai":
		return p.Kind
	case p.API != "":
		return p.API
	}
	address, err := url.Parse(cmp.Or(p.BaseURL, "https://api.openai.com"))
	if err == nil && (address.Hostname() == "api.openai.com" || strings.HasSuffix(address.Hostname(), ".api.openai.com")) { // eu.api.openai.com
		return "responses"
	}
	return "chat"
}

func (o Options) findProvider(name string) (declared, error) {
	p := declared{name: name}
	if given, ok := o.Declared[name].(map[string]any); ok {
		if err := keys.Decode(given, &p); err != nil {
			return p, wire.InvalidRequest("provider %q: %v", name, err)
		}
		return p, nil
	}
	if _, known := types[name]; known {
		p.Kind = name
		return p, nil
	}
	known := slices.AppendSeq(keys.Sorted(o.Declared), maps.Keys(types))
	slices.Sort(known)
	known = slices.Compact(known)
	hint := cmp.Or(suggest.DidYouMean(name, known), "; there are "+strings.Join(known, ", "))
	return p, wire.InvalidRequest("there is no provider %q%s", name, hint)
}

// findKey returns the key of a provider, by default from the environment. A provider with its own
// address gets no key from the environment, so that a graph can't send it elsewhere.
func (p declared) findKey() (string, error) {
	variable := types[p.Kind]
	if p.Key != "" || p.BaseURL != "" || variable == "" {
		return p.Key, nil
	}
	key := os.Getenv(variable)
	if key == "" {
		return "", &model.Error{Kind: "auth", Message: fmt.Sprintf("provider %q has no key; set the environment variable %s, or declare providers.%s.api_key", p.name, variable, p.name)}
	}
	if refusal := redact.Refusal(key); refusal != "" {
		return "", wire.InvalidRequest("the key of provider %q: environment variable %s %s", p.name, variable, refusal)
	}
	return key, nil
}

func (o Options) openScript(path string) (model.Client, error) {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(o.Dir, filepath.FromSlash(path))
	}
	src, err := bounded.ReadFile(full, bounded.Text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, wire.InvalidRequest("there is no script %q; scripted/PATH is relative to the graph file", path)
	case err != nil:
		return nil, wire.InvalidRequest("the script %q can't be read: %v", path, err)
	}
	script, err := scripted.Parse(path, src)
	if err != nil {
		return nil, wire.InvalidRequest("%v", err)
	}
	return script.NewClient(o.Sleep), nil
}
