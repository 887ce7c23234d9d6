// Package trigger starts runs by cron and by webhooks, as `triggers` of graphrun.yaml says.
package trigger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/runner"
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
	secret          func() (string, error)
	flowAt, inputAt spec.Span // the places of its flow and input
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

// Read adds the triggers of a list, whose shape is checked, and their problems.
func (l *List) Read(file *spec.File, list *spec.Value) {
	l.file = file
	hooks := map[string]bool{}
	for i := range list.Items {
		item := &list.Items[i]
		if item.Kind != spec.Map {
			continue
		}
		t := l.read(item)
		if hooks[t.Webhook] && t.Webhook != "" {
			l.report(item.Span, "webhook %q is that of a trigger before", t.Webhook)
		}
		hooks[t.Webhook] = true
		l.Triggers = append(l.Triggers, t)
	}
}

func (l *List) report(at spec.Span, format string, args ...any) {
	l.Problems = append(l.Problems, spec.Diagnostic{File: l.file, Rule: "invalid-value", Severity: spec.Error, Span: at, Message: fmt.Sprintf(format, args...)})
}

func (l *List) read(v *spec.Value) *Trigger {
	t := &Trigger{CatchUp: "none", Flow: text(v, "flow"), flowAt: v.Span, inputAt: v.Span}
	if flow := v.Get("flow"); flow != nil {
		t.flowAt = flow.Span
	}
	if input := v.Get("input"); input != nil {
		t.inputAt = input.Span
	}
	kind, others := "cron", []string{"webhook", "secret", "dedupe"}
	if v.Get("cron") == nil {
		kind, others = "webhook", []string{"timezone", "catch_up"}
	}
	if v.Get(kind) == nil || v.Get(others[0]) != nil && kind == "cron" {
		return t // the check of the shape reports it
	}
	for _, name := range others {
		if other := v.Get(name); other != nil {
			l.report(other.Span, "%q does not go with %s", name, kind)
		}
	}
	if kind == "cron" {
		l.readSchedule(t, v)
	} else {
		l.readWebhook(t, v)
	}
	return t
}

// text returns the text of a key, or "".
func text(v *spec.Value, name string) string {
	if part := v.Get(name); part != nil {
		return part.Text.Value
	}
	return ""
}

func (l *List) readSchedule(t *Trigger, v *spec.Value) {
	zone, err := time.Local, error(nil)
	if name := text(v, "timezone"); name != "" {
		if zone, err = time.LoadLocation(name); err != nil {
			l.report(v.Get("timezone").Span, "timezone %q is not known; it is a name such as Europe/Berlin", name)
			zone = time.UTC
		}
	}
	if t.Schedule, err = NewSchedule(text(v, "cron"), zone); err != nil {
		l.report(v.Get("cron").Span, "%s", err)
	}
	if catchUp := text(v, "catch_up"); catchUp != "" {
		t.CatchUp = catchUp
	}
	if input := v.Get("input"); input != nil {
		if t.Input, _ = input.Data().(map[string]any); t.Input == nil {
			l.report(input.Span, `"input" of a schedule must be a map of state keys to values`)
		}
	}
}

func (l *List) readWebhook(t *Trigger, v *spec.Value) {
	t.Webhook = text(v, "webhook")
	if !strings.HasPrefix(t.Webhook, "/") || strings.ContainsAny(t.Webhook, " {}?#%") || strings.Contains(t.Webhook, "//") || strings.Contains(t.Webhook, "..") {
		l.report(v.Get("webhook").Span, "webhook %q must be a path such as /deployed", t.Webhook)
	}
	scope := eval.NewScope(map[string]eval.Type{"body": eval.Any(), "headers": eval.Object(map[string]eval.Type{}, true)}, eval.ScopeOptions{})
	compile := func(name string) *eval.Program {
		part := v.Get(name)
		if part == nil {
			return nil
		}
		p, err := scope.Compile(part.Text.Value, eval.Value)
		if err != nil {
			l.report(part.Span, "%q: %s", name, err.Message)
			return nil
		}
		return p
	}
	t.From, t.Dedupe = compile("input"), compile("dedupe")
	secret := v.Get("secret")
	if secret == nil {
		l.report(v.Span, `"secret" is needed: {env: NAME} or {file: PATH}, what the sender signs its deliveries with`)
		l.Problems[len(l.Problems)-1].Rule = "missing-field"
		return
	}
	t.secret = func() (string, error) { return readSecret(text(secret, "env"), text(secret, "file")) }
}

// readSecret reads the secret of deliveries from an environment variable or a file.
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

// Check is Place for the flows beside the settings file.
func (l *List) Check() (spec.Diagnostics, error) {
	if len(l.Triggers)+len(l.Problems) == 0 {
		return nil, nil
	}
	flows, err := catalog.Open(filepath.Dir(l.file.Name), catalog.Rules{})
	if err != nil {
		return nil, err
	}
	return l.Place(flows), flows.Close()
}

// Place converts the flow paths of triggers from the settings file's folder to a catalog. It
// returns problems: missing or invalid flows and bad inputs.
func (l *List) Place(flows *catalog.Catalog) spec.Diagnostics {
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
			checked.report(t.flowAt, "%q is not below %s", t.Flow, flows.Dir())
			continue
		}
		// The input of a webhook depends on the delivery.
		err = flows.Check(path, t.Input, t.Schedule != nil)
		var input *runner.InputError
		if errors.As(err, &input) {
			for _, problem := range input.Problems {
				checked.report(t.inputAt, "trigger of %q: %s", t.Flow, problem)
			}
		} else if err != nil {
			checked.report(t.flowAt, "%s", err)
		}
		t.Flow = path
	}
	return checked.Problems
}
