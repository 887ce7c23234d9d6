// Which model a node or a role means, and opening it once a run.

package node

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graphrun/graphrun/model"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/model/provider"
	"github.com/graphrun/graphrun/model/scripted"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// modelRef is a model as provider/name, the folder that a script's path is
// relative to, and the providers that are declared where the model is named.
type modelRef struct {
	name, dir string
	providers map[string]any
}

// resolveModel finds the model that a node names: provider/name, or a role. A
// role is what the caller of the run says, else what the task's graph does, else
// the graphs around it, in each under its own name before `default`.
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
		ref, err := resolveRole(task, scope, named)
		if err != nil || ref.name != "" {
			return ref, err
		}
	}
	return modelRef{}, &runner.Failure{Kind: "invalid_input", Message: fmt.Sprintf(
		"there is no model for the role %q; declare models: {%s: provider/name}, or pass --model %s=provider/name", named, named, named)}
}

// resolveRole is the model of a role as one graph has it; its name is "" when
// the graph declares none.
func resolveRole(task *runner.Task, scope handler.ModelScope, role string) (modelRef, error) {
	for range len(scope.Models) + 2 { // a role may name another role
		ref := roleOf(task, scope, role)
		if ref.name == "" || strings.Contains(ref.name, "/") {
			return ref, nil
		}
		role = ref.name
	}
	return modelRef{}, invalidInput("the roles of models name each other in a circle at %q", role)
}

// roleOf is what a role stands for. What the caller of the run named belongs to
// the run's own graph.
func roleOf(task *runner.Task, scope handler.ModelScope, role string) modelRef {
	for _, name := range []string{role, "default"} {
		if ref := task.Models.Overrides[name]; ref != "" {
			return modelRef{ref, task.Models.Dir, chosenFrom(task, ref)}
		}
		if ref := scope.Models[name]; ref != "" {
			return modelRef{ref, scope.Dir, scope.Providers}
		}
	}
	return modelRef{}
}

// chosenFrom are the providers of a model that the caller of the run named: those
// of the run's own graph, unless only the task's declares it.
func chosenFrom(task *runner.Task, ref string) map[string]any {
	if around := task.Models.Around; len(around) > 0 {
		name, _, _ := strings.Cut(ref, "/")
		outer := around[len(around)-1].Providers
		if outer[name] != nil || task.Providers[name] == nil {
			return outer
		}
	}
	return task.Providers
}

// openKey is the key of an open model in the scope of a run. A script is the
// same for all graphs of the run: each of its answers is given once.
type openKey struct {
	name, dir string
	graph     *spec.Graph
}

// openModel is a client, or why there is none.
type openModel struct {
	client model.Client
	err    error
}

// Close has nothing to do: a client holds nothing that must be given back.
func (openModel) Close() error { return nil }

// models opens models.
type models struct {
	options provider.Options // Declared, Dir and Sleep are the task's
	// cassette records answers, or plays them; nil: neither.
	cassette *cassette.Cassette
	// stand stands in for models; nil: nothing does.
	stand *Stand
	// thinking has thoughts told.
	thinking bool
}

// open returns the client of a model, the same for the whole run.
func (m *models) open(task *runner.Task, ref modelRef) (model.Client, error) {
	hideSecrets(task, m.cassette) // there may be more than at the last call
	key := openKey{ref.name, ref.dir, task.Graph}
	if ref.isScript() {
		key.graph = nil
	}
	open := task.Scope.Keep(key, func() io.Closer {
		hideKeys(task, m.cassette)
		hideProviders(task, ref.providers, m.cassette)
		connect := func() (model.Client, error) { return m.connect(task, ref) }
		if m.cassette != nil {
			return openModel{m.cassette.Client(ref.name, connect), nil}
		}
		client, err := connect()
		return openModel{client, err}
	}).(openModel)
	return inTurn(task, ref, open.client), open.err
}

func (m *models) connect(task *runner.Task, ref modelRef) (model.Client, error) {
	opts := m.options
	opts.Declared, opts.Dir, opts.Sleep = ref.providers, ref.dir, task.Models.Sleep
	key := provider.Key(ref.name, opts) // the environment's, too
	task.Models.Hide(key)
	m.cassette.Hide(key)
	client, err := provider.Open(ref.name, opts)
	if script, ok := client.(*scripted.Client); ok {
		skipAnswered(task, ref, script)
	}
	return client, err
}

// isScript reports whether a script answers: its calls are free, and each of
// its answers is given once in a run.
func (ref modelRef) isScript() bool {
	return strings.HasPrefix(ref.priced(), "scripted/")
}

// priced is the name under which a model's price is known: "" for a server of
// the graph's own.
func (ref modelRef) priced() string {
	name, id, _ := provider.Split(ref.name)
	declared, ok := ref.providers[name].(map[string]any)
	if !ok {
		return ref.name
	}
	if kind, _ := declared["type"].(string); declared["base_url"] == nil || kind == "scripted" {
		return kind + "/" + id
	}
	return ""
}

// prices are what calls of the model cost: as the graph says, else as the table does.
func (ref modelRef) prices() price.Prices {
	name, id, _ := provider.Split(ref.name)
	declared, _ := ref.providers[name].(map[string]any)
	given, _ := declared["prices"].(map[string]any)
	if rates, ok := given[id].(map[string]any); ok {
		return price.Declared(rates)
	}
	return price.Of(ref.priced())
}

// hideKeys masks what providers are given to know us by, and keeps the run's
// secrets out of a recording.
func hideKeys(task *runner.Task, tape *cassette.Cassette) {
	hideSecrets(task, tape)
	hideProviders(task, task.Providers, tape)
}

func hideSecrets(task *runner.Task, tape *cassette.Cassette) {
	tape.HideForms(task.Models.Secrets)
}

func hideProviders(task *runner.Task, providers map[string]any, tape *cassette.Cassette) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		declared, _ := providers[name].(map[string]any)
		key, _ := declared["api_key"].(string)
		task.Models.Hide(key)
		tape.Hide(key)
	}
}

// skipAnswered brings a script to where it was before the run was taken up.
func skipAnswered(task *runner.Task, ref modelRef, script *scripted.Client) {
	for _, call := range task.Models.Answered {
		if call.Model == ref.name {
			script.Skip(model.Caller{Node: call.Node, Place: call.Place, Role: call.Role, Visit: call.Visit, Turn: call.Turn})
		}
	}
}

// modelFailure is a failed call as a node's failure.
func modelFailure(err error) error {
	var failed *model.Error
	if !errors.As(err, &failed) {
		return err
	}
	out := &runner.Failure{Kind: failed.Kind, Message: failed.Message, RetryAfter: failed.RetryAfter.Milliseconds()}
	if failed.Class != "" || failed.Status != 0 || failed.Final {
		out.Details = map[string]any{}
		if failed.Final {
			out.Details["should_retry"] = false
		}
		if failed.Class != "" {
			out.Details["class"] = failed.Class
		}
		if failed.Status != 0 {
			out.Details["status"] = failed.Status
		}
	}
	return out
}
