// The delete and prune commands of runs: runs that nobody needs any more.

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/machine"
	"github.com/graphrun/graphrun/runner/store"
)

func newRunsDeleteCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "delete RUN...",
		Short: "Delete runs and their journals",
		Long: `delete deletes runs and their journals for good. A run that a process drives can't be
deleted: exit 2.`,
		Example: "  graphrun runs delete nightly",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%q needs the id of a run; graphrun runs list shows them", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeRun,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			kept, err := a.openStore()
			if err != nil {
				return err
			}
			ids, err := a.findRuns(kept, args)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := kept.Delete(id); err != nil {
					return err
				}
			}
			if output.value == "json" {
				return writeJSON(a.Stdout, forgotten{Forgotten: ids}, a.StdoutTerminal)
			}
			fmt.Fprintf(a.Stdout, "%s deleted\n", terminal.Count(len(ids), "run"))
			return nil
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

// deleteAll forgets all sessions or, as far as their ids go, none.
func deleteAll(ids []string, find, remove func(id string) error) error {
	for _, do := range [...]func(string) error{find, remove} {
		for _, id := range ids {
			if err := do(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgotten is what delete and prune print as JSON.
type forgotten struct {
	Forgotten []string `json:"forgotten"`
	// DryRun says that they are still there.
	DryRun bool `json:"dry_run,omitempty"`
}

// age is a duration that may be in days.
type age time.Duration

// String is the duration.
func (d *age) String() string { return time.Duration(*d).String() }

// Set reads a duration such as 90m, 36h or 30d.
func (d *age) Set(s string) error {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 36500 {
			return fmt.Errorf("%q is no number of days", s)
		}
		*d = age(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration such as 90m, 36h or 30d", s)
	}
	*d = age(v)
	return nil
}

// Type is what help shows.
func (d *age) Type() string { return "duration" }

func newRunsPruneCommand(a *app) *cobra.Command {
	var f runFilterFlags
	var older age
	var dryRun bool
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION",
		Short: "Delete runs that ended some time ago",
		Long: `prune deletes the runs that have ended and last changed longer ago than --older-than.
Paused and crashed runs can be resumed: they stay unless --status names them. Runs that
a process drives always stay.`,
		Example:           "  graphrun runs prune --older-than 30d\n  graphrun runs prune --older-than 0s --status crashed,paused --graph deploy",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           a.loadSettings,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("older-than") {
				return usagef("--older-than is needed: 90m, 36h or 30d, 0s for all")
			}
			return a.pruneRuns(&f, time.Duration(older), dryRun, output.value)
		},
	}
	addRunFilterFlags(a, cmd, &f)
	cmd.Flags().Var(&older, "older-than", "least time since the run last changed: 90m, 36h, 30d")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list the runs that would be deleted")
	complete(cmd, "older-than", nil)
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

func (a *app) pruneRuns(f *runFilterFlags, older time.Duration, dryRun bool, form string) error {
	if len(f.status.values) == 0 {
		f.status.values = slices.DeleteFunc(inspect.RunStatuses(), func(s string) bool {
			return s == inspect.Crashed || s == string(machine.Paused) || s == string(machine.Running)
		})
	}
	kept, err := a.openStore()
	if err != nil {
		return err
	}
	runs, err := f.find(kept, store.RunFilter{UpdatedBefore: a.Now().Add(-older)})
	if err != nil {
		return err
	}
	out := forgotten{Forgotten: []string{}, DryRun: dryRun}
	for i := range runs {
		if runs[i].Owner != "" {
			continue
		}
		if !dryRun {
			// Another process may have taken it up or deleted it since.
			err := kept.Delete(runs[i].ID)
			if _, taken := err.(*store.DrivenError); taken || errors.Is(err, store.ErrNoRun) {
				continue
			}
			if err != nil {
				return err
			}
		}
		out.Forgotten = append(out.Forgotten, runs[i].ID)
	}
	return a.printForgotten(out, form)
}

func (a *app) printForgotten(out forgotten, form string) error {
	switch {
	case form == "json":
		return writeJSON(a.Stdout, out, a.StdoutTerminal)
	case out.DryRun:
		for _, id := range out.Forgotten {
			fmt.Fprintln(a.Stdout, id)
		}
		fmt.Fprintf(a.Stderr, "%s would be forgotten\n", terminal.Count(len(out.Forgotten), "run"))
	default:
		fmt.Fprintf(a.Stdout, "%s forgotten\n", terminal.Count(len(out.Forgotten), "run"))
	}
	return nil
}
