// Requests that change runs: start, answer, stop, resume, fork.

package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// limits replace limits of the graph.
type limits struct {
	MaxSteps       int    `json:"max_steps,omitempty" doc:"maximum number of node executions, instead of the graph's limit"`
	Timeout        string `json:"timeout,omitempty" doc:"maximum active time, such as 90s or 10m, instead of the graph's limit"`
	MaxConcurrency int    `json:"max_concurrency,omitempty" doc:"maximum number of nodes that run at once, instead of the graph's limit"`
	MaxStateBytes  int    `json:"max_state_bytes,omitempty" doc:"maximum size of the state, instead of the graph's limit"`
}

func (l *limits) buildOptions() (runner.Options, error) {
	opts := runner.Options{MaxSteps: l.MaxSteps, MaxConcurrency: l.MaxConcurrency, MaxStateBytes: l.MaxStateBytes, By: byAPI}
	if min(l.MaxSteps, l.MaxConcurrency, l.MaxStateBytes) < 0 {
		return opts, newBadRequest(`"max_steps", "max_concurrency" and "max_state_bytes" must be at least 1`)
	}
	if l.Timeout == "" {
		return opts, nil
	}
	d, err := time.ParseDuration(l.Timeout)
	if err != nil || d <= 0 {
		return opts, newBadRequest("\"timeout\": %q is not a duration such as 90s or 10m", l.Timeout)
	}
	opts.Timeout = d
	return opts, nil
}

// byAPI is the name of the API where the journal says who acted.
const byAPI = "the API"

type startBody struct {
	limits
	Flow        string              `json:"flow" doc:"path of the file below the served folder"`
	Input       map[string]any      `json:"input,omitempty" doc:"values by state key"`
	RunID       string              `json:"run_id,omitempty" doc:"id of the new run; generated if absent"`
	Labels      map[string]string   `json:"labels,omitempty" doc:"labels of the run"`
	Goal        string              `json:"goal,omitempty" doc:"the run's goal instead of the graph's"`
	Session     string              `json:"session,omitempty" doc:"session that the run continues"`
	Answers     map[string][]string `json:"answers,omitempty" doc:"answers given in advance, by question"`
	PauseBefore []string            `json:"pause_before,omitempty" doc:"nodes to pause before"`
	PauseAfter  []string            `json:"pause_after,omitempty" doc:"nodes to pause after"`
	Models      map[string]string   `json:"models,omitempty" doc:"models by role, instead of the graph's"`
}

type startIn struct {
	Key  string `header:"Idempotency-Key" doc:"a second request with the same key starts nothing and returns the run of the first"`
	Body startBody
}

func (s *Server) startRun(c *call, in *startIn) (*runner.Result, error) {
	b := &in.Body
	if b.Flow == "" {
		return nil, newBadRequest(`"flow" is required: a file below the served folder`)
	}
	opts, err := b.buildOptions()
	if err = cmp.Or(err, checkID("run_id", b.RunID), checkID("session", b.Session)); err != nil {
		return nil, err
	}
	opts.RunID, opts.Input, opts.Labels, opts.Goal, opts.Session = b.RunID, b.Input, b.Labels, b.Goal, b.Session
	opts.Answers, opts.PauseBefore, opts.PauseAfter, opts.Models = b.Answers, b.PauseBefore, b.PauseAfter, b.Models
	id, again, err := s.startOnce(b.Flow, opts, in.Key, in.Body)
	if err != nil {
		return nil, err
	}
	if again {
		c.status = http.StatusOK
		c.w.Header().Set("Idempotency-Replayed", "true")
	}
	c.w.Header().Set("Location", prefix+"/runs/"+id)
	return s.cfg.Runner.Show(id, runner.Options{})
}

// requestLabel stores the fingerprint of the request, to detect another request with the same key.
const requestLabel = "request"

// Start starts a run of a flow.
func (s *Server) Start(path string, opts runner.Options) (*fleet.Drive, error) {
	flow, err := s.cfg.Catalog.Prepare(path, s.cfg.Runner)
	if err != nil {
		return nil, err
	}
	return s.cfg.Fleet.Start(flow, opts)
}

// startOnce starts a run of a flow unless a request with the same key has started it. The run's id
// derives from the key. again means that the run existed. It is an error to reuse a key for a
// different request.
func (s *Server) startOnce(path string, opts runner.Options, key string, request any) (id string, again bool, err error) {
	if key == "" {
		d, err := s.Start(path, opts)
		if err != nil {
			return "", false, err
		}
		return d.ID, false, nil
	}
	opts.RunID = cmp.Or(opts.RunID, "key-"+computeFingerprint([]string{s.cfg.Catalog.Dir(), key}))
	labels := map[string]string{requestLabel: computeFingerprint(request)}
	maps.Copy(labels, opts.Labels)
	opts.Labels = labels
	_, err = s.Start(path, opts)
	if !errors.Is(err, store.ErrRunExists) && !hasType[*store.DrivenError](err) {
		return opts.RunID, false, err
	}
	record, recordErr := s.cfg.Store.Run(opts.RunID)
	switch {
	case errors.Is(recordErr, store.ErrNoRun): // another request is starting it
		return "", false, err
	case recordErr != nil:
		return "", false, recordErr
	case record.Labels[requestLabel] != labels[requestLabel]:
		return "", false, &problem{
			Status: http.StatusUnprocessableEntity, Kind: "key-reused", Title: "the key was used for something else",
			Detail: fmt.Sprintf("the Idempotency-Key has started run %q with another request", record.ID),
		}
	}
	return record.ID, true, nil
}

// computeFingerprint returns a digest of a value as 32 hexadecimal digits.
func computeFingerprint(v any) string {
	text, _ := json.Marshal(v) // plain data never fails
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// checkID returns an error for a malformed id of a run or a session.
func checkID(name, id string) error {
	err := store.CheckID(strconv.Quote(name), id)
	if err == nil && id != "" && strings.Trim(id, ".") == "" {
		err = fmt.Errorf("%q %q: only letters, digits and -_.: are allowed, and not dots alone", name, id)
	}
	if err != nil {
		return newBadRequest("%s", err)
	}
	return nil
}

type answerBody struct {
	Answers []givenAnswer `json:"answers"`
	By      string        `json:"by,omitempty" doc:"name of the person who answers; stored with the answer"`
	Stay    bool          `json:"stay,omitempty" doc:"do not resume a run that no process drives"`
}

type givenAnswer struct {
	Target string `json:"target" doc:"the question: NODE, NODE[0], NODE:KEY"`
	Value  any    `json:"value"`
}

func (s *Server) answerRun(c *call, in *runBodyIn[answerBody]) (*runner.Result, error) {
	if len(in.Body.Answers) == 0 {
		return nil, newBadRequest(`"answers" is needed: a list of {"target": …, "value": …}`)
	}
	by := cmp.Or(in.Body.By, byAPI)
	var given []store.GivenAnswer
	for _, a := range in.Body.Answers {
		given = append(given, store.GivenAnswer{Target: a.Target, Text: eval.ResultText(a.Value)})
	}
	var err error
	if in.Body.Stay {
		_, err = s.cfg.Runner.Answer(c.ctx, in.record.ID, given, by)
	} else {
		_, err = s.cfg.Fleet.Answer(c.ctx, in.record.ID, given, by)
	}
	if err != nil {
		if line, _ := s.findSummary(in.record.ID); line != nil && hasType[*runner.InputError](err) && hasEnded(line) {
			return nil, newConflict("%s", err)
		}
		return nil, err
	}
	return s.cfg.Runner.Show(in.record.ID, runner.Options{})
}

func (s *Server) findSummary(id string) (*store.RunSummary, error) {
	lines, err := s.cfg.Store.List(store.RunFilter{ID: id})
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("run %q: %w", id, store.ErrNoRun)
	}
	if err != nil {
		return nil, err
	}
	return &lines[0], nil
}

func hasEnded(line *store.RunSummary) bool {
	return line.Status != machine.Running && line.Status != machine.Paused
}

// errByAPI is the cause of cancellations that the API requests.
var errByAPI = errors.New("cancelled by the API")

// stopRun asks the driver of a run to stop it, or cancels a run without a driver.
func (s *Server) stopRun(id string, request store.Request) (out inspect.ListedRun, err error) {
	line, err := s.findSummary(id)
	if err != nil {
		return out, err
	}
	driven := line.Owner != "" || s.cfg.Fleet.FindDrive(line.ID) != nil
	wanted := machine.Paused
	if request == store.RequestCancel {
		wanted = machine.Cancelled
	}
	switch {
	case line.Status == wanted && !driven:
	case hasEnded(line):
		return out, newConflict("run %q has ended already: %s", line.ID, line.Status)
	case request == store.RequestCancel && s.cfg.Fleet.Cancel(line.ID, errByAPI):
	case driven:
		err = s.cfg.Store.SendRequest(line.ID, request)
	case request == store.RequestPause:
		return out, newConflict("run %q crashed: no process runs it", line.ID)
	default:
		_, err = s.cfg.Runner.Cancel(line.ID)
	}
	if err == nil {
		line, err = s.findSummary(line.ID)
	}
	if err != nil {
		return out, err
	}
	return inspect.ListRuns([]store.RunSummary{*line})[0], nil
}

type resumeBody struct {
	limits
	Answers map[string][]string `json:"answers,omitempty" doc:"answers by question"`
}

func (s *Server) resumeRun(_ *call, in *runBodyIn[resumeBody]) (*runner.Result, error) {
	opts, err := in.Body.buildOptions()
	if err != nil {
		return nil, err
	}
	opts.Answers = in.Body.Answers
	if _, err := s.cfg.Fleet.Resume(in.record.ID, opts); err != nil {
		return nil, err
	}
	return s.cfg.Runner.Show(in.record.ID, runner.Options{})
}

type forkBody struct {
	limits
	At     *int              `json:"at" doc:"the step after which the new run starts, or 0 for the start"`
	Set    map[string]any    `json:"set,omitempty" doc:"state keys to change"`
	RunID  string            `json:"run_id,omitempty" doc:"id of the new run; generated if absent"`
	Labels map[string]string `json:"labels,omitempty" doc:"labels of the new run"`
}

func (s *Server) forkRun(c *call, in *runBodyIn[forkBody]) (*runner.Result, error) {
	if in.Body.At == nil || *in.Body.At < 0 {
		return nil, newBadRequest(`"at" is needed: the step after which the new run begins, 0 for none`)
	}
	opts, err := in.Body.buildOptions()
	if err = cmp.Or(err, checkID("run_id", in.Body.RunID)); err != nil {
		return nil, err
	}
	opts.RunID, opts.Labels = in.Body.RunID, in.Body.Labels
	d, err := s.cfg.Fleet.Fork(in.record.ID, runner.ForkOptions{Options: opts, At: *in.Body.At, Set: in.Body.Set})
	if err != nil {
		return nil, err
	}
	c.w.Header().Set("Location", prefix+"/runs/"+d.ID)
	return s.cfg.Runner.Show(d.ID, runner.Options{})
}
