// Errors as RFC 9457 problem objects.

package serve

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// problem is the error of a request.
type problem struct {
	// Kind is the last part of the type's URI.
	Kind   string `json:"-"`
	Type   string `json:"type" doc:"urn:graphrun:problem: and the kind of problem"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Problems lists several errors as sentences.
	Problems []string `json:"problems,omitempty" doc:"one sentence per error, if there are several"`
	// Findings are the findings of an invalid flow, as validate prints them.
	Findings any `json:"findings,omitempty" doc:"findings of an invalid flow, as validate --format json prints them"`
	// Cause is the failure of a run.
	Cause *machine.Failure `json:"error,omitempty" doc:"the error in the form of a run's error"`
}

// Error returns the detail.
func (p *problem) Error() string { return p.Title + ": " + p.Detail }

// write sends the problem.
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
	_ = writeJSON(w, out) // the client has gone
}

// badRequest returns a problem with status 400.
func badRequest(detail string) *problem {
	return &problem{Status: http.StatusBadRequest, Kind: "bad-request", Title: "the request is wrong", Detail: detail}
}

func conflict(detail string) *problem {
	return &problem{Status: http.StatusConflict, Kind: "conflict", Title: "the run is in another state", Detail: detail}
}

// as reports whether an error is or wraps one of a type.
func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// errorKind describes the errors that it matches as a problem.
type errorKind struct {
	matches     func(error) bool
	status      int
	kind, title string
}

// errorKinds are the kinds of errors of other packages. The last one matches all.
var errorKinds = []errorKind{
	{as[*runner.InputError], http.StatusUnprocessableEntity, "input", "the input is not valid"},
	{as[*runner.InvalidError], http.StatusUnprocessableEntity, "invalid-flow", "the flow is not valid"},
	{is(store.ErrNoRun), http.StatusNotFound, "no-run", "no such run"},
	{is(catalog.ErrNoFlow), http.StatusNotFound, "no-flow", "no such flow"},
	{is(store.ErrRunExists), http.StatusConflict, "run-exists", "a run of that id exists"},
	{as[*store.DrivenError], http.StatusConflict, "driven", "another process drives the run"},
	{as[*store.BusyError], http.StatusConflict, "busy", "the group of the run is busy"},
	{is(store.ErrStopped), http.StatusConflict, "busy", "the group of the run is busy"},
	{as[*fleet.FullError], http.StatusTooManyRequests, "full", "too many runs are driven"},
	{is(fleet.ErrClosing), http.StatusServiceUnavailable, "stopping", "the server is stopping"},
	{as[*http.MaxBytesError], http.StatusRequestEntityTooLarge, "too-large", "the request is too large"},
	{func(error) bool { return true }, http.StatusInternalServerError, "internal", "internal error"},
}

// problemOf converts an error to a problem.
func problemOf(err error) *problem {
	var own *problem
	if errors.As(err, &own) {
		return own
	}
	known := errorKinds[slices.IndexFunc(errorKinds, func(k errorKind) bool { return k.matches(err) })]
	p := &problem{Status: known.status, Kind: known.kind, Title: known.title, Detail: err.Error()}
	var input *runner.InputError
	var invalid *runner.InvalidError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &input):
		p.Problems, p.Cause = input.Problems, &machine.Failure{Kind: "input", Message: err.Error()}
	case errors.As(err, &invalid):
		p.Findings = report.NewJSON(1, invalid.Diagnostics)
	case errors.As(err, &large):
		p.Detail = "a body may have at most " + strconv.FormatInt(large.Limit, 10) + " bytes"
	}
	return p
}
