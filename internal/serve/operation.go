// Operations of the API and their errors. Operations are typed functions, so that openapi.go can
// generate the description.

package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// operation is an operation of the API. Its input is a struct with fields tagged path, query or
// header with the parameter's name, and an optional field Body.
type operation struct {
	method, path, id, summary string
	// tag groups operations.
	tag     string
	in, out reflect.Type
	// status is the status of success, media the content type if it is not JSON.
	status int
	media  string
	// also lists other statuses of success and their meaning.
	also map[int]string
	// open says that the operation needs no token.
	open   bool
	handle func(c *call) error
}

// call is a request to an operation.
type call struct {
	server *Server
	ctx    context.Context
	w      http.ResponseWriter
	r      *http.Request
	status int
	short  bool // shorten long texts of the response
}

// prefix is the path of the API.
const prefix = "/api/v1"

func (o *operation) pattern() string {
	if strings.HasPrefix(o.path, "/metrics") {
		return o.path
	}
	return prefix + o.path
}

// newOperation makes an operation from a function whose result is sent as JSON.
func newOperation[In, Out any](o operation, do func(c *call, in *In) (Out, error)) operation {
	o.status = cmp.Or(o.status, http.StatusOK)
	out := newStream(o, "", func(c *call, in *In) error {
		c.status = o.status
		out, err := do(c, in)
		if err != nil {
			return err
		}
		return c.sendJSON(out)
	})
	out.out = reflect.TypeFor[Out]()
	return out
}

// newStream makes an operation from a function that writes the response itself.
func newStream[In any](o operation, media string, do func(c *call, in *In) error) operation {
	o.in, o.media, o.status = reflect.TypeFor[In](), media, cmp.Or(o.status, http.StatusOK)
	o.handle = func(c *call) error {
		in, err := readInput[In](c)
		if err != nil {
			return err
		}
		return do(c, in)
	}
	return o
}

// readInput reads the input of an operation and the record of the run that it names.
func readInput[In any](c *call) (*In, error) {
	in := new(In)
	if err := decodeInput(c.r, in); err != nil {
		return nil, err
	}
	if run, ok := any(in).(interface{ findRun(s *Server) error }); ok {
		return in, run.findRun(c.server)
	}
	return in, nil
}

func (s *Server) newHandler(o operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := o.handle(&call{server: s, ctx: r.Context(), w: w, r: r})
		if err == nil || r.Context().Err() != nil {
			return
		}
		newProblem(err).write(w)
	})
}

// sendJSON sends a value as JSON, or nothing with status 204.
func (c *call) sendJSON(value any) error {
	if c.status == http.StatusNoContent {
		c.w.WriteHeader(c.status)
		return nil
	}
	var body bytes.Buffer
	if err := writeJSON(&body, value); err != nil {
		return err
	}
	text := body.Bytes()
	if c.short {
		text = shortenJSON(text, longText)
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	return c.sendText("application/json", text)
}

// sendText sends a text. It ignores write errors, which only mean that the client has disconnected.
func (c *call) sendText(media string, text []byte) error {
	c.w.Header().Set("Content-Type", media)
	c.w.WriteHeader(cmp.Or(c.status, http.StatusOK))
	_, _ = c.w.Write(text)
	return nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// listInputFields returns the fields of an operation's input, those of embedded structs too.
func listInputFields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous || !f.IsExported() })
}

// decodeInput reads the input of an operation from a request. Unknown parameters are errors.
func decodeInput(r *http.Request, in any) error {
	v := reflect.ValueOf(in).Elem()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return newBadRequest("the query can't be read: %s", err)
	}
	known := map[string]bool{}
	for _, field := range listInputFields(v.Type()) {
		value := v.FieldByIndex(field.Index)
		if field.Name == "Body" {
			if err := decodeBody(r, value.Addr().Interface(), true); err != nil {
				return err
			}
			continue
		}
		if name, ok := field.Tag.Lookup("path"); ok {
			value.SetString(r.PathValue(name))
		} else if name, ok := field.Tag.Lookup("header"); ok {
			value.SetString(r.Header.Get(name))
		} else {
			name := field.Tag.Get("query")
			known[name] = true
			if err := decodeParam(name, query[name], value); err != nil {
				return err
			}
		}
	}
	for name := range query {
		if !known[name] {
			return newBadRequest("unknown parameter %.200q", name)
		}
	}
	return nil
}

func decodeParam(name string, given []string, into reflect.Value) error {
	switch {
	case into.Kind() == reflect.Slice:
		into.Set(reflect.ValueOf(given))
		return nil
	case len(given) > 1:
		return newBadRequest("the parameter %q is given twice", name)
	case len(given) == 0:
		return nil
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch into.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(given[0])
		if err != nil || n < 0 {
			return newBadRequest("the parameter %q must be a whole number of at least 0, found %q", name, given[0])
		}
		into.SetInt(int64(n))
	case reflect.Bool:
		b, err := strconv.ParseBool(given[0])
		if err != nil {
			return newBadRequest("the parameter %q must be true or false, found %q", name, given[0])
		}
		into.SetBool(b)
	default:
		into.SetString(given[0])
	}
	return nil
}

// decodeBody reads a JSON object. An empty body is an empty object. If strict, it refuses unknown
// keys.
func decodeBody(r *http.Request, into any, strict bool) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "" && !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return &problem{
			Status: http.StatusUnsupportedMediaType, Kind: "media-type", Title: "the body must be JSON",
			Detail: fmt.Sprintf("Content-Type is %.200q; it must be application/json", kind),
		}
	}
	dec := json.NewDecoder(r.Body)
	if strict {
		dec.DisallowUnknownFields()
	}
	dec.UseNumber()
	err := dec.Decode(into)
	if err == nil {
		if _, rest := dec.Token(); !errors.Is(rest, io.EOF) {
			err = errors.New("there is text after the object")
		}
	}
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case hasType[*http.MaxBytesError](err):
		return err
	}
	return newBadRequest("the body can't be read: %s", err)
}

// longText and longOutput bound the bytes of a text and of a piece of output. Longer ones are cut
// to an eighth of the bound.
const (
	longText   = 64 << 10
	longOutput = 4 << 10
)

// shortenJSON shortens long texts in JSON and appends the number of missing bytes. It returns the
// same slice if nothing can be too long.
func shortenJSON(text []byte, long int) []byte {
	var v any
	if len(text) <= long || eval.DecodeJSON(text, &v) != nil {
		return text
	}
	out, err := eval.AppendJSON(nil, eval.MapTexts(v, func(s string) string {
		if len(s) <= long {
			return s
		}
		head := eval.Head(s, long/8)
		return fmt.Sprintf("%s… (%d more bytes)", head, len(s)-len(head))
	}))
	if err != nil {
		return text
	}
	if bytes.HasSuffix(text, []byte("\n")) {
		out = append(out, '\n')
	}
	return out
}

// problem is the error of a request.
type problem struct {
	Kind     string           `json:"-"` // the last part of Type
	Type     string           `json:"type" doc:"urn:graphrun:problem: and the kind of problem"`
	Title    string           `json:"title"`
	Status   int              `json:"status"`
	Detail   string           `json:"detail,omitempty"`
	Problems []string         `json:"problems,omitempty" doc:"one sentence per error, if there are several"`
	Findings any              `json:"findings,omitempty" doc:"findings of an invalid flow, as validate --format json prints them"`
	Cause    *machine.Failure `json:"error,omitempty" doc:"the error in the form of a run's error"`
}

// Error returns the title and the detail.
func (p *problem) Error() string { return p.Title + ": " + p.Detail }

func (p *problem) write(w http.ResponseWriter) {
	out := *p
	out.Type = "urn:graphrun:problem:" + p.Kind
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Del("Content-Length")
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
	}
	w.WriteHeader(p.Status)
	_ = writeJSON(w, out) // fails only if the client has disconnected
}

func newBadRequest(format string, args ...any) *problem {
	return &problem{Status: http.StatusBadRequest, Kind: "bad-request", Title: "the request is wrong", Detail: fmt.Sprintf(format, args...)}
}

func newConflict(format string, args ...any) *problem {
	return &problem{Status: http.StatusConflict, Kind: "conflict", Title: "the run is in another state", Detail: fmt.Sprintf(format, args...)}
}

func hasType[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func matchesError(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// errorKind maps the errors that it matches to a problem.
type errorKind struct {
	matches     func(error) bool
	status      int
	kind, title string
}

// errorKinds are the kinds of errors of other packages. The last one matches all.
var errorKinds = []errorKind{
	{hasType[*runner.InputError], http.StatusUnprocessableEntity, "input", "the input is not valid"},
	{hasType[*runner.InvalidError], http.StatusUnprocessableEntity, "invalid-flow", "the flow is not valid"},
	{matchesError(store.ErrNoRun), http.StatusNotFound, "no-run", "no such run"},
	{matchesError(catalog.ErrNoFlow), http.StatusNotFound, "no-flow", "no such flow"},
	{matchesError(store.ErrRunExists), http.StatusConflict, "run-exists", "a run of that id exists"},
	{hasType[*store.DrivenError], http.StatusConflict, "driven", "another process drives the run"},
	{hasType[*store.BusyError], http.StatusConflict, "busy", "the group of the run is busy"},
	{matchesError(store.ErrStopped), http.StatusConflict, "busy", "the group of the run is busy"},
	{hasType[*fleet.FullError], http.StatusTooManyRequests, "full", "too many runs are driven"},
	{matchesError(fleet.ErrClosing), http.StatusServiceUnavailable, "stopping", "the server is stopping"},
	{hasType[*http.MaxBytesError], http.StatusRequestEntityTooLarge, "too-large", "the request is too large"},
	{func(error) bool { return true }, http.StatusInternalServerError, "internal", "internal error"},
}

func newProblem(err error) *problem {
	if own, ok := errors.AsType[*problem](err); ok {
		return own
	}
	known := errorKinds[slices.IndexFunc(errorKinds, func(k errorKind) bool { return k.matches(err) })]
	p := &problem{Status: known.status, Kind: known.kind, Title: known.title, Detail: err.Error()}
	if input, ok := errors.AsType[*runner.InputError](err); ok {
		p.Problems, p.Cause = input.Problems, &machine.Failure{Kind: "input", Message: err.Error()}
	}
	if invalid, ok := errors.AsType[*runner.InvalidError](err); ok {
		p.Findings = report.NewJSON(1, invalid.Diagnostics)
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		p.Detail = "a body may have at most " + strconv.FormatInt(large.Limit, 10) + " bytes"
	}
	return p
}
