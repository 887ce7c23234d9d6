package referencetest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/referencetest"
	"github.com/graphrun/graphrun/spec"
)

func TestCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range referencetest.Cases() {
		if names[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		names[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			_, got := run(t, c.FileText(), c, c.Options)
			if diff := describeMismatch(c.Want, got); diff != "" {
				t.Errorf("%s\n%s\n%s", c.Says, diff, c.FileText())
			}
		})
	}
	if len(names) < 60 {
		t.Errorf("only %d cases", len(names))
	}
}

// describeMismatch describes the differences between a result and the expected one.
func describeMismatch(want referencetest.Want, got referencetest.Result) string {
	var out []string
	add := func(what string, set bool, w, g any) {
		if set && !reflect.DeepEqual(w, g) {
			out = append(out, fmt.Sprintf("%s: want %v, got %v", what, w, g))
		}
	}
	status := want.Status
	if status == "" {
		status = "completed"
	}
	add("status", true, status, got.Status)
	add("quality", want.Quality != "", want.Quality, got.Quality)
	add("reason", want.Reason != "", want.Reason, got.Reason)
	add("path", want.Path != "", want.Path, strings.Join(got.Path, " "))
	add("log", want.Log != "", want.Log, joinWords(got.State["log"]))
	add("steps", want.Steps != 0, want.Steps, got.Steps)
	add("took", want.Took != 0, want.Took, got.Took)
	for k, v := range want.State {
		add("state."+k, true, v, got.State[k])
	}
	add("output", want.Output != nil, want.Output, got.Output)
	if got.Error != nil {
		kind := got.Error.Kind
		if strings.Contains(want.Error, " ") {
			kind += " " + got.Error.Node
		}
		add("error", want.Error != "", want.Error, kind)
	} else {
		add("error", true, want.Error, "")
	}
	var pending []string
	for _, p := range got.Pending {
		pending = append(pending, p.Node)
	}
	add("pending", want.Pending != "", want.Pending, strings.Join(pending, " "))
	for what, text := range want.Saw {
		node, path, _ := strings.Cut(what, ".")
		add("what "+what+" was", true, text, evalSeen(got, node, path))
	}
	return strings.Join(out, "\n")
}

func joinWords(v any) string {
	var out []string
	list, _ := v.([]any)
	for _, item := range list {
		out = append(out, eval.Text(item))
	}
	return strings.Join(out, " ")
}

// evalSeen evaluates an expression in the environment of the last step of a node.
func evalSeen(r referencetest.Result, node, text string) string {
	out := "no step"
	for _, l := range r.Log {
		if l.Node != node {
			continue
		}
		p, err := eval.NewScope(nil, eval.ScopeOptions{Open: true, Roots: []string{"state"}}).Compile(text, eval.Value)
		if err != nil {
			return err.Error()
		}
		var vm eval.VM
		v, failed := vm.Eval(p, l.View.Env)
		if failed != nil {
			return failed.Error()
		}
		out = eval.Text(v)
	}
	return out
}

// The flows of the cases pass the checks, except for the findings about unbounded loops and about
// on_bypass with a number.
func TestCasesAreLegal(t *testing.T) {
	for _, c := range referencetest.Cases() {
		f, err := referencetest.Parse(c.FileText())
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for _, d := range spec.Check(f.Graph) {
			if d.Severity == spec.Error && !strings.Contains(d.Message, "on_bypass") {
				t.Errorf("%s: %s: %s\n%s", c.Name, d.Rule, d.Message, c.FileText())
			}
		}
	}
}
