// The cancel and pause commands of runs: asked of whoever drives a run.

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

// stopPoll is the time between looks at how a run stands that was asked to stop.
const stopPoll = 100 * time.Millisecond

func newRunsCancelCommand(a *app) *cobra.Command {
	return newStopCommand(a, store.RequestCancel, &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run, also one that another process drives",
		Long: `cancel ends a run as an interrupt would: running nodes are cancelled and have 5 seconds
to end, and finished work is kept. It waits until the run has ended. A run that is
paused, or whose process is gone, is recorded as cancelled at once. graphrun resume
continues a cancelled run.

Exit codes: 0 the run is cancelled, 1 it ended otherwise first, 2 no such run, or it had
already ended.`,
		Example: "  graphrun runs cancel nightly\n  graphrun runs cancel nightly --no-wait",
	})
}

func newRunsPauseCommand(a *app) *cobra.Command {
	return newStopCommand(a, store.RequestPause, &cobra.Command{
		Use:   "pause RUN",
		Short: "Pause a run that another process drives",
		Long: `pause lets running nodes end, then pauses the run before the next ones. It waits until
the run is paused. graphrun resume continues it.

Exit codes: 0 the run is paused, 1 it ended first, 2 no such run, or it is not running.`,
		Example: "  graphrun runs pause nightly && graphrun runs state nightly",
	})
}

// stopping is a run that is asked to stop.
type stopping struct {
	app     *app
	store   store.Store
	id      string
	request store.Request
	noWait  bool
	output  enum
	asked   string // the driver that was asked last
}

func newStopCommand(a *app, request store.Request, cmd *cobra.Command) *cobra.Command {
	w := &stopping{app: a, request: request, output: newEnum("text", "json", "text")}
	cmd.Args = oneRun
	cmd.ValidArgsFunction = a.completeRun
	cmd.PreRunE = a.loadSettings
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if w.store, err = a.openStore(); err != nil {
			return err
		}
		record, err := a.findRun(w.store, args[0])
		if err != nil {
			return err
		}
		w.id = record.ID
		return w.wait(cmd.Context())
	}
	cmd.Flags().BoolVar(&w.noWait, "no-wait", false, "return as soon as the run's driver has been asked")
	enumFlag(cmd, cmd.Flags(), &w.output, "output", "o", "output format")
	return cmd
}

// wait looks at the run until it stands as wanted.
func (w *stopping) wait(ctx context.Context) error {
	signals := w.app.signals()
	defer signals.stop()
	for {
		lines, err := w.store.List(store.RunFilter{ID: w.id})
		switch {
		case err != nil:
			return err
		case len(lines) == 0:
			return fmt.Errorf("run %q: %w", w.id, store.ErrNoRun)
		}
		settled, err := w.look(&lines[0])
		if err != nil || settled {
			return err
		}
		select {
		case <-time.After(stopPoll):
		case <-ctx.Done():
			return ctx.Err()
		case <-signals.c:
			fmt.Fprintf(w.app.Stderr, "graphrun: not waiting any more; %s was asked to %s the run\n", w.asked, w.request)
			return silent(exitCancelled)
		}
	}
}

// look does what the run as it stands calls for; settled says that this is all.
func (w *stopping) look(r *store.RunSummary) (settled bool, err error) {
	wanted := machine.Cancelled
	if w.request == store.RequestPause {
		wanted = machine.Paused
	}
	switch {
	case r.Status == wanted:
		return true, w.say(r)
	case r.Status != machine.Running && r.Status != machine.Paused:
		return true, w.tooLate(r)
	case r.Owner != "":
		return w.ask(r, r.Owner)
	case w.request == store.RequestPause:
		return true, usagef("run %q crashed: nothing of it runs that could pause; graphrun resume continues it", w.id)
	}
	return w.cancel(r)
}

// ask asks a driver, once.
func (w *stopping) ask(r *store.RunSummary, owner string) (settled bool, err error) {
	if w.asked == owner {
		return false, nil
	}
	if err := w.store.Ask(w.id, w.request); err != nil {
		return false, err
	}
	w.asked = owner
	if w.noWait {
		return true, w.say(r)
	}
	fmt.Fprintf(w.app.Stderr, "graphrun: asked %s to %s the run\n", w.asked, w.request)
	return false, nil
}

// cancel ends a run that nobody drives.
func (w *stopping) cancel(r *store.RunSummary) (settled bool, err error) {
	canceller, err := w.app.newRunner(w.store, nil)
	if err != nil {
		return false, err
	}
	_, err = canceller.Cancel(w.id)
	var driven *store.DrivenError
	if errors.As(err, &driven) { // somebody took it up just now, or it is a cluster's
		return w.ask(r, driven.Owner)
	}
	return false, refused("run "+w.id+" was not cancelled", err)
}

// tooLate is the error for a run that has ended otherwise than wanted.
func (w *stopping) tooLate(r *store.RunSummary) error {
	if w.asked == "" {
		return usagef("run %q has ended already: %s", w.id, r.Status)
	}
	return fmt.Errorf("run %q ended before it could %s: %s", w.id, map[store.Request]string{
		store.RequestCancel: "be cancelled", store.RequestPause: "pause",
	}[w.request], r.Status)
}

// say tells how the run stands.
func (w *stopping) say(r *store.RunSummary) error {
	a := w.app
	if w.output.value == "json" {
		return writeJSON(a.Stdout, inspect.ListRuns([]store.RunSummary{*r})[0], a.StdoutTerminal)
	}
	text := fmt.Sprintf("run %s is %s; graphrun resume continues it", w.id, r.Status)
	if r.Status == machine.Running {
		text = fmt.Sprintf("%s was asked to %s run %s", w.asked, w.request, w.id)
	}
	_, err := fmt.Fprintln(a.Stdout, text)
	return err
}
