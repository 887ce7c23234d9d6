// The sessions and cache commands: data that outlives a run.

package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/eval"

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
	}
	cmd.AddCommand(newSessionsListCommand(a), newSessionsShowCommand(a), newSessionsDeleteCommand(a))
	return cmd
}

// listedSession is the JSON of a session in a list.
type listedSession struct {
	Session   string    `json:"session"`
	Keys      []string  `json:"keys"`
	Messages  int       `json:"messages"`
	Run       string    `json:"run"`
	Graph     string    `json:"graph"`
	UpdatedAt time.Time `json:"updated_at"`
}

func newSessionsListCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:     "list",
		Short:   "List sessions, the last used first",
		Long:    "list shows the stored sessions, the last used first.",
		Example: "  graphrun sessions list -o json | jq '.[].session'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := a.readStore()
			if err != nil {
				return err
			}
			sessions, err := kept.Sessions()
			if err != nil {
				return err
			}
			list, rows := []listedSession{}, [][]string{{"SESSION", "MESSAGES", "UPDATED", "LAST RUN", "KEYS"}}
			for i := range sessions {
				s := &sessions[i]
				keys := slices.Sorted(maps.Keys(s.Keys))
				list = append(list, listedSession{s.ID, keys, len(s.Talk), s.Run, s.Graph, s.Updated.UTC()})
				rows = append(rows, []string{
					s.ID, strconv.Itoa(len(s.Talk)), runview.FormatTime(s.Updated), s.Run, terminal.Line(strings.Join(keys, " ")),
				})
			}
			return a.printTable(cmd, list, "no sessions", rows)
		},
	})
}

// shownSession is the JSON of show. Conversation is null if no run had one.
type shownSession struct {
	Session      string            `json:"session"`
	Keys         map[string]any    `json:"keys"`
	Conversation []handler.Message `json:"conversation"`
	Run          string            `json:"run"`
	Graph        string            `json:"graph"`
	UpdatedAt    time.Time         `json:"updated_at"`
}

func newSessionsShowCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "show SESSION",
		Short:             "Show what the next run of a session starts with",
		Long:              "show prints the state keys and the conversation of a session; secret keys are masked.",
		Example:           "  graphrun sessions show alice -o json | jq .keys",
		Args:              requireArgs(1, 1, "the id of a session (graphrun sessions list shows them)"),
		ValidArgsFunction: completeByPosition(a.listSessionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.readStore()
			if err != nil {
				return err
			}
			s, err := a.findSession(kept, args[0])
			if err != nil {
				return err
			}
			s = s.Masked()
			return a.print(cmd, shownSession{s.ID, s.Keys, s.Talk, s.Run, s.Graph, s.Updated.UTC()}, a.formatSession(&s))
		},
	})
}

func (a *app) formatSession(s *store.Session) string {
	c := a.stdoutColors()
	out := []string{fmt.Sprintf("%s %s, left by run %s of %s at %s", c.Quiet("session"), c.Strong(s.ID), s.Run, s.Graph, runview.FormatTime(s.Updated))}
	out = append(out, runview.FormatState(s.Keys, c)...)
	for i := range s.Talk {
		m := &s.Talk[i]
		text := m.Content
		for _, call := range m.ToolCalls {
			text += " " + call.Name + runview.FormatValue(call.Args, runview.MaxValue)
		}
		out = append(out, fmt.Sprintf("  %s  %s", c.Quiet(terminal.Pad(string(m.Role), len("assistant"))), terminal.Line(strings.TrimSpace(text))))
	}
	return joinLines(out)
}

func newSessionsDeleteCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:               "delete SESSION...",
		Short:             "Delete sessions; their runs stay",
		Long:              "delete deletes what sessions keep: their next runs start afresh. Earlier runs stay.",
		Example:           "  graphrun sessions delete alice",
		Args:              requireArgs(1, -1, "the id of a session (graphrun sessions list shows them)"),
		ValidArgsFunction: completeByPosition(a.listSessionIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := a.openStore()
			if err != nil {
				return err
			}
			for _, id := range args { // all or none
				if _, err := a.findSession(kept, id); err != nil {
					return err
				}
			}
			return a.deleteAll(cmd, "session", args, kept.DeleteSession)
		},
	})
}

// findSession reads a session. The error for an unknown id suggests a similar one.
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
	return s, usagef("no session %q in %s%s", id, a.storeName(), suggest.DidYouMean(id, ids))
}

func newCacheCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cache",
		Short:   "Delete stored results of nodes",
		Long:    "cache manages the stored results of nodes that have a cache block.",
		Example: "  graphrun cache clear",
	}
	cmd.AddCommand(newCacheClearCommand(a))
	return cmd
}

func newCacheClearCommand(a *app) *cobra.Command {
	return addOutput(&cobra.Command{
		Use:   "clear [FLOW [NODE...]]",
		Short: "Delete stored results of all graphs, one graph or some of its nodes",
		Long: `clear deletes the stored results of nodes with a cache block: of every graph, of one
graph, or of some of its nodes. It prints how many there were.`,
		Example: `  graphrun cache clear
  graphrun cache clear flow.yaml fetch -o json`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeFlowNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := a.clearCache(args)
			if err != nil {
				return err
			}
			return a.print(cmd, map[string]int{"forgotten": n}, eval.Count(n, "result")+" deleted\n")
		},
	})
}

// clearCache deletes cached results and returns their number.
func (a *app) clearCache(args []string) (int, error) {
	name := ""
	var nodes []string // empty for all
	if len(args) > 0 {
		g, err := a.loadFlow(args[0])
		if err != nil {
			return 0, err
		}
		name, nodes = g.Name.Value, args[1:]
		for _, id := range nodes {
			if err := checkName("no node %q", id, "nodes", listNodes(g, "", "")); err != nil {
				return 0, usage(err)
			}
		}
	}
	kept, err := a.openStore()
	if err != nil {
		return 0, err
	}
	return kept.ClearCache(name, nodes)
}
