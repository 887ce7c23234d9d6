// Starting runs.

package trigger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
)

// Config configures Triggers.
type Config struct {
	Triggers []*Trigger
	// Start starts a run of a flow and returns when it is stored.
	Start func(flow string, opts runner.Options) error
	// Store knows when a schedule last started a run.
	Store store.Store
	Clock runner.Clock
	// Log receives a line about each run that could not be started.
	Log func(line string)
}

// Triggers start runs.
type Triggers struct{ cfg Config }

// New returns Triggers. Run serves the schedules, ServeHTTP the webhooks.
func New(cfg Config) *Triggers { return &Triggers{cfg} }

// The labels of started runs: the trigger and the scheduled time.
const (
	byLabel  = "trigger"
	forLabel = "scheduled"
)

// mostCaughtUp bounds the runs for missed times.
const mostCaughtUp = 1000

// Name identifies a trigger; the ids of its runs start with it.
func (t *Trigger) Name() string {
	if t.Schedule == nil {
		return "hook-" + short(t.Webhook+"\n"+t.Flow)
	}
	return "cron-" + short(t.Schedule.expr+"\n"+t.Schedule.zone.String()+"\n"+t.Flow)
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Run starts the runs of the schedules until ctx ends.
func (t *Triggers) Run(ctx context.Context) {
	var schedules sync.WaitGroup
	for _, one := range t.cfg.Triggers {
		if one.Schedule != nil {
			schedules.Go(func() { t.follow(ctx, one) })
		}
	}
	schedules.Wait()
}

// follow starts the runs of one schedule.
func (t *Triggers) follow(ctx context.Context, one *Trigger) {
	from := t.cfg.Clock.Now()
	for _, at := range t.missed(one, from) {
		t.fire(one, at)
	}
	for {
		at := one.Schedule.Next(from)
		if at.IsZero() || !t.sleep(ctx, at) {
			return
		}
		t.fire(one, at)
		from = at
	}
}

// missed returns the times since the last run of the schedule.
func (t *Triggers) missed(one *Trigger, now time.Time) []time.Time {
	if one.CatchUp == "none" {
		return nil
	}
	runs, err := t.cfg.Store.List(store.RunFilter{Labels: map[string]string{byLabel: one.Name()}, Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil // it has never run: nothing was missed
	}
	last, err := time.Parse(time.RFC3339, runs[0].Labels[forLabel])
	if err != nil {
		return nil
	}
	var out []time.Time
	for at := one.Schedule.Next(last); !at.IsZero() && !at.After(now) && len(out) < mostCaughtUp; at = one.Schedule.Next(at) {
		out = append(out, at)
	}
	if one.CatchUp == "one" && len(out) > 1 {
		out = out[len(out)-1:]
	}
	return out
}

// sleep waits until a time, or returns false when ctx ends. It checks the clock repeatedly,
// since the clock may be set.
func (t *Triggers) sleep(ctx context.Context, until time.Time) bool {
	for {
		left := until.Sub(t.cfg.Clock.Now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		woken := make(chan struct{})
		stop := t.cfg.Clock.AfterFunc(min(left, time.Minute), func() { close(woken) })
		select {
		case <-woken:
		case <-ctx.Done():
			stop()
			return false
		}
	}
}

// fire starts the run of a time. The run's id derives from the time, so that several servers or
// a restarted one start one run.
func (t *Triggers) fire(one *Trigger, at time.Time) {
	err := t.cfg.Start(one.Flow, runner.Options{
		RunID: one.Name() + "-" + at.UTC().Format("20060102T150405"), Input: one.Input, By: "the schedule " + one.Schedule.expr,
		Labels: map[string]string{byLabel: one.Name(), forLabel: at.UTC().Format(time.RFC3339)},
	})
	if err != nil && !errors.Is(err, store.ErrRunExists) {
		t.cfg.Log(fmt.Sprintf("the run of %s for %s was not started: %v", one.Flow, at.Format(time.RFC3339), err))
	}
}

// Prefix is the path prefix of webhooks.
const Prefix = "/hooks"

// mostBody bounds the body of a delivery.
const mostBody = 4 << 20

// ServeHTTP handles a delivery to a webhook.
func (t *Triggers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, Prefix)
	i := slices.IndexFunc(t.cfg.Triggers, func(one *Trigger) bool { return one.Webhook == path && path != "" })
	if i < 0 {
		http.Error(w, "no such webhook", http.StatusNotFound)
		return
	}
	one := t.cfg.Triggers[i]
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err != nil {
		http.Error(w, "the body can't be read, or is too large", http.StatusRequestEntityTooLarge)
		return
	}
	secret, err := one.secret()
	if err != nil {
		t.cfg.Log(fmt.Sprintf("webhook %s: %v", one.Webhook, err))
		http.Error(w, "the webhook has no secret", http.StatusServiceUnavailable)
		return
	}
	if !signed(r, body, secret) {
		http.Error(w, "the delivery is not signed with the webhook's secret", http.StatusUnauthorized)
		return
	}
	opts, err := one.options(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	err = t.cfg.Start(one.Flow, opts)
	status := http.StatusAccepted
	var input *runner.InputError
	var driven *store.DrivenError
	switch {
	case errors.Is(err, store.ErrRunExists), errors.As(err, &driven): // it was delivered before
		status = http.StatusOK
	case errors.As(err, &input):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	case err != nil:
		t.cfg.Log(fmt.Sprintf("webhook %s: %v", one.Webhook, err))
		http.Error(w, "the run could not be started", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"run_id": opts.RunID}) // the client has gone
}

// signed reports whether a delivery is authenticated by the secret: with a signature of its body
// as GitHub makes it, or with a bearer token.
func signed(r *http.Request, body []byte, secret string) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(secret))
		return subtle.ConstantTimeCompare(given[:], want[:]) == 1
	}
	given, err := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256="))
	if err != nil {
		return false
	}
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write(body)
	return hmac.Equal(given, sum.Sum(nil))
}

// options returns the options of the run for a delivery.
func (t *Trigger) options(r *http.Request, body []byte) (runner.Options, error) {
	opts := runner.Options{By: "the webhook " + t.Webhook, Labels: map[string]string{byLabel: t.Name()}}
	headers := map[string]any{}
	for name, values := range r.Header { //lint:ignore mapiter it becomes a map
		if name != "Authorization" && name != "X-Hub-Signature-256" {
			headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	value, err := eval.ParseJSON(body)
	if err != nil {
		value = string(body)
	}
	var vm eval.VM
	env := map[string]any{"body": value, "headers": headers}
	if t.From != nil {
		input, err := vm.Eval(t.From, env)
		object, ok := input.(map[string]any)
		if err != nil || !ok {
			return opts, fmt.Errorf("the webhook's input gives no object of inputs: %v", err)
		}
		opts.Input = object
	}
	key := store.NewRunID(time.Now())
	if t.Dedupe != nil {
		same, err := vm.Eval(t.Dedupe, env)
		if err != nil {
			return opts, fmt.Errorf("the webhook's dedupe: %w", err)
		}
		if same != nil {
			text, _ := json.Marshal(same) // canonical data always can
			key = short(string(text))
		}
	}
	opts.RunID = t.Name() + "-" + key
	return opts, nil
}
