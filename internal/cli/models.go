// --model and --set-model-param: the models of a run, and their parameters.

package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/model/cassette"
	"github.com/graphrun/graphrun/runner"
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
	flags.StringArrayVar(&f.models, "model", nil, "ROLE=MODEL: the model of a role, such as default=openai/gpt-4.1-mini,\ninstead of the graph's, in subgraphs too; repeatable")
	flags.StringArrayVar(&f.params, "set-model-param", nil, "[PATH/NODE:]KEY=JSON: a parameter of one model node, or of all of them,\nsuch as temperature=0 or outer/inner:max_tokens=200; repeatable")
	flags.StringVar(&f.record, "record", "", "write what models and tools answer to a FILE")
	flags.StringVar(&f.replay, "replay", "", "take what models and tools answer from a FILE that --record wrote;\nno provider, script or tool is asked")
	for _, name := range []string{"model", "set-model-param"} {
		complete(cmd, name, nil)
	}
}

// apply puts what the flags say into the options of a run.
func (f *modelFlags) apply(opts *runner.Options) error {
	var problems []error
	for _, text := range f.models {
		role, model, ok := strings.Cut(text, "=")
		provider, name, whole := strings.Cut(model, "/")
		if !ok || role == "" || !whole || provider == "" || name == "" {
			problems = append(problems, usagef("--model %q: want ROLE=PROVIDER/NAME, such as default=openai/gpt-4.1-mini", text))
			continue
		}
		if opts.Models == nil {
			opts.Models = map[string]string{}
		}
		opts.Models[role] = model
	}
	for _, text := range f.params {
		param, err := readModelParam(text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		opts.ModelParams = append(opts.ModelParams, param)
	}
	if len(problems) > 0 {
		return usage(errors.Join(problems...))
	}
	return nil
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
func readModelParam(text string) (runner.ModelParam, error) {
	name, value, ok := strings.Cut(text, "=")
	p := runner.ModelParam{Key: name}
	if node, key, targeted := strings.Cut(name, ":"); targeted {
		p.Node, p.Key = node, key
		ok = ok && node != ""
	}
	if !ok || p.Key == "" {
		return p, usagef("--set-model-param %q: want [PATH/NODE:]KEY=JSON, such as temperature=0", text)
	}
	var err error
	if p.Value, err = decodeJSON([]byte(value)); err != nil {
		p.Value = value
	}
	return p, nil
}
