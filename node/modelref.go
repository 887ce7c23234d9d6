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
	"github.com/graphrun/graphrun/model/provider"
	"github.com/graphrun/graphrun/model/scripted"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// modelRef is a model as provider/name, and the folder that a script's path is
// relative to.
type modelRef struct{ name, dir string }

// resolveModel finds the model that a node names: provider/name, or a role of
// `models`, which the caller of the run may have set and which falls back to
// the role default.
func resolveModel(task *runner.Task, named string) (modelRef, error) {
	for range len(task.Graph.Models) + 2 { // a role may name another role
		if strings.Contains(named, "/") {
			return modelRef{named, task.Dir}, nil
		}
		ref, dir := roleOf(task, named)
		if ref == "" {
			return modelRef{}, &runner.Failure{Kind: "invalid_input", Message: fmt.Sprintf(
				"there is no model for the role %q; declare models: {%s: provider/name}, or pass --model %s=provider/name", named, named, named)}
		}
		if strings.Contains(ref, "/") {
			return modelRef{ref, dir}, nil
		}
		named = ref
	}
	return modelRef{}, invalidInput("the roles of models name each other in a circle at %q", named)
}

// roleOf is what a role stands for, and the folder that it is relative to.
func roleOf(task *runner.Task, role string) (ref, dir string) {
	for _, name := range []string{role, "default"} {
		if ref = task.Models.Overrides[name]; ref != "" {
			return ref, task.Models.Dir
		}
		for i := range task.Graph.Models {
			if m := &task.Graph.Models[i]; m.Key.Value == name && m.Value.Kind == spec.String {
				return m.Value.Text.Value, task.Dir
			}
		}
	}
	return "", ""
}

// openKey is the key of an open model in the scope of a run. A script is the
// same for all graphs of the run: each of its answers is given once.
type openKey struct {
	ref   modelRef
	graph *spec.Graph
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
}

// open returns the client of a model, the same for the whole run.
func (m *models) open(task *runner.Task, ref modelRef) (model.Client, error) {
	key := openKey{ref, task.Graph}
	if ref.isScript(task) {
		key.graph = nil
	}
	open := task.Scope.Keep(key, func() io.Closer {
		hideKeys(task, m.cassette)
		connect := func() (model.Client, error) { return m.connect(task, ref) }
		if m.cassette != nil {
			return openModel{m.cassette.Client(ref.name, connect), nil}
		}
		client, err := connect()
		return openModel{client, err}
	}).(openModel)
	return open.client, open.err
}

func (m *models) connect(task *runner.Task, ref modelRef) (model.Client, error) {
	opts := m.options
	opts.Declared, opts.Dir, opts.Sleep = task.Providers, ref.dir, task.Models.Sleep
	client, err := provider.Open(ref.name, opts)
	if script, ok := client.(*scripted.Client); ok {
		skipAnswered(task, ref, script)
	}
	return client, err
}

// isScript reports whether a script answers: its calls are free, and each of
// its answers is given once in a run.
func (ref modelRef) isScript(task *runner.Task) bool {
	return strings.HasPrefix(ref.priced(task), "scripted/")
}

// priced is the name under which a model's price is known: "" for a server of
// the graph's own.
func (ref modelRef) priced(task *runner.Task) string {
	name, id, _ := provider.Split(ref.name)
	declared, ok := task.Providers[name].(map[string]any)
	if !ok {
		return ref.name
	}
	if kind, _ := declared["type"].(string); declared["base_url"] == nil || kind == "scripted" {
		return kind + "/" + id
	}
	return ""
}

// hideKeys masks what providers are given to know us by, and keeps the run's
// secrets out of a recording.
func hideKeys(task *runner.Task, tape *cassette.Cassette) {
	for _, secret := range task.Models.Secrets {
		tape.Hide(secret)
	}
	for _, name := range slices.Sorted(maps.Keys(task.Providers)) {
		declared, _ := task.Providers[name].(map[string]any)
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
	if failed.Class != "" || failed.Status != 0 {
		out.Details = map[string]any{}
		if failed.Class != "" {
			out.Details["class"] = failed.Class
		}
		if failed.Status != 0 {
			out.Details["status"] = failed.Status
		}
	}
	return out
}
