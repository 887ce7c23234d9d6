// Package trigger starts runs by cron and by webhooks, as `triggers` of graphrun.yaml says.
package trigger

import (
	"cmp"
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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// Trigger starts a flow at the times of Schedule, or on requests to Webhook.
type Trigger struct {
	// Flow is the file as given in the list.
	Flow string
	// Schedule is nil for a webhook.
	Schedule *Schedule
	// CatchUp says which missed times run later: "none", "one" (the latest) or "all".
	CatchUp string
	// Input is the input of runs of a schedule.
	Input map[string]any
	// Webhook is a path with a leading slash.
	Webhook string
	// From computes the input of a run from body and headers, and Dedupe a value that is equal for
	// repeated deliveries. Both may be nil.
	From, Dedupe *eval.Program
	// secret reads the secret of deliveries.
	secret  func() (string, error)
	written *spec.Value // the trigger in the file
}

// ListKey is the key of triggers in a settings file.
var ListKey = spec.Key{Name: "triggers", Type: spec.TypeList, Elem: &spec.Key{
	Type: spec.TypeObject, Choices: []spec.Choice{{Keys: []string{"cron", "webhook"}, Required: true}},
	Keys: []spec.Key{
		{Name: "flow", Type: spec.TypeString, Required: true},
		{Name: "cron", Type: spec.TypeString},
		{Name: "timezone", Type: spec.TypeString},
		{Name: "catch_up", Type: spec.TypeEnum, Enum: []string{"all", "none", "one"}},
		{Name: "webhook", Type: spec.TypeString},
		{
			Name: "secret", Type: spec.TypeObject, Choices: []spec.Choice{{Keys: []string{"env", "file"}, Required: true}},
			Keys: []spec.Key{{Name: "env", Type: spec.TypeString}, {Name: "file", Type: spec.TypeString}},
		},
		{Name: "dedupe", Type: spec.TypeString, Role: spec.RoleExpr},
		{Name: "input", Type: spec.TypeAny},
	},
}}

// Read adds the triggers of a list and their problems. The shape of the list was checked before.
func (l *List) Read(file *spec.File, list *spec.Value) {
	l.file = file
	hooks := map[string]bool{}
	for _, item := range list.Items {
		if item.Kind != spec.Map {
			continue
		}
		t := l.readTrigger(&item)
		if hooks[t.Webhook] && t.Webhook != "" {
			l.addProblem(&item, "", "an earlier trigger has the webhook %q", t.Webhook)
		}
		hooks[t.Webhook] = true
		l.Triggers = append(l.Triggers, t)
	}
}

// addProblem reports a problem with a key of a trigger, or with the trigger if it lacks the key.
func (l *List) addProblem(trigger *spec.Value, key, format string, args ...any) {
	at := trigger.Span
	if part := trigger.Get(key); part != nil {
		at = part.Span
	}
	l.Problems = append(l.Problems, spec.Diagnostic{File: l.file, Rule: "invalid-value", Severity: spec.Error, Span: at, Message: fmt.Sprintf(format, args...)})
}

func (l *List) readTrigger(v *spec.Value) *Trigger {
	t := &Trigger{CatchUp: cmp.Or(v.Get("catch_up").Scalar().Value, "none"), Flow: v.Get("flow").Scalar().Value, written: v}
	hasCron, hasWebhook := v.Get("cron") != nil, v.Get("webhook") != nil
	if hasCron == hasWebhook {
		return t // spec.Read reports it
	}
	kind, others, read := "cron", []string{"secret", "dedupe"}, l.readSchedule
	if hasWebhook {
		kind, others, read = "webhook", []string{"timezone", "catch_up"}, l.readWebhook
	}
	for _, name := range others {
		if v.Get(name) != nil {
			l.addProblem(v, name, "%q does not go with %s", name, kind)
		}
	}
	read(t, v)
	return t
}

func (l *List) readSchedule(t *Trigger, v *spec.Value) {
	zone, err := time.Local, error(nil)
	if name := v.Get("timezone").Scalar().Value; name != "" {
		if zone, err = time.LoadLocation(name); err != nil {
			l.addProblem(v, "timezone", "timezone %q is not known; it is a name such as Europe/Berlin", name)
			zone = time.UTC
		}
	}
	if t.Schedule, err = NewSchedule(v.Get("cron").Scalar().Value, zone); err != nil {
		l.addProblem(v, "cron", "%s", err)
	}
	if input := v.Get("input"); input != nil {
		if t.Input, _ = input.Data().(map[string]any); t.Input == nil {
			l.addProblem(v, "input", `"input" of a schedule must be a map of state keys to values`)
		}
	}
}

func (l *List) readWebhook(t *Trigger, v *spec.Value) {
	t.Webhook = v.Get("webhook").Scalar().Value
	if !strings.HasPrefix(t.Webhook, "/") || strings.ContainsAny(t.Webhook, " {}?#%") || strings.Contains(t.Webhook, "//") || strings.Contains(t.Webhook, "..") {
		l.addProblem(v, "webhook", "webhook %q must be a path such as /deployed", t.Webhook)
	}
	scope := eval.NewScope(map[string]eval.Type{"body": eval.Any(), "headers": eval.Object(map[string]eval.Type{}, true)}, eval.ScopeOptions{})
	compile := func(name string) *eval.Program {
		part := v.Get(name)
		if part == nil {
			return nil
		}
		p, err := scope.Compile(part.Text.Value, eval.Value)
		if err != nil {
			l.addProblem(v, name, "%q: %s", name, err.Message)
			return nil
		}
		return p
	}
	t.From, t.Dedupe = compile("input"), compile("dedupe")
	secret := v.Get("secret")
	if secret == nil {
		l.addProblem(v, "secret", `"secret" is needed: {env: NAME} or {file: PATH}, what the sender signs its deliveries with`)
		l.Problems[len(l.Problems)-1].Rule = "missing-field"
		return
	}
	t.secret = func() (string, error) {
		return readSecret(secret.Get("env").Scalar().Value, secret.Get("file").Scalar().Value)
	}
}

func readSecret(env, file string) (string, error) {
	if env != "" {
		if value := os.Getenv(env); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("environment variable %s is not set", env)
	}
	src, err := bounded.ReadFile(file, bounded.Text)
	value := strings.TrimSpace(string(src))
	if err == nil && value == "" {
		err = errors.New(file + " is empty")
	}
	return value, err
}

// List holds the triggers of a settings file and their problems.
type List struct {
	Triggers []*Trigger
	Problems spec.Diagnostics
	file     *spec.File
}

// Check resolves the flows of the triggers in the folder of the settings file, and returns problems.
func (l *List) Check() (spec.Diagnostics, error) {
	if len(l.Triggers)+len(l.Problems) == 0 {
		return nil, nil
	}
	flows, err := catalog.Open(filepath.Dir(l.file.Name), catalog.Rules{})
	if err != nil {
		return nil, err
	}
	return l.ResolveFlows(flows), flows.Close()
}

// ResolveFlows converts the flow paths of triggers from the settings file's folder to a catalog. It
// returns problems: missing or invalid flows and bad inputs.
func (l *List) ResolveFlows(flows *catalog.Catalog) spec.Diagnostics {
	checked := List{file: l.file, Problems: slices.Clone(l.Problems)}
	for _, t := range l.Triggers {
		if t.Flow == "" {
			continue // reported already
		}
		file, err := filepath.Abs(filepath.Join(filepath.Dir(l.file.Name), filepath.FromSlash(t.Flow)))
		if err == nil {
			if dir, linkErr := filepath.EvalSymlinks(filepath.Dir(file)); linkErr == nil {
				file = filepath.Join(dir, filepath.Base(file))
			}
		}
		path := flows.PathOf(file)
		if err != nil || path == "" {
			checked.addProblem(t.written, "flow", "%q is not below %s", t.Flow, flows.Dir())
			continue
		}
		// The input of a webhook depends on the delivery.
		err = flows.CheckInput(path, t.Input, t.Schedule != nil)
		if input, ok := errors.AsType[*runner.InputError](err); ok {
			for _, problem := range input.Problems {
				checked.addProblem(t.written, "input", "trigger of %q: %s", t.Flow, problem)
			}
		} else if err != nil {
			checked.addProblem(t.written, "flow", "%s", err)
		}
		t.Flow = path
	}
	return checked.Problems
}

// Config configures Triggers.
type Config struct {
	Triggers []*Trigger
	// Start starts a run of a flow and returns when it is stored.
	Start func(flow string, opts runner.Options) error
	// Store is searched for the last run of each schedule.
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

// maxCaughtUp bounds the runs for missed times.
const maxCaughtUp = 1000

// Name returns the id of a trigger. The ids of its runs begin with it.
func (t *Trigger) Name() string {
	if t.Schedule == nil {
		return "hook-" + shortHash(t.Webhook+"\n"+t.Flow)
	}
	return "cron-" + shortHash(t.Schedule.expr+"\n"+t.Schedule.zone.String()+"\n"+t.Flow)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// Run starts the runs of the schedules until ctx ends.
func (t *Triggers) Run(ctx context.Context) {
	var schedules sync.WaitGroup
	for _, one := range t.cfg.Triggers {
		if one.Schedule != nil {
			schedules.Go(func() { t.followSchedule(ctx, one) })
		}
	}
	schedules.Wait()
}

func (t *Triggers) followSchedule(ctx context.Context, one *Trigger) {
	from := t.cfg.Clock.Now()
	for _, at := range t.listMissed(one, from) {
		t.startRun(one, at)
	}
	for {
		at := one.Schedule.Next(from)
		if at.IsZero() || !t.sleepUntil(ctx, at) {
			return
		}
		t.startRun(one, at)
		from = at
	}
}

// listMissed returns the times since the last run of the schedule.
func (t *Triggers) listMissed(one *Trigger, now time.Time) []time.Time {
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
	for at := one.Schedule.Next(last); !at.IsZero() && !at.After(now) && len(out) < maxCaughtUp; at = one.Schedule.Next(at) {
		out = append(out, at)
	}
	if one.CatchUp == "one" && len(out) > 1 {
		out = out[len(out)-1:]
	}
	return out
}

// sleepUntil waits until a time, or returns false when ctx ends. It checks the clock repeatedly,
// since the clock may be set.
func (t *Triggers) sleepUntil(ctx context.Context, until time.Time) bool {
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

// startRun starts the run for a scheduled time. The run's id derives from the time, so that several
// servers, or one that restarts, start it only once.
func (t *Triggers) startRun(one *Trigger, at time.Time) {
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

// maxBody bounds the body of a delivery.
const maxBody = 4 << 20

// ServeHTTP handles a delivery to a webhook.
func (t *Triggers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, status, refusal := t.startFromDelivery(w, r)
	if refusal != "" {
		http.Error(w, refusal, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"run_id": id}) // fails only if the client has disconnected
}

// startFromDelivery starts the run for a delivery. It returns the run's id, or why the delivery is
// refused.
func (t *Triggers) startFromDelivery(w http.ResponseWriter, r *http.Request) (id string, status int, refusal string) {
	path := strings.TrimPrefix(r.URL.Path, Prefix)
	i := slices.IndexFunc(t.cfg.Triggers, func(one *Trigger) bool { return one.Webhook == path && path != "" })
	if i < 0 {
		return "", http.StatusNotFound, "no such webhook"
	}
	one := t.cfg.Triggers[i]
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return "", http.StatusRequestEntityTooLarge, "the body can't be read, or is too large"
	}
	secret, err := one.secret()
	if err != nil {
		t.cfg.Log(fmt.Sprintf("webhook %s: %v", one.Webhook, err))
		return "", http.StatusServiceUnavailable, "the webhook has no secret"
	}
	if !isSigned(r, body, secret) {
		return "", http.StatusUnauthorized, "the delivery is not signed with the webhook's secret"
	}
	opts, err := one.newOptions(r, body)
	if err != nil {
		return "", http.StatusBadRequest, err.Error()
	}
	err = t.cfg.Start(one.Flow, opts)
	_, isDriven := errors.AsType[*store.DrivenError](err)
	_, isInput := errors.AsType[*runner.InputError](err)
	switch {
	case err == nil:
		return opts.RunID, http.StatusAccepted, ""
	case isDriven, errors.Is(err, store.ErrRunExists): // a repeated delivery
		return opts.RunID, http.StatusOK, ""
	case isInput:
		return "", http.StatusUnprocessableEntity, err.Error()
	}
	t.cfg.Log(fmt.Sprintf("webhook %s: %v", one.Webhook, err))
	return "", http.StatusServiceUnavailable, "the run could not be started"
}

// isSigned reports whether a delivery is authenticated by the secret: with a signature of its body
// as GitHub makes it, or with a bearer token.
func isSigned(r *http.Request, body []byte, secret string) bool {
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

func (t *Trigger) newOptions(r *http.Request, body []byte) (runner.Options, error) {
	opts := runner.Options{By: "the webhook " + t.Webhook, Labels: map[string]string{byLabel: t.Name()}}
	headers := map[string]any{}
	for name, values := range r.Header { //lint:ignore mapiter the result is a map
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
			text, _ := json.Marshal(same) // plain data never fails
			key = shortHash(string(text))
		}
	}
	opts.RunID = t.Name() + "-" + key
	return opts, nil
}
