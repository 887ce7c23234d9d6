package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/graphrun/graphrun/internal/longtest"
)

// slowestAnswer bounds the time of a response, also on a busy machine. A slower one hangs.
const slowestAnswer = 20 * time.Second

// randomAPI sends random requests to a server and validates the responses against the API
// description.
type randomAPI struct {
	*tested
	doc     map[string]any
	schemas *jsonschema.Compiler
	// runs were acknowledged and not deleted.
	runs map[string]bool
	seen map[string]int
}

func newRandomAPI(t *testing.T) *randomAPI {
	a := &randomAPI{tested: newTested(t, nil), runs: map[string]bool{}, seen: map[string]int{}}
	if err := os.WriteFile(filepath.Join(a.dir, "up"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.server.describe(), &a.doc); err != nil {
		t.Fatal(err)
	}
	a.schemas = jsonschema.NewCompiler()
	a.schemas.DefaultDraft(jsonschema.Draft2020)
	if err := a.schemas.AddResource("api.json", a.doc); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"asks", "asks-too"} {
		a.call(201, "POST", "/runs", `{"flow":"asking.yaml","run_id":"`+id+`"}`)
		a.until(id, "paused")
		a.runs[id] = true
	}
	return a
}

// oddTexts are texts that programs often handle wrongly.
var oddTexts = []string{
	"", " ", ".", "..", "../../etc/passwd", "a/b", "%2e%2e%2f", "\x00", "\u202e", "ß→😀", "'\"`<b>", "-1", "1e999", "null",
	strings.Repeat("x", 5000), "last", "a b", "\n", "{{ n }}", "key=value", "=", "9223372036854775808", "\xff\xfe",
}

// numbers are near the limits of allowed values.
var numbers = []json.Number{"0", "1", "2", "3", "-1", "500", "501", "1.5", "1e3", "2147483648", "9223372036854775807", "9223372036854775808", "1e400"}

// oneIn returns true once in n draws. rapid's own numbers would mostly be small.
func oneIn(t *rapid.T, n int, what string) bool {
	turns := make([]bool, n)
	turns[n-1] = true
	return rapid.SampledFrom(turns).Draw(t, what)
}

// text draws a value for a named parameter or key, often a valid one.
func (a *randomAPI) text(t *rapid.T, name string) string {
	fitting := map[string][]string{
		"run":    {"asks", "asks-too", "asks-t", "as", "last"},
		"flow":   {"asking.yaml", "asking.yaml", "asking.yaml", "deep/plain.yaml", "broken.yaml", "sleeping.yaml", "counting.yaml", "deep", "nope.yaml"},
		"run_id": {"r1", "r2", "r3", "r4"}, "parent": {"asks", "last"}, "graph": {"asking", "plain"}, "status": {"paused", "running", "crashed"},
		"target": {"ok", "ok", "ok", "ok[0]", "ok:who", "count"}, "timeout": {"1s", "10m", "-1s"}, "at": {"0", "1", "3", "4"}, "step": {"0", "1", "9"},
		"label": {"a=b"}, "limit": {"1", "500"}, "Last-Event-ID": {"0", "3", "99"}, "after": {"0", "2"}, "history": {"true"}, "node": {"ok", "count"},
	}[name]
	if name == "run" {
		for id := range a.runs {
			fitting = append(fitting, id)
		}
		slices.Sort(fitting)
	}
	if len(fitting) > 0 && !oneIn(t, 8, "odd") {
		return rapid.SampledFrom(fitting).Draw(t, name)
	}
	return rapid.OneOf(rapid.SampledFrom(oddTexts), rapid.String()).Draw(t, name)
}

// anything draws any JSON value.
func (a *randomAPI) anything(t *rapid.T, deep int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case kind == 3 && deep > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, a.anything(t, deep-1))
		}
		return list
	case kind == 4 && deep > 0:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			key := rapid.OneOf(rapid.SampledFrom([]string{"n", "who", "key", "go", "text", "most", "ok"}), rapid.SampledFrom(oddTexts)).Draw(t, "key")
			object[key] = a.anything(t, deep-1)
		}
		return object
	}
	return rapid.SampledFrom(append([]string{"yes", "no", filepath.Join(a.dir, "up")}, oddTexts...)).Draw(t, "text")
}

// fitting draws JSON that a schema of the description allows or almost allows.
func (a *randomAPI) fitting(t *rapid.T, name string, schema map[string]any) any {
	if oneIn(t, 30, "odd") {
		return a.anything(t, 2)
	}
	if name == "value" && !oneIn(t, 3, "illegal") {
		return rapid.SampledFrom([]string{"yes", "no"}).Draw(t, name)
	}
	if ref, ok := schema["$ref"].(string); ok {
		schema = a.doc["components"].(map[string]any)["schemas"].(map[string]any)[ref[strings.LastIndexByte(ref, '/')+1:]].(map[string]any)
	}
	if either, ok := schema["anyOf"].([]any); ok {
		schema = either[0].(map[string]any)
	}
	switch schema["type"] {
	case "object":
		return a.object(t, schema)
	case "array":
		list := []any{}
		for range rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "length") {
			list = append(list, a.fitting(t, name, schema["items"].(map[string]any)))
		}
		return list
	case "integer":
		if oneIn(t, 4, "border") {
			return rapid.SampledFrom(numbers).Draw(t, name)
		}
		return rapid.IntRange(0, 4).Draw(t, name)
	case "boolean":
		return rapid.Bool().Draw(t, name)
	case "string":
		return a.text(t, name)
	}
	return a.anything(t, 2)
}

// object draws an object that a schema allows or almost allows, with all required keys.
func (a *randomAPI) object(t *rapid.T, schema map[string]any) map[string]any {
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, key := range sortKeys(properties) {
		if slices.Contains(required, any(key)) || oneIn(t, 8, "has "+key) {
			out[key] = a.fitting(t, key, properties[key].(map[string]any))
		}
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok {
		for range rapid.SampledFrom([]int{1, 1, 2, 0, 3}).Draw(t, "entries") {
			key := rapid.SampledFrom([]string{"n", "go", "who", "key", "ok", "most", "", "a b"}).Draw(t, "key")
			switch {
			case len(more) > 0:
				out[key] = a.fitting(t, key, more)
			case key == "go" || key == "who":
				out[key] = filepath.Join(a.dir, "up")
			default:
				out[key] = rapid.SampledFrom(numbers).Draw(t, "number")
			}
		}
	}
	return out
}

// draw draws a request for an operation.
func (a *randomAPI) draw(t *rapid.T, o *operation) *http.Request {
	path := strings.ReplaceAll(o.pattern(), "...}", "}")
	about := a.doc["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(o.method)].(map[string]any)
	query, header := url.Values{}, http.Header{}
	params, _ := about["parameters"].([]any)
	for _, p := range params {
		p := p.(map[string]any)
		name := p["name"].(string)
		switch p["in"] {
		case "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(a.text(t, name)))
		case "query":
			for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, "times "+name) {
				query.Add(name, a.text(t, name))
			}
		default:
			if value := a.text(t, name); rapid.Bool().Draw(t, "has "+name) && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				header.Set(name, value)
			}
		}
	}
	if oneIn(t, 30, "more") {
		query.Add("nope", "1")
	}
	var body []byte
	if wanted, ok := about["requestBody"].(map[string]any); ok {
		schema := wanted["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
		body, _ = json.Marshal(a.fitting(t, "", schema)) // a value that can't be written gives no body
		switch {
		case oneIn(t, 30, "cut"):
			body = body[:len(body)/2]
		case oneIn(t, 30, "longer"):
			body = append(body, "{}"...)
		case oneIn(t, 30, "none"):
			body = []byte(rapid.SampledFrom(oddTexts).Draw(t, "body"))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequest(o.method, a.http.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s %q: %v", o.method, path, err)
	}
	r.Header = header
	r.Header.Set("Authorization", "Bearer "+testToken)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// answered compiles the schema of a response from the description, or returns nil without one.
func (a *randomAPI) answered(o *operation, status int, media string) (*jsonschema.Schema, error) {
	path := strings.ReplaceAll(o.pattern(), "...}", "}")
	responses := a.doc["paths"].(map[string]any)[path].(map[string]any)[strings.ToLower(o.method)].(map[string]any)["responses"].(map[string]any)
	for _, key := range []string{itoa(status), itoa(status/100) + "XX"} {
		response, ok := responses[key].(map[string]any)
		if !ok {
			continue
		}
		content, _ := response["content"].(map[string]any)
		if content == nil && media == "" {
			return nil, nil
		}
		if content[media] == nil {
			return nil, fmt.Errorf("the description has for %d %v, not %q", status, sortKeys(content), media)
		}
		escape := strings.NewReplacer("~", "~0", "/", "~1")
		return a.schemas.Compile("api.json#/paths/" + escape.Replace(path) + "/" + strings.ToLower(o.method) + "/responses/" + key + "/content/" + escape.Replace(media) + "/schema")
	}
	return nil, fmt.Errorf("the description has no answer %d", status)
}

// send sends a request and checks its answer.
func (a *randomAPI) send(t *rapid.T, o *operation, r *http.Request) {
	sent, _ := r.GetBody()
	var body bytes.Buffer
	_, _ = body.ReadFrom(sent) // it is in memory
	what := fmt.Sprintf("%s %s\n%v\n%s", r.Method, r.URL, r.Header, body.Bytes())
	wait := slowestAnswer
	if o.media == "text/event-stream" {
		wait = 100 * time.Millisecond // the stream of a run that has not ended is endless
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	answer, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		if o.media == "text/event-stream" && ctx.Err() != nil {
			return
		}
		t.Fatalf("%s\n%v", what, err)
	}
	defer func() { _ = answer.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil && ctx.Err() == nil {
		t.Fatalf("%s\n%v", what, err)
	}
	a.seen[fmt.Sprintf("%s %d", o.id, answer.StatusCode)]++
	switch answer.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusMovedPermanently: // of a path with dots or slashes
		return
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		if strings.Contains(text.String(), `:no-page"`) || strings.Contains(text.String(), `:method"`) { // another address, for want of a name
			return
		}
	}
	if answer.StatusCode >= 500 {
		t.Fatalf("%s\n%s\n%s", what, answer.Status, text.Bytes())
	}
	media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	schema, err := a.answered(o, answer.StatusCode, media)
	if err != nil {
		t.Fatalf("%s\n%s: %v\n%s", what, answer.Status, err, text.Bytes())
	}
	if schema == nil || media == "text/event-stream" || media == "text/plain" || media == "application/x-ndjson" || o.id == "openapi" {
		a.note(o, r, answer.StatusCode, nil)
		return
	}
	value, err := jsonschema.UnmarshalJSON(&text)
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Fatalf("%s\n%s: %v\n%v", what, answer.Status, err, value)
	}
	a.note(o, r, answer.StatusCode, value)
}

// note records which runs must exist.
func (a *randomAPI) note(o *operation, r *http.Request, status int, value any) {
	switch {
	case o.id == "deleteRun" && status == http.StatusNoContent:
		name, _ := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), prefix+"/runs/"))
		if !a.runs[name] { // a prefix or last: the run is unknown
			for id := range a.runs {
				if _, err := a.store.Run(id); err != nil && (name == "last" || strings.HasPrefix(id, name)) {
					delete(a.runs, id)
				}
			}
		}
		delete(a.runs, name)
	case status == http.StatusCreated:
		a.runs[value.(map[string]any)["run_id"].(string)] = true
	}
}

// TestRandomRequests checks that the server answers any request in time, without an internal
// error and as described, and loses no run that it acknowledged.
func TestRandomRequests(t *testing.T) {
	a := newRandomAPI(t)
	byID := map[string]*operation{}
	var often []string // mostly starts: other requests need runs
	for i := range a.server.operations {
		o := &a.server.operations[i]
		byID[o.id] = o
		often = append(often, o.id)
		if o.method == "POST" {
			often = append(often, o.id, o.id, o.id)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range longtest.Choose(8, 20) {
			o := byID[rapid.SampledFrom(often).Draw(t, "operation")]
			a.send(t, o, a.draw(t, o))
		}
		for id := range a.runs {
			if _, err := a.store.Run(id); err != nil {
				t.Fatalf("run %q was started, and nobody deleted it: %v", id, err)
			}
		}
	})
	for _, want := range []string{"startRun 201", "startRun 422", "forkRun 201", "deleteRun 204", "getRun 200", "cancelRun 202", "resumeRun 202", "getRunPage 200"} {
		if a.seen[want] == 0 {
			t.Errorf("no request came to %s", want)
		}
	}
	t.Log(a.seen)
}
