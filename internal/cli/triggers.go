// Triggers of graphrun.yaml: what starts runs by itself where a server serves.

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/serve"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/spec"
)

// triggerList is the triggers of a settings file.
type triggerList struct {
	path    string
	src     []byte
	list    []*trigger.Trigger
	misread []trigger.Problem
}

// placeTriggers names the flows of triggers, which are relative to the settings file, by
// their paths below a folder, and holds them against what is there: each has to be
// valid, and to take its input. It gives what is wrong with them.
func (a *app) placeTriggers(flows *catalog.Catalog) spec.Diagnostics {
	found := slices.Clone(a.triggers.misread)
	for _, t := range a.triggers.list {
		if t.Flow == "" {
			continue // that is a finding already
		}
		file, err := filepath.Abs(filepath.Join(filepath.Dir(a.triggers.path), filepath.FromSlash(t.Flow)))
		if err == nil {
			if dir, linkErr := filepath.EvalSymlinks(filepath.Dir(file)); linkErr == nil {
				file = filepath.Join(dir, filepath.Base(file))
			}
		}
		path := flows.PathOf(file)
		if err != nil || path == "" {
			found = append(found, trigger.Problem{At: t.FlowAt, Rule: "invalid-value", Text: fmt.Sprintf("%q is not below %s", t.Flow, flows.Dir())})
			continue
		}
		// What a webhook is given is made of what is delivered: it is not known yet.
		err = flows.Check(path, t.Input, t.Schedule != nil)
		var input *runner.InputError
		if errors.As(err, &input) {
			for _, problem := range input.Problems {
				found = append(found, trigger.Problem{At: t.InputAt, Rule: "invalid-value", Text: fmt.Sprintf("trigger of %q: %s", t.Flow, problem)})
			}
		} else if err != nil {
			found = append(found, trigger.Problem{At: t.FlowAt, Rule: "invalid-value", Text: err.Error()})
		}
		t.Flow = path
	}
	if len(found) == 0 {
		return nil
	}
	settings := spec.NewFile(a.triggers.path, a.triggers.src)
	out := make(spec.Diagnostics, len(found))
	for i, p := range found {
		out[i] = spec.Diagnostic{File: settings, Rule: p.Rule, Severity: spec.Error, Message: p.Text, Span: spanOf(settings.Src, p.At)}
	}
	return out
}

// spanOf is where a YAML node stands in a text: a scalar that is written as it reads,
// with or without quotes, or else the rest of its line.
func spanOf(src []byte, n *yaml.Node) spec.Span {
	at := 0
	for line := 1; line < n.Line; line++ {
		at += bytes.IndexByte(src[at:], '\n') + 1
	}
	if n.Line == 1 && bytes.HasPrefix(src, []byte("\ufeff")) {
		at = 3 // the library does not count the mark
	}
	for column := 1; column < n.Column && at < len(src); column++ {
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	rest, _, _ := bytes.Cut(src[at:], []byte("\n"))
	text := bytes.TrimRight(rest, " \t\r")
	if n.Kind == yaml.ScalarNode {
		for _, quote := range []string{"", "'", `"`} {
			if written := quote + n.Value + quote; n.Value != "" && bytes.HasPrefix(rest, []byte(written)) {
				text = []byte(written)
			}
		}
	}
	return spec.Span{From: at, To: at + len(text)}
}

// checkOwnTriggers is placeTriggers for the flows beside the settings file.
func (a *app) checkOwnTriggers() (spec.Diagnostics, error) {
	if len(a.triggers.list)+len(a.triggers.misread) == 0 {
		return nil, nil
	}
	flows, err := catalog.Open(filepath.Dir(a.triggers.path), catalog.Rules{})
	if err != nil {
		return nil, usage(err)
	}
	return a.placeTriggers(flows), flows.Close()
}

// asErrors are findings in lines, for those who can't go on with them.
func asErrors(found spec.Diagnostics) error {
	list := make([]error, len(found))
	for i := range found {
		d := &found[i]
		at := d.File.Position(d.Span.From)
		list[i] = fmt.Errorf("%s:%d:%d: %s", d.File.Name, at.Line, at.Column, d.Message)
	}
	return errors.Join(list...)
}

// triggerClock is the clock of schedules.
func (a *app) triggerClock() runner.Clock {
	if a.clock != nil {
		return a.clock
	}
	return givenClock{time.Now}
}

// triggersOf are those of a flow, for people.
func (a *app) triggersOf(flow string) []serve.Trigger {
	var out []serve.Trigger
	for _, t := range a.triggers.list {
		switch {
		case t.Flow != flow:
		case t.Schedule == nil:
			out = append(out, serve.Trigger{Webhook: trigger.Prefix + t.Webhook})
		default:
			next := t.Schedule.Next(a.Now())
			out = append(out, serve.Trigger{Cron: t.Schedule.String(), Timezone: t.Schedule.Zone(), Next: &next})
		}
	}
	return out
}
