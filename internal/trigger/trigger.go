// Package trigger starts runs by cron and by webhooks, as `triggers` of graphrun.yaml says.
package trigger

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
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
	secret func() (string, error)
	// flowAt and inputAt are the spans of its flow and input.
	flowAt, inputAt spec.Span
}

// List holds the triggers of a settings file and their problems.
type List struct {
	Triggers []*Trigger
	Problems spec.Diagnostics
	file     *spec.File
}

// The rules of problems.
const (
	invalid = "invalid-value"
	missing = "missing-field"
	unknown = "unknown-key"
)

// Read reads the key triggers of a settings file.
func Read(path string, src []byte) List {
	l := List{file: spec.NewFile(path, src)}
	root, found := spec.ReadValue(path, src, "")
	list := root.Get("triggers")
	if list == nil {
		return l
	}
	for _, d := range found {
		if list.Span.From <= d.Span.From && d.Span.To <= list.Span.To {
			l.Problems = append(l.Problems, d)
		}
	}
	if list.Kind != spec.List {
		l.report(list.Span, invalid, `"triggers" must be a list`)
	}
	hooks := map[string]bool{}
	for i := range list.Items {
		item := &list.Items[i]
		if item.Kind != spec.Map {
			l.report(item.Span, invalid, "a trigger must be a map with flow, and cron or webhook")
			continue
		}
		r := &reader{&l, item, &Trigger{CatchUp: "none", flowAt: item.Span, inputAt: item.Span}}
		r.read()
		if hook := r.trigger.Webhook; hook != "" {
			if hooks[hook] {
				l.report(item.Span, invalid, "webhook %q is that of a trigger before", hook)
			}
			hooks[hook] = true
		}
		l.Triggers = append(l.Triggers, r.trigger)
	}
	return l
}

func (l *List) report(at spec.Span, rule, format string, args ...any) {
	l.Problems = append(l.Problems, spec.Diagnostic{File: l.file, Span: at, Rule: rule, Severity: spec.Error, Message: fmt.Sprintf(format, args...)})
}

// reader reads one trigger.
type reader struct {
	*List
	value   *spec.Value
	trigger *Trigger
}

var keys = []string{"catch_up", "cron", "dedupe", "flow", "input", "secret", "timezone", "webhook"}

func (r *reader) read() {
	t := r.trigger
	for i := range r.value.Fields {
		if key := r.value.Fields[i].Key; !slices.Contains(keys, key.Value) {
			r.report(key.Span, unknown, "unknown key %q of a trigger; allowed are %s", key.Value, strings.Join(keys, ", "))
		}
	}
	if v := r.value.Get("flow"); v != nil {
		t.flowAt = v.Span
	}
	if v := r.value.Get("input"); v != nil {
		t.inputAt = v.Span
	}
	if t.Flow = r.text("flow"); t.Flow == "" {
		r.report(r.value.Span, missing, "a trigger needs flow: the file from the folder that is served")
	}
	isCron, isHook := r.value.Get("cron") != nil, r.value.Get("webhook") != nil
	switch {
	case isCron == isHook:
		r.report(r.value.Span, missing, "a trigger has either cron or webhook")
	case isCron:
		r.refuse("cron", "webhook", "secret", "dedupe")
		r.readSchedule()
	default:
		r.refuse("webhook", "timezone", "catch_up")
		r.readWebhook()
	}
}

// refuse reports keys that do not go with a kind of trigger.
func (r *reader) refuse(kind string, names ...string) {
	for _, name := range names {
		if v := r.value.Get(name); v != nil {
			r.report(v.Span, invalid, "%q does not go with %s", name, kind)
		}
	}
}

// text returns the text of a key, or "".
func (r *reader) text(name string) string {
	v := r.value.Get(name)
	if v == nil {
		return ""
	}
	if !v.IsScalar() {
		r.report(v.Span, invalid, "%q must be a text", name)
	}
	return v.Text.Value
}

func (r *reader) readSchedule() {
	t := r.trigger
	zone := time.Local
	if name := r.text("timezone"); name != "" {
		var err error
		if zone, err = time.LoadLocation(name); err != nil {
			r.report(r.value.Get("timezone").Span, invalid, "timezone %q is not known; it is a name such as Europe/Berlin", name)
			zone = time.UTC
		}
	}
	var err error
	if t.Schedule, err = NewSchedule(r.text("cron"), zone); err != nil {
		r.report(r.value.Get("cron").Span, invalid, "%s", err)
	}
	if v := r.value.Get("catch_up"); v != nil {
		t.CatchUp = r.text("catch_up")
		if !slices.Contains([]string{"all", "none", "one"}, t.CatchUp) {
			r.report(v.Span, invalid, `"catch_up" must be all, none or one, found %q`, t.CatchUp)
		}
	}
	if v := r.value.Get("input"); v != nil {
		var ok bool
		if t.Input, ok = v.Data().(map[string]any); !ok {
			r.report(v.Span, invalid, `"input" of a schedule must be a map of state keys to values`)
		}
	}
}

func (r *reader) readWebhook() {
	t := r.trigger
	t.Webhook = r.text("webhook")
	if !strings.HasPrefix(t.Webhook, "/") || strings.ContainsAny(t.Webhook, " {}?#%") || strings.Contains(t.Webhook, "//") || strings.Contains(t.Webhook, "..") {
		r.report(r.value.Get("webhook").Span, invalid, "webhook %q must be a path such as /deployed", t.Webhook)
	}
	scope := eval.NewScope(map[string]eval.Type{"body": eval.Any(), "headers": eval.Object(map[string]eval.Type{}, true)}, eval.ScopeOptions{})
	compile := func(name string) *eval.Program {
		v := r.value.Get(name)
		if v == nil {
			return nil
		}
		p, err := scope.Compile(r.text(name), eval.Value)
		if err != nil {
			r.report(v.Span, invalid, "%q: %s", name, err.Message)
			return nil
		}
		return p
	}
	t.From, t.Dedupe = compile("input"), compile("dedupe")
	t.secret = r.secret()
}

// secret returns a function that reads the secret of deliveries.
func (r *reader) secret() func() (string, error) {
	const want = `"secret" is needed: {env: NAME} or {file: PATH}, what the sender signs its deliveries with`
	v := r.value.Get("secret")
	if v == nil {
		r.report(r.value.Span, missing, want)
		return nil
	}
	if len(v.Fields) == 1 && v.Fields[0].Value.IsScalar() {
		name := v.Fields[0].Value.Text.Value
		switch v.Fields[0].Key.Value {
		case "env":
			return func() (string, error) {
				if value := os.Getenv(name); value != "" {
					return value, nil
				}
				return "", fmt.Errorf("environment variable %s is not set", name)
			}
		case "file":
			return func() (string, error) {
				src, err := bounded.ReadFile(name, bounded.Text)
				value := strings.TrimSpace(string(src))
				if err == nil && value == "" {
					err = errors.New(name + " is empty")
				}
				return value, err
			}
		}
	}
	r.report(v.Span, invalid, want)
	return nil
}
