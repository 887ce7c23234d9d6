// Comparing a run with the expectations of its case.

package flowtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// check returns the expectations that a run fails.
func (x *expectation) check(r *runner.Result) []Failure {
	if x.update {
		return []Failure{{What: "expect", Line: x.file.line(x.value.Span), Want: "update", Got: "not written yet: run test --update"}}
	}
	k := &checker{x: x, r: r, end: endOf(x.file.Graph, r)}
	for i := range x.value.Fields {
		field := &x.value.Fields[i]
		k.at = field.Key.Span
		k.key(field.Key.Value, &field.Value)
	}
	return k.failures
}

// checker collects the failed expectations of one run.
type checker struct {
	x        *expectation
	r        *runner.Result
	end      map[string]any // see endOf
	at       spec.Span
	failures []Failure
}

func (k *checker) miss(what string, want, got any) {
	k.failures = append(k.failures, Failure{What: what, Line: k.x.file.line(k.at), Want: want, Got: got})
}

func (k *checker) key(name string, v *spec.Value) {
	switch name {
	case "exit":
		k.data(name, v, k.r.ExitCode(false))
	case "visits", "state", "error":
		k.members(name, v)
	case "state_exactly":
		if want := v.Data(); !equal(want, any(k.r.State)) {
			k.miss(name, want, k.r.State)
		}
	case "pending":
		got, _ := k.end[name].([]any)
		if want, _ := v.Data().([]any); len(want) != len(got) || !fits(want, got) {
			k.miss(name, want, got)
		}
	case "duration":
		k.duration(v)
	case "edges":
		k.edges()
	case "where":
		k.where()
	case "path":
		k.path(v)
	default:
		k.data(name, v, k.end[name])
	}
}

// members compares the members of an object that the case names.
func (k *checker) members(name string, v *spec.Value) {
	object, isObject := k.end[name].(map[string]any)
	if !isObject {
		k.miss(name, v.Data(), nil)
		return
	}
	for i := range v.Fields {
		k.at = v.Fields[i].Key.Span
		key := v.Fields[i].Key.Value
		k.data(name+"."+key, &v.Fields[i].Value, object[key])
	}
}

func (k *checker) data(what string, v *spec.Value, got any) {
	if want := v.Data(); !fits(want, got) {
		k.miss(what, want, got)
	}
}

// pendingData returns the questions of a run as plain data.
func pendingData(r *runner.Result) []any {
	text, err := json.Marshal(r.Pending)
	var plain any
	if err == nil && json.Unmarshal(text, &plain) == nil {
		plain, _ = eval.Canonical(plain)
	}
	list, _ := plain.([]any)
	return append([]any{}, list...)
}

func (k *checker) duration(v *spec.Value) {
	got := time.Duration(k.r.Duration)
	if want := v.Text.Value; isPattern(want) {
		k.data("duration", v, got.String())
	} else if d, err := time.ParseDuration(want); err == nil && d != got {
		k.miss("duration", eval.DurationText(d), eval.DurationText(got))
	}
}

func (k *checker) edges() {
	counts := k.r.Edges
	for _, w := range k.x.edges {
		fired := 0
		for _, i := range w.edges {
			fired += counts[i].Fired
		}
		if (fired > 0) == w.fired {
			continue
		}
		k.at = w.name.Span
		if w.fired {
			k.miss("edges.fired", w.name.Value, "it did not fire")
		} else {
			k.miss("edges.not_fired", w.name.Value, "it fired "+counted(fired, "time", "times"))
		}
	}
}

// visitsOf counts the visits of each node.
func visitsOf(r *runner.Result) map[string]int {
	out := map[string]int{}
	for _, node := range r.Path {
		out[node]++
	}
	return out
}

// path compares the path with a list or with several forms.
func (k *checker) path(v *spec.Value) {
	if v.Kind == spec.List {
		k.form("exactly", v)
		return
	}
	for i := range v.Fields {
		k.at = v.Fields[i].Key.Span
		k.form(v.Fields[i].Key.Value, &v.Fields[i].Value)
	}
}

func (k *checker) form(form string, v *spec.Value) {
	path, want := k.r.Path, valuesOf(v)
	what, ok := "path."+form, len(want) <= len(path)
	isOnPath := func(name string) bool {
		return slices.ContainsFunc(path, func(got string) bool { return matchText(name, got) })
	}
	switch form {
	case "exactly":
		what, ok = "path", slices.EqualFunc(want, path, matchText)
	case "starts":
		ok = ok && slices.EqualFunc(want, path[:len(want)], matchText)
	case "ends":
		ok = ok && slices.EqualFunc(want, path[len(path)-len(want):], matchText)
	case "contains":
		ok = !slices.ContainsFunc(want, func(name string) bool { return !isOnPath(name) })
	case "order":
		at := 0
		for _, got := range path {
			if at < len(want) && matchText(want[at], got) {
				at++
			}
		}
		ok = at == len(want)
	case "never":
		ok = !slices.ContainsFunc(want, isOnPath)
	case "matches":
		all := strings.Join(path, " ")
		if pattern, err := regexp.Compile(unwrapped(v.Text.Value)); err != nil || !pattern.MatchString(all) {
			k.miss(what, v.Text.Value, all)
		}
		return
	}
	if !ok {
		k.miss(what, want, path)
	}
}
