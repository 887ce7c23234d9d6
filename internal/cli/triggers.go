// Triggers of graphrun.yaml: what starts runs by itself where a server serves.

package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/serve"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/runner"
)

// placeTriggers names the flows of triggers, which are relative to the settings file, by
// their paths below a folder, and holds them against what is there: each has to be
// valid, and to take its input.
func (a *app) placeTriggers(flows *catalog.Catalog) error {
	var problems []error
	for _, t := range a.triggers {
		file, err := filepath.Abs(filepath.Join(filepath.Dir(a.settingsPath), filepath.FromSlash(t.Flow)))
		if err == nil {
			if dir, linkErr := filepath.EvalSymlinks(filepath.Dir(file)); linkErr == nil {
				file = filepath.Join(dir, filepath.Base(file))
			}
		}
		path := flows.PathOf(file)
		if err != nil || path == "" {
			problems = append(problems, fmt.Errorf("%s:%d: trigger of %q: it is not below %s", a.settingsPath, t.Line, t.Flow, flows.Dir()))
			continue
		}
		t.Flow = path
		// What a webhook is given is made of what is delivered: it is not known yet.
		if err := flows.Check(t.Flow, t.Input, t.Schedule != nil); err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: trigger of %q: %w", a.settingsPath, t.Line, t.Flow, err))
		}
	}
	if len(problems) > 0 {
		return usagef("%s", errors.Join(problems...))
	}
	return nil
}

// checkOwnTriggers is placeTriggers for the flows beside the settings file.
func (a *app) checkOwnTriggers() error {
	if len(a.triggers) == 0 {
		return nil
	}
	flows, err := catalog.Open(filepath.Dir(a.settingsPath), catalog.Rules{})
	if err != nil {
		return usage(err)
	}
	return errors.Join(a.placeTriggers(flows), flows.Close())
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
	for _, t := range a.triggers {
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
