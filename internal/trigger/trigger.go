// Package trigger starts runs by cron and by webhooks, as `triggers` of graphrun.yaml says.
package trigger

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bounded"
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
	// At is its position in the file; FlowAt and InputAt are the positions of its flow and input.
	At, FlowAt, InputAt *yaml.Node
}

// Problem is a mistake in a list of triggers.
type Problem struct {
	// At is the position; Rule is the rule under which validate reports it.
	At   *yaml.Node
	Rule string
	Text string
}

// The kinds of problems.
const (
	duplicate = "duplicate-key"
	invalid   = "invalid-value"
	missing   = "missing-field"
	unknown   = "unknown-key"
)

// Read reads the list of triggers.
func Read(list *yaml.Node) (triggers []*Trigger, problems []Problem) {
	wrong := func(n *yaml.Node, rule, format string, args ...any) {
		problems = append(problems, Problem{n, rule, fmt.Sprintf(format, args...)})
	}
	if list.Kind != yaml.SequenceNode {
		wrong(list, invalid, `"triggers" must be a list`)
		return nil, problems
	}
	hooks := map[string]bool{}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			wrong(item, invalid, "a trigger must be a map with flow, and cron or webhook")
			continue
		}
		r := &reader{node: item, wrong: wrong}
		t := r.read()
		if hooks[t.Webhook] && t.Webhook != "" {
			wrong(item, invalid, "webhook %q is that of a trigger before", t.Webhook)
		}
		hooks[t.Webhook] = true
		triggers = append(triggers, t)
	}
	return triggers, problems
}

// reader reads one trigger.
type reader struct {
	node  *yaml.Node
	wrong func(n *yaml.Node, rule, format string, args ...any)
}

func keys() []string {
	return []string{"catch_up", "cron", "dedupe", "flow", "input", "secret", "timezone", "webhook"}
}

func (r *reader) read() *Trigger {
	t := &Trigger{CatchUp: "none", At: r.node, FlowAt: r.node, InputAt: r.node}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(r.node.Content); i += 2 {
		key := r.node.Content[i]
		switch {
		case !slices.Contains(keys(), key.Value):
			r.wrong(key, unknown, "unknown key %q of a trigger; allowed are %s", key.Value, strings.Join(keys(), ", "))
		case values[key.Value] != nil:
			r.wrong(key, duplicate, "%q is set twice", key.Value)
		}
		values[key.Value] = r.node.Content[i+1]
	}
	if n := values["flow"]; n != nil {
		t.FlowAt = n
	}
	if n := values["input"]; n != nil {
		t.InputAt = n
	}
	t.Flow = r.text(values["flow"], "flow")
	if t.Flow == "" {
		r.wrong(r.node, missing, "a trigger needs flow: the file from the folder that is served")
	}
	cron, hook := values["cron"], values["webhook"]
	if (cron == nil) == (hook == nil) {
		r.wrong(r.node, missing, "a trigger has either cron or webhook")
		return t
	}
	other := []string{"webhook", "secret", "dedupe"}
	if hook != nil {
		other = []string{"timezone", "catch_up"}
	}
	for _, name := range other {
		if n := values[name]; n != nil {
			r.wrong(n, invalid, "%q does not go with %s", name, map[bool]string{true: "webhook", false: "cron"}[hook != nil])
		}
	}
	if cron != nil {
		r.schedule(t, values)
	} else {
		r.webhook(t, values)
	}
	return t
}

func (r *reader) text(n *yaml.Node, name string) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		r.wrong(n, invalid, "%q must be a text", name)
		return ""
	}
	return n.Value
}

func (r *reader) schedule(t *Trigger, values map[string]*yaml.Node) {
	zone := time.Local
	if name := r.text(values["timezone"], "timezone"); name != "" {
		var err error
		if zone, err = time.LoadLocation(name); err != nil {
			r.wrong(values["timezone"], invalid, "timezone %q is not known; it is a name such as Europe/Berlin", name)
			zone = time.UTC
		}
	}
	expr := r.text(values["cron"], "cron")
	var err error
	if t.Schedule, err = NewSchedule(expr, zone); err != nil {
		r.wrong(values["cron"], invalid, "%s", err)
	}
	if n := values["catch_up"]; n != nil {
		t.CatchUp = r.text(n, "catch_up")
		if !slices.Contains([]string{"all", "none", "one"}, t.CatchUp) {
			r.wrong(n, invalid, `"catch_up" must be all, none or one, found %q`, t.CatchUp)
		}
	}
	if n := values["input"]; n != nil {
		if n.Kind != yaml.MappingNode || n.Decode(&t.Input) != nil {
			r.wrong(n, invalid, `"input" of a schedule must be a map of state keys to values`)
		}
	}
}

func (r *reader) webhook(t *Trigger, values map[string]*yaml.Node) {
	t.Webhook = r.text(values["webhook"], "webhook")
	if !strings.HasPrefix(t.Webhook, "/") || strings.ContainsAny(t.Webhook, " {}?#%") || strings.Contains(t.Webhook, "//") || strings.Contains(t.Webhook, "..") {
		r.wrong(values["webhook"], invalid, "webhook %q must be a path such as /deployed", t.Webhook)
	}
	scope := eval.NewScope(map[string]eval.Type{"body": eval.Any(), "headers": eval.Object(map[string]eval.Type{}, true)}, eval.ScopeOptions{})
	compile := func(name string) *eval.Program {
		n := values[name]
		if n == nil {
			return nil
		}
		p, err := scope.Compile(r.text(n, name), eval.Value)
		if err != nil {
			r.wrong(n, invalid, "%q: %s", name, err.Message)
			return nil
		}
		return p
	}
	t.From, t.Dedupe = compile("input"), compile("dedupe")
	t.secret = r.secret(values["secret"])
}

// secret reads the key secret.
func (r *reader) secret(n *yaml.Node) func() (string, error) {
	const want = `"secret" is needed: {env: NAME} or {file: PATH}, what the sender signs its deliveries with`
	if n == nil || n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[1].Kind != yaml.ScalarNode {
		rule := invalid
		if n == nil {
			n, rule = r.node, missing
		}
		r.wrong(n, rule, want)
		return nil
	}
	name := n.Content[1].Value
	switch n.Content[0].Value {
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
	r.wrong(n, invalid, want)
	return nil
}
