// Errors as RFC 9457 problem objects.

package serve

import (
	"errors"
	"net/http"
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
	Type   string `json:"type" doc:"urn:graphrun:problem: and a word that says what is wrong"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Problems lists several errors as sentences.
	Problems []string `json:"problems,omitempty" doc:"sentences, where several things are wrong at once"`
	// Findings are the findings of an invalid flow, as validate prints them.
	Findings any `json:"findings,omitempty" doc:"the findings of a flow that is not valid, as validate --format json prints them"`
	// Cause is the failure of a run.
	Cause *machine.Failure `json:"error,omitempty" doc:"the error as a run has it"`
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
	return &problem{Status: http.StatusConflict, Kind: "conflict", Title: "the run does not stand so", Detail: detail}
}

// problemOf converts an error to a problem.
func problemOf(err error) *problem {
	var known *problem
	var input *runner.InputError
	var invalid *runner.InvalidError
	var driven *store.DrivenError
	var busy *store.BusyError
	var full *fleet.FullError
	var large *http.MaxBytesError
	make := func(status int, kind, title string) *problem {
		return &problem{Status: status, Kind: kind, Title: title, Detail: err.Error()}
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &input):
		p := make(http.StatusUnprocessableEntity, "input", "what was given does not fit")
		p.Problems = input.Problems
		p.Cause = &machine.Failure{Kind: "input", Message: err.Error()}
		return p
	case errors.As(err, &invalid):
		p := make(http.StatusUnprocessableEntity, "invalid-flow", "the flow is not valid")
		p.Findings = report.JSON(1, invalid.Diagnostics)
		return p
	case errors.Is(err, store.ErrNoRun):
		return make(http.StatusNotFound, "no-run", "no such run")
	case errors.Is(err, catalog.ErrNoFlow):
		return make(http.StatusNotFound, "no-flow", "no such flow")
	case errors.Is(err, store.ErrRunExists):
		return make(http.StatusConflict, "run-exists", "a run of that id exists")
	case errors.As(err, &driven):
		return make(http.StatusConflict, "driven", "another process drives the run")
	case errors.As(err, &busy), errors.Is(err, store.ErrStopped):
		return make(http.StatusConflict, "busy", "the group of the run is busy")
	case errors.As(err, &full):
		return make(http.StatusTooManyRequests, "full", "too many runs are driven")
	case errors.Is(err, fleet.ErrClosing):
		return make(http.StatusServiceUnavailable, "stopping", "the server is stopping")
	case errors.As(err, &large):
		p := make(http.StatusRequestEntityTooLarge, "too-large", "the request is too large")
		p.Detail = "a body may have at most " + strconv.FormatInt(large.Limit, 10) + " bytes"
		return p
	}
	return make(http.StatusInternalServerError, "internal", "the server could not do it")
}
