// --model and --set-model-param: the models of a run, and their parameters.

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/spec"
)

// modelFlags are the flags that say which models a run uses, and how.
type modelFlags struct {
	models []string
	params []string
	record string
	replay string
}

func addModelFlags(cmd *cobra.Command, f *modelFlags) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.models, "model", nil, "ROLE=MODEL: the model of a role, for example default=openai/gpt-6-luna;\nreplaces the graph's, in subgraphs too; repeatable")
	flags.StringArrayVar(&f.params, "set-model-param", nil, "[PATH/NODE:]KEY=JSON: a parameter of one model node or of all,\nfor example reasoning=low or outer/inner:max_tokens=200; repeatable")
	flags.StringVar(&f.record, "record", "", "FILE to record the answers of models and tools in")
	flags.StringVar(&f.replay, "replay", "", "FILE from --record to take the answers of models and tools from;\nno provider, script or tool is asked, and nothing waits")
	for _, name := range []string{"model", "set-model-param"} {
		complete(cmd, name, nil)
	}
}

// roles are the roles for which models are named.
func (f *modelFlags) roles() []string {
	out := make([]string, len(f.models))
	for i, text := range f.models {
		out[i], _, _ = strings.Cut(text, "=")
	}
	return out
}

// apply puts what the flags say into the options of a run.
func (f *modelFlags) apply(g *spec.Graph, opts *runner.Options) error {
	var problems []error
	for _, text := range f.models {
		role, model, ok := strings.Cut(text, "=")
		provider, name, whole := strings.Cut(model, "/")
		if !ok || role == "" || !whole || provider == "" || name == "" {
			problems = append(problems, usagef("--model %q: want ROLE=PROVIDER/NAME, such as default=openai/gpt-6-luna", text))
			continue
		}
		if opts.Models == nil {
			opts.Models = map[string]string{}
		}
		if problem := unusedRole(g, role); problem != "" {
			problems = append(problems, usagef("--model %s: %s", text, problem))
		}
		if problem := unknownProvider(g, provider); problem != "" {
			problems = append(problems, usagef("--model %s: %s", text, problem))
		}
		opts.Models[role] = model
	}
	for _, text := range f.params {
		param, err := readModelParam(text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if param.Node != "" {
			if err := checkNode(g, param.Node, false); err != nil {
				problems = append(problems, usagef("--set-model-param %s: %w", text, err))
			}
		}
		opts.ModelParams = append(opts.ModelParams, param)
	}
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
}

// unusedRole says that nothing in a graph has a role of models; "" when something
// has, or may have in a subgraph.
func unusedRole(g *spec.Graph, role string) string {
	known := []string{"compact", "default", "judge", "router"}
	for i := range g.Models {
		known = append(known, g.Models[i].Key.Value)
	}
	if runsGraphs(g) {
		return ""
	}
	for _, n := range g.Nodes {
		for _, named := range []*spec.Value{n.Field("model"), n.Field("judge").Get("model")} {
			if named != nil && named.Kind == spec.String && !strings.Contains(named.Text.Value, "/") {
				known = append(known, named.Text.Value)
			}
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if slices.Contains(known, role) {
		return ""
	}
	if near := suggest.New(known).Closest(role); near != "" {
		return fmt.Sprintf("nothing has the role %q; did you mean %q?", role, near)
	}
	return fmt.Sprintf("nothing has the role %q (roles: %s)", role, strings.Join(known, ", "))
}

// unknownProvider says that a graph has no provider of a name; "" when it has, or
// when a subgraph may have.
func unknownProvider(g *spec.Graph, name string) string {
	known := []string{"anthropic", "openai", "scripted"}
	for i := range g.Providers {
		known = append(known, g.Providers[i].Key.Value)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if slices.Contains(known, name) || runsGraphs(g) {
		return ""
	}
	if near := suggest.New(known).Closest(name); near != "" {
		return fmt.Sprintf("there is no provider %q; did you mean %q?", name, near)
	}
	return fmt.Sprintf("there is no provider %q (providers: %s)", name, strings.Join(known, ", "))
}

// runsGraphs reports whether a graph runs others, as nodes or as tools.
func runsGraphs(g *spec.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *spec.Node) bool { return n.Kind.Value == "graph" }) ||
		slices.ContainsFunc(g.Tools, func(f spec.Field) bool { return f.Value.Get("graph") != nil })
}

// tape opens the recording that the flags ask for: to write one, or to play one.
func (f *modelFlags) tape(drive *driveFlags) error {
	switch {
	case f.record != "" && f.replay != "":
		return usagef("--record and --replay exclude each other: what is played is not asked anew")
	case f.record != "":
		if err := cassette.Check(f.record); err != nil {
			return usagef("--record: %w", err)
		}
		drive.tape, drive.record = cassette.New(), f.record
	case f.replay != "":
		tape, err := cassette.Open(f.replay)
		if err != nil {
			return usagef("--replay: %w", err)
		}
		drive.tape = tape
	}
	return nil
}

// readModelParam reads [PATH/NODE:]KEY=JSON; a value that is no JSON is a text.
func readModelParam(text string) (handler.ModelParam, error) {
	name, value, ok := strings.Cut(text, "=")
	p := handler.ModelParam{Key: name}
	if node, key, targeted := strings.Cut(name, ":"); targeted {
		p.Node, p.Key = node, key
		ok = ok && node != ""
	}
	if !ok || p.Key == "" {
		return p, usagef("--set-model-param %q: want [PATH/NODE:]KEY=JSON, such as reasoning=low", text)
	}
	var err error
	if p.Value, err = decodeJSON([]byte(value)); err != nil {
		if value == "" || strings.ContainsAny(value[:1], `{["`) {
			return p, usagef("--set-model-param %q: the value is not JSON: %w", text, err)
		}
		p.Value = value
	}
	return p, nil
}
