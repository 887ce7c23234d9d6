// The sessions command: what run --session keeps from run to run.

package cli

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/graphrun/graphrun/internal/runview"
	"github.com/graphrun/graphrun/internal/suggest"
	"github.com/graphrun/graphrun/internal/terminal"
	"github.com/graphrun/graphrun/runner/handler"
	"github.com/graphrun/graphrun/runner/store"
)

func newSessionsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show and delete what run --session keeps",
		Long: `sessions manages what graphrun run --session ID passes from run to run: the state keys
with scope: session, and the conversation. A run leaves them when it ends, however it
ends. If two runs overlap, the one that ends last wins.`,
		Example: "  graphrun sessions list\n  graphrun sessions show alice",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionsListCommand(a), newSessionsShowCommand(a), newSessionsDeleteCommand(a))
	return cmd
}

// listedSession is a session in JSON.
type listedSession struct {
	Session   string    `json:"session"`
	Keys      []string  `json:"keys"`
	Messages  int       `json:"messages"`
	Run       string    `json:"run"`
	Graph     string    `json:"graph"`
	UpdatedAt time.Time `json:"updated_at"`
}

func listedSessions(sessions []store.Session) []listedSession {
	out := make([]listedSession, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		out[i] = listedSession{
			Session: s.ID, Keys: sortedKeys(s.Keys), Messages: len(s.Talk), Run: s.Run, Graph: s.Graph, UpdatedAt: s.Updated.UTC(),
		}
	}
	return out
}

func newSessionsListCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List sessions, the last used first",
		Long:              "list shows the stored sessions, the last used first.",
		Example:           "  graphrun sessions list -o json | jq '.[].session'",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           a.loadSettings,
		RunE: func(*cobra.Command, []string) error {
			kept, err := a.readStore()
			if err != nil {
				return err
			}
			sessions, err := kept.Sessions()
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.Stdout, listedSessions(sessions), a.StdoutTerminal)
			}
			return a.printSessions(listedSessions(sessions))
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

func (a *app) printSessions(sessions []listedSession) error {
	if len(sessions) == 0 {
		fmt.Fprintln(a.Stderr, "no sessions")
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tMESSAGES\tUPDATED\tLAST RUN\tKEYS")
	for i := range sessions {
		s := &sessions[i]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", s.Session, s.Messages, s.UpdatedAt.Local().Format(time.DateTime), s.Run,
			terminal.Line(strings.Join(s.Keys, " ")))
	}
	return w.Flush()
}

// shownSession is what show prints as JSON. Conversation is null when no run had
// one.
type shownSession struct {
	Session      string            `json:"session"`
	Keys         map[string]any    `json:"keys"`
	Conversation []handler.Message `json:"conversation"`
	Run          string            `json:"run"`
	Graph        string            `json:"graph"`
	UpdatedAt    time.Time         `json:"updated_at"`
}

func newSessionsShowCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:               "show SESSION",
		Short:             "Show what the next run of a session starts with",
		Long:              "show prints the state keys and the conversation of a session; secret keys are masked.",
		Example:           "  graphrun sessions show alice -o json | jq .keys",
		Args:              someSessions(1),
		ValidArgsFunction: a.completeSession,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			kept, err := a.readStore()
			if err != nil {
				return err
			}
			s, err := a.findSession(kept, args[0])
			if err != nil {
				return err
			}
			s = s.Masked()
			if output.value == "json" {
				return writeJSON(a.Stdout, shownSession{
					Session: s.ID, Keys: s.Keys, Conversation: s.Talk, Run: s.Run, Graph: s.Graph, UpdatedAt: s.Updated.UTC(),
				}, a.StdoutTerminal)
			}
			a.showSession(&s)
			return nil
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

func (a *app) showSession(s *store.Session) {
	c := runview.NewColors(a.colorOn(a.StdoutTerminal))
	fmt.Fprintf(a.Stdout, "%s %s, left by run %s of %s at %s\n", c.Quiet("session"), c.Strong(s.ID), s.Run, s.Graph,
		s.Updated.Local().Format(time.DateTime))
	for _, line := range stateLines(s.Keys, c) {
		fmt.Fprintln(a.Stdout, line)
	}
	for i := range s.Talk {
		m := &s.Talk[i]
		text := m.Content
		for _, call := range m.ToolCalls {
			text += " " + call.Name + runview.ValueText(call.Args, maxSummaryValue)
		}
		fmt.Fprintf(a.Stdout, "  %s  %s\n", c.Quiet(terminal.Pad(m.Role, len("assistant"))), terminal.Line(strings.TrimSpace(text)))
	}
}

func newSessionsDeleteCommand(a *app) *cobra.Command {
	output := newEnum("text", "json", "text")
	cmd := &cobra.Command{
		Use:               "delete SESSION...",
		Short:             "Delete sessions; their runs stay",
		Long:              "delete deletes what sessions keep: their next runs start afresh. Earlier runs stay.",
		Example:           "  graphrun sessions delete alice",
		Args:              someSessions(0),
		ValidArgsFunction: a.completeSession,
		PreRunE:           a.loadSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			kept, err := a.openStore()
			if err != nil {
				return err
			}
			if err := deleteAll(args, func(id string) error { _, err := a.findSession(kept, id); return err }, kept.DeleteSession); err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a.Stdout, forgotten{Forgotten: args}, a.StdoutTerminal)
			}
			fmt.Fprintf(a.Stdout, "%s deleted\n", terminal.Count(len(args), "session"))
			return nil
		},
	}
	enumFlag(cmd, cmd.Flags(), &output, "output", "o", "output format")
	return cmd
}

// someSessions wants the ids of so many sessions; 0: of one at least.
func someSessions(want int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == want || want == 0 && len(args) > 0 {
			return nil
		}
		return usagef("%q takes the id of a session, got %d arguments; graphrun sessions list shows them", cmd.CommandPath(), len(args))
	}
}

// findSession reads a session. The error for one that is not there says which
// was perhaps meant.
func (a *app) findSession(kept store.Store, id string) (store.Session, error) {
	s, err := kept.Session(id)
	if !errors.Is(err, store.ErrNoSession) {
		return s, err
	}
	sessions, err := kept.Sessions()
	if err != nil {
		return s, err
	}
	ids := make([]string, len(sessions))
	for i := range sessions {
		ids[i] = sessions[i].ID
	}
	hint := ""
	if near := suggest.New(ids).Closest(id); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return s, usagef("no session %q in %s%s", id, a.storeName(), hint)
}

// completeSession completes the id of a session.
func (a *app) completeSession(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const plain = cobra.ShellCompDirectiveNoFileComp
	if a.loadSettings(cmd, nil) != nil {
		return nil, plain
	}
	kept, err := a.readStore()
	if err != nil {
		return nil, plain
	}
	sessions, err := kept.Sessions()
	if err != nil {
		return nil, plain
	}
	out := make([]string, 0, len(sessions))
	for i := range sessions {
		out = append(out, cobra.CompletionWithDesc(sessions[i].ID, "last run of "+sessions[i].Graph))
	}
	return out, plain
}
