// Package wire holds what the adapters of model protocols share. Its clients send requests
// over HTTP and read answers, streamed or not.
package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/model"
)

// Config names a model of a server. Only Model is required.
type Config struct {
	// Model is the server's name of the model.
	Model string
	// Provider names the server in messages.
	Provider string
	// BaseURL is the address that the path of the protocol follows.
	BaseURL string
	// Key authenticates requests. Local servers need none.
	Key string
	// Headers are sent with each request.
	Headers map[string]string
	// Params are keys of each request's body. A request's own win.
	Params map[string]any
	// MaxTokens bounds answers of requests that set no bound, where the protocol has
	// no default. With 0 the adapter chooses.
	MaxTokens int
	// MaxModelTokens is the longest answer of the model in tokens, or 0 if unknown.
	MaxModelTokens int
	// Timeout bounds one call, including its whole answer. 0 means no bound.
	Timeout time.Duration
	// HTTP makes the requests, by default with the default transport.
	HTTP *http.Client
}

// Protocol is the wire format of a provider.
type Protocol struct {
	// Path follows the base URL. BaseURL and Provider are defaults of Config.
	Path, BaseURL, Provider string
	// Header returns the headers of all requests.
	Header func(key string) http.Header
	// Limits says which parts of messages the protocol accepts.
	Limits PartLimits
	// Fields sets the keys of a body that the parameters of a request may replace.
	Fields func(c *Call, body map[string]any) error
	// Conversation sets the messages, which parameters can't replace.
	Conversation func(c *Call, body map[string]any) error
	// Reader reads the answer of a call.
	Reader func(c *Call) Reader
}

// Reader assembles an answer.
type Reader interface {
	// ReadWhole reads an answer that was not streamed.
	ReadWhole(body []byte) error
	// Event reads an event of a stream.
	Event(name string, data []byte) (Progress, error)
	// Response returns the answer after ReadWhole or the last event.
	Response() (*model.Response, error)
}

// Progress says whether a stream may end. The zero value says that more must come.
type Progress int

// MayEnd means that the connection may end here, Ended that the answer is complete.
const (
	MayEnd Progress = iota + 1
	Ended
)

// Call is one request and, once it was sent, its answer.
type Call struct {
	*Config
	Req *model.Request
	// Messages are the request's, each tool call followed by its result.
	Messages []model.Message
	Names    *Names
	// Streams reports whether the caller wants the text as it comes.
	Streams bool
	// Text is the text of the answer so far.
	Text   strings.Builder
	onText func(chunk string)

	client   *Client
	ctx      context.Context // the caller's
	cancel   context.CancelFunc
	body     io.ReadCloser // of the answer
	header   http.Header   // of the answer
	isStream bool          // the answer is a stream of events
}

// AddText adds a piece of the answer to Text and passes it to the caller.
func (c *Call) AddText(chunk string) {
	c.Text.WriteString(chunk)
	if c.onText != nil && chunk != "" {
		c.onText(chunk)
	}
}

// PassThought passes a piece of the model's thinking to the caller.
func (c *Call) PassThought(chunk string) {
	if c.Req.OnThinking != nil && chunk != "" {
		c.Req.OnThinking(chunk)
	}
}

// Client is one model of a server. It is safe for concurrent use and needs no Close.
type Client struct {
	config   Config
	protocol *Protocol
	name     string // in messages
	url      string
	header   http.Header
	secrets  *strings.Replacer // masks them
}

// New checks a configuration. It makes no connection.
func New(p *Protocol, c Config) (*Client, error) {
	c.BaseURL, c.Provider = cmp.Or(c.BaseURL, p.BaseURL), cmp.Or(c.Provider, p.Provider)
	address, err := JoinURL(c.BaseURL, p.Path)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider, err)
	}
	if c.Model == "" {
		return nil, fmt.Errorf("provider %s: no model is named", c.Provider)
	}
	header := p.Header(c.Key)
	header.Set("User-Agent", "graphrun")
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	header.Set("Content-Type", "application/json")
	return &Client{c, p, c.Provider + "/" + c.Model, address, header, newMasker(c.Key, c.Headers)}, nil
}

// Chat makes one call. With onText it asks for a stream, and also reads the answer of
// a server that does not stream.
func (c *Client) Chat(ctx context.Context, req *model.Request, onText func(chunk string)) (*model.Response, error) {
	messages := model.PairResults(req.Messages)
	call := &Call{
		Config: &c.config, Req: req, Messages: messages, Names: NewNames(req.Tools, messages),
		Streams: onText != nil, onText: onText, client: c, ctx: ctx,
	}
	body, err := c.buildBody(call)
	if err == nil {
		err = call.post(body)
	}
	if err != nil {
		return nil, err
	}
	defer call.close()
	r := c.protocol.Reader(call)
	if call.isStream {
		err = call.readEvents(r)
	} else {
		var text []byte
		if text, err = io.ReadAll(call); err == nil {
			err = r.ReadWhole(text)
		}
	}
	if err != nil {
		return nil, err
	}
	return r.Response()
}

// buildBody returns the request as JSON data. Parameters replace fields of the request, and
// null removes a key.
func (c *Client) buildBody(call *Call) (map[string]any, error) {
	body := map[string]any{}
	maps.Copy(body, c.config.Params)
	if call.Req.Temperature != nil {
		body["temperature"] = *call.Req.Temperature
	}
	if err := c.protocol.Fields(call, body); err != nil {
		return nil, err
	}
	maps.Copy(body, call.Req.Params)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	if err := c.protocol.Limits.Check(call.Messages); err != nil {
		return nil, err
	}
	if err := c.protocol.Conversation(call, body); err != nil {
		return nil, err
	}
	body["model"], body["stream"] = c.config.Model, call.Streams
	return body, nil
}

func (c *Call) readEvents(r Reader) error {
	stream := events{in: bufio.NewReader(c)}
	for progress := Progress(0); progress != Ended; {
		name, data, err := stream.readEvent()
		switch {
		case errors.Is(err, io.EOF) && progress == MayEnd:
			return nil
		case errors.Is(err, io.EOF):
			return c.CutError()
		case err == nil:
			progress, err = r.Event(name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// InvalidRequest returns the failure of a request that a protocol can't express, and that is not sent.
func InvalidRequest(format string, args ...any) *model.Error {
	return &model.Error{Kind: "invalid_input", Class: "invalid_request", Message: fmt.Sprintf(format, args...), Unsent: true}
}

// Tools returns the tools of the request, with their schemas under a key.
func (c *Call) Tools(schemaKey string) []map[string]any {
	out := make([]map[string]any, len(c.Req.Tools))
	for i, t := range c.Req.Tools {
		schema := map[string]any{"type": "object"}
		if maps.Copy(schema, t.Parameters); t.Parameters == nil {
			schema["properties"] = map[string]any{}
		}
		out[i] = map[string]any{"name": c.Names.ToWire(t.Name), schemaKey: schema}
		if t.Description != "" {
			out[i]["description"] = t.Description
		}
	}
	return out
}

// SetNonEmpty sets a key to a value, unless that is empty.
func SetNonEmpty(body map[string]any, key string, value any) {
	if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
		body[key] = value
	}
}

// SetDefault sets a key that no parameter set.
func SetDefault(body map[string]any, key string, value any) {
	if _, set := body[key]; !set {
		body[key] = value
	}
}

// SetNested sets a key of an object inside a body, and keeps the object's other keys.
func SetNested(body map[string]any, object, key string, value any) {
	inner := map[string]any{}
	given, _ := body[object].(map[string]any)
	maps.Copy(inner, given)
	inner[key], body[object] = value, inner
}

// MaxAnswer bounds the bytes of an answer, streamed or not.
const MaxAnswer = 32 << 20

// JoinURL appends a path to a base URL.
func JoinURL(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("invalid base URL %q; it looks like https://host/path", base)
	}
	u.Path = strings.TrimRight(u.Path, "/") + path
	return u.String(), nil
}

// post sends a body. Without an answer of status 2xx it returns a *model.Error or the context's
// error. It does not retry, and follows no redirect, since that could send the key to another host.
func (c *Call) post(body map[string]any) error {
	text, err := eval.AppendJSON(nil, body)
	if err != nil {
		return InvalidRequest("%s: the request can't be written as JSON: %v", c.client.name, err)
	}
	inner := c.ctx
	c.cancel = func() {}
	if c.Timeout > 0 {
		inner, c.cancel = context.WithTimeout(c.ctx, c.Timeout)
	}
	req, err := http.NewRequestWithContext(inner, http.MethodPost, c.client.url, bytes.NewReader(append(text, '\n')))
	if err != nil {
		c.cancel()
		return InvalidRequest("%s: %s", c.client.name, c.client.secrets.Replace(err.Error()))
	}
	req.Header = c.client.header.Clone()
	var client http.Client
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		c.cancel()
		return c.newConnectionError(err)
	}
	c.body, c.header = http.MaxBytesReader(nil, resp.Body, MaxAnswer), resp.Header
	if resp.StatusCode/100 != 2 {
		defer c.close()
		return c.client.newRefusal(resp)
	}
	c.detectStream()
	return nil
}

// detectStream detects a stream of events, which several servers send as text/plain. JSON
// never begins like a line of a stream.
func (c *Call) detectStream() {
	kind, _, _ := mime.ParseMediaType(c.header.Get("Content-Type"))
	if c.isStream = kind == "text/event-stream"; c.isStream || kind == "application/json" {
		return
	}
	in := bufio.NewReader(c.body)
	begin, _ := in.Peek(len("event:")) // an error comes again when the body is read
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		c.isStream = c.isStream || bytes.HasPrefix(begin, []byte(field))
	}
	c.body = struct {
		io.Reader
		io.Closer
	}{in, c.body}
}

func (c *Call) newConnectionError(err error) error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	var located *url.Error
	if errors.As(err, &located) {
		err = located.Err // the address may hold a key
	}
	kind, format := "network", "%s: the connection failed: %v"
	var slow interface{ Timeout() bool }
	if errors.As(err, &slow) && slow.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		kind, format = "timeout", "%s gave no whole answer in time: %v"
	}
	return &model.Error{Kind: kind, Message: c.client.secrets.Replace(fmt.Sprintf(format, c.client.name, err))}
}

func (c *Call) close() {
	c.cancel()
	_ = c.body.Close()
}

// Read reads at most MaxAnswer bytes of the body. More are an error.
func (c *Call) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		err = c.BadAnswerError("is longer than %d bytes", MaxAnswer)
	case err != nil && !errors.Is(err, io.EOF):
		err = c.newConnectionError(err)
	}
	return n, err
}

// Decode reads an answer that was not streamed.
func (c *Call) Decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return c.BadAnswerError("is not the JSON that it should be: %v; it begins with %q", err, eval.Shorten(string(text), 80))
	}
	return nil
}

// DecodeEvent reads the data of an event.
func (c *Call) DecodeEvent(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return c.BadAnswerError("streams an event that is not JSON: %v", err)
	}
	return nil
}

// BadAnswerError returns the failure of an unusable answer. The format continues "the answer".
func (c *Call) BadAnswerError(format string, args ...any) error {
	return &model.Error{Kind: "llm", Class: "bad_answer", Message: c.client.secrets.Replace(c.client.name + ": the answer " + fmt.Sprintf(format, args...))}
}

// CutError returns the failure of a stream that ended before its answer did.
func (c *Call) CutError() error {
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	return &model.Error{Kind: "network", Message: c.client.name + ": the connection was closed in the middle of the answer"}
}

// FilterError returns the failure of an answer that the provider withheld.
func (c *Call) FilterError() error {
	return &model.Error{Kind: "llm", Class: "content_filter", Message: c.client.name + ": the provider withheld the answer by its content filter"}
}

// ReportedError returns the failure that a server reports in place of an answer.
func (c *Call) ReportedError(report []byte) error {
	status, code, text := readReport(report)
	return c.client.newFailure(status, code, text, c.header)
}

// WithStop returns an answer with the reason why it ended: a refusal, a filter, a limit of
// tokens, or tool calls, which several servers don't name. It fails if a filter left nothing.
func (c *Call) WithStop(out *model.Response, refusal string, isFiltered, isCut bool) (*model.Response, error) {
	switch {
	case refusal != "":
		out.Stop, out.Content = model.StopRefusal, cmp.Or(out.Content, refusal)
	case isFiltered && out.Content == "":
		return nil, c.FilterError()
	case isFiltered:
		out.Stop = model.StopFilter
	case isCut:
		out.Stop = model.StopLength
	case len(out.ToolCalls) > 0:
		out.Stop = model.StopToolCalls
	default:
		out.Stop = model.StopEnd
	}
	return out, nil
}

// newMasker returns a replacer that masks the key and the values of headers that authenticate, with
// and without a first word such as Bearer. It ignores very short values, which would mask too much.
func newMasker(key string, headers map[string]string) *strings.Replacer {
	secrets := []string{key}
	for name, value := range headers {
		isSecret := func(word string) bool { return strings.Contains(strings.ToLower(name), word) }
		if slices.ContainsFunc([]string{"auth", "cookie", "key", "secret", "token"}, isSecret) {
			_, rest, _ := strings.Cut(value, " ")
			secrets = append(secrets, value, rest)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= 4 {
			pairs = append(pairs, secret, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

// events reads a stream of events. It belongs to one goroutine.
type events struct {
	in    *bufio.Reader
	begun bool
}

// readEvent returns the next event that has data: its name, which may be "", and its lines
// of data, joined by line breaks. The error is io.EOF at the end, or the reader's. It drops
// an event whose last line was cut. The empty line after the last event may be missing.
func (e *events) readEvent() (name string, data []byte, err error) {
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil {
			if data != nil && errors.Is(err, io.EOF) {
				return name, data[1:], nil
			}
			return "", nil, err
		}
		if !e.begun {
			line, e.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
		}
		line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
		if len(line) == 0 {
			if data != nil {
				return name, data[1:], nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			data = append(append(data, '\n'), value...)
		case "event":
			name = string(value)
		}
	}
}
