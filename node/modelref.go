// Finding the model for a node or a role, opening it once per run, and limiting its calls.

package node

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/model/provider"
	"github.com/graphrun/graphrun/model/scripted"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// modelRef is a model named provider/name, with the folder and the providers that apply to it.
type modelRef struct {
	name, dir string
	providers map[string]any
}

// resolveModel finds the model for provider/name or a role. It looks up roles, then `default`, in
// the run's options, the task's graph and the graphs around it.
func resolveModel(task *runner.Task, named string) (modelRef, error) {
	if strings.Contains(named, "/") {
		return modelRef{named, task.Dir, task.Providers}, nil
	}
	own := handler.ModelScope{Models: map[string]string{}, Providers: task.Providers, Dir: task.Dir}
	for i := range task.Graph.Models {
		if m := &task.Graph.Models[i]; m.Value.Kind == spec.String {
			own.Models[m.Key.Value] = m.Value.Text.Value
		}
	}
	for _, scope := range append([]handler.ModelScope{own}, task.Models.Around...) {
		ref := modelRef{name: named}
		for range len(scope.Models) + 2 { // a role may name another role
			if ref = lookUpRole(task, scope, ref.name); strings.Contains(ref.name, "/") {
				return ref, nil
			}
		}
		if ref.name != "" {
			return modelRef{}, invalidInput("the roles of models name each other in a circle at %q", ref.name)
		}
	}
	return modelRef{}, invalidInput(
		"there is no model for the role %q; declare models: {%s: provider/name}, or pass --model %s=provider/name", named, named, named)
}

// lookUpRole returns the model or role for a role, or no name. Overrides belong to the run's graph.
func lookUpRole(task *runner.Task, scope handler.ModelScope, role string) modelRef {
	for _, name := range []string{role, "default"} {
		if ref := task.Models.Overrides[name]; ref != "" {
			return modelRef{ref, task.Models.Dir, overrideProviders(task, ref)}
		}
		if ref := scope.Models[name]; ref != "" {
			return modelRef{ref, scope.Dir, scope.Providers}
		}
	}
	return modelRef{}
}

// overrideProviders returns the run's providers, unless only the task's graph declares this one.
func overrideProviders(task *runner.Task, ref string) map[string]any {
	if around := task.Models.Around; len(around) > 0 {
		name, _, _ := strings.Cut(ref, "/")
		outer := around[len(around)-1].Providers
		if outer[name] != nil || task.Providers[name] == nil {
			return outer
		}
	}
	return task.Providers
}

// openKey is the key of an open model in the run's scope. All graphs of a run share its scripts.
type openKey struct {
	name, dir string
	graph     *spec.Graph
}

// models opens models.
type models struct {
	options  provider.Options // Declared, Dir, Sleep and Hide are the task's
	cassette *cassette.Cassette
	standIns *StandIns
	thinking bool // emit thoughts
}

func newModels(opts Options) models {
	return models{cassette: opts.Cassette, standIns: opts.StandIns, thinking: opts.Thinking}
}

// openModel returns the client of a model, which the whole run shares.
func (m *models) openModel(task *runner.Task, ref modelRef) (model.Client, error) {
	m.cassette.HideSecretForms(task.Models.Secrets) // more secrets may be known than at the last call
	key := openKey{ref.name, ref.dir, task.Graph}
	if ref.isScript() {
		key.graph = nil
	}
	switch open := task.Scope.GetOrOpen(key, func() any {
		hideKeys(task, m.cassette, task.Providers)
		hideKeys(task, m.cassette, ref.providers)
		connect := func() (model.Client, error) { return m.connectModel(task, ref) }
		if m.cassette != nil {
			return m.cassette.NewClient(ref.name, connect)
		}
		client, err := connect()
		if err != nil {
			return err
		}
		return client
	}).(type) {
	case error:
		return nil, open
	default:
		return limitInFlight(task, ref, open.(model.Client)), nil
	}
}

func (m *models) connectModel(task *runner.Task, ref modelRef) (model.Client, error) {
	opts := m.options
	opts.Declared, opts.Dir, opts.Sleep = ref.providers, ref.dir, task.Models.Sleep
	opts.Hide = func(key string) {
		task.Models.Hide(key)
		m.cassette.HideSecret(key)
	}
	client, err := provider.Open(ref.name, opts)
	if script, ok := client.(*scripted.Client); ok {
		for _, call := range task.Models.Answered { // before the run was resumed
			if call.Model == ref.name {
				script.SkipCall(model.Caller{Node: call.Node, Place: call.Place, Role: call.Role, Visit: call.Visit, Turn: call.Turn})
			}
		}
	}
	return client, err
}

func (ref modelRef) isScript() bool { return strings.HasPrefix(ref.priceName(), "scripted/") }

// findProvider returns the declaration of the model's provider, or nil, and the model's name there.
func (ref modelRef) findProvider() (declared map[string]any, id string) {
	name, id, _ := provider.Split(ref.name)
	declared, _ = ref.providers[name].(map[string]any)
	return declared, id
}

// priceName returns the model's name in the price table, or "" for a server with its own address.
func (ref modelRef) priceName() string {
	declared, id := ref.findProvider()
	kind, _ := declared["type"].(string)
	switch {
	case declared == nil:
		return ref.name
	case declared["base_url"] == nil, kind == "scripted":
		return kind + "/" + id
	}
	return ""
}

// findPrices returns the model's prices from the graph, else from the table.
func (ref modelRef) findPrices() price.Prices {
	declared, id := ref.findProvider()
	given, _ := declared["prices"].(map[string]any)
	if rates, ok := given[id].(map[string]any); ok {
		return price.NewPrices(rates)
	}
	return price.Of(ref.priceName())
}

// hideKeys registers the keys of providers and the run's secrets, which a recording must mask.
func hideKeys(task *runner.Task, tape *cassette.Cassette, providers map[string]any) {
	tape.HideSecretForms(task.Models.Secrets)
	for _, name := range keys.Sorted(providers) {
		declared, _ := providers[name].(map[string]any)
		key, _ := declared["api_key"].(string)
		task.Models.Hide(key)
		tape.HideSecret(key)
	}
}

func modelFailure(err error) error {
	var failed *model.Error
	if !errors.As(err, &failed) {
		return err
	}
	out := &runner.Failure{Kind: failed.Kind, Message: failed.Message, RetryAfter: failed.RetryAfter.Milliseconds()}
	details := map[string]any{"class": failed.Class, "status": failed.Status}
	maps.DeleteFunc(details, func(_ string, value any) bool { return value == "" || value == 0 })
	if failed.Final {
		details["should_retry"] = false
	}
	if len(details) > 0 {
		out.Details = details
	}
	return out
}

// flightKey is the key of a provider's gate in the scope of a run.
type flightKey struct {
	provider string
	most     int
}

// limitedClient is a client whose calls wait for the gate, which has a token per call in flight.
type limitedClient struct {
	model.Client
	gate chan struct{}
}

// Chat waits for the gate and makes the call.
func (c limitedClient) Chat(ctx context.Context, req *model.Request, onText func(string)) (*model.Response, error) {
	select {
	case c.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.gate }()
	return c.Client.Chat(ctx, req, onText)
}

func limitInFlight(task *runner.Task, ref modelRef, client model.Client) model.Client {
	name, _, _ := provider.Split(ref.name)
	declared, _ := ref.findProvider()
	most, ok := declared["max_in_flight"].(int)
	if !ok {
		return client
	}
	return limitedClient{client, task.Scope.GetOrOpen(flightKey{name, most}, func() any { return make(chan struct{}, most) }).(chan struct{})}
}
