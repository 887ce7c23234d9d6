// Requests that read runs: lists, records, events.

package serve

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/runner/view"
	"github.com/graphrun/graphrun/spec"
)

// runIn names a run. Inputs embed it.
type runIn struct {
	Run string `path:"run" doc:"id of the run, a unique prefix of it, or last"`

	record store.RunRecord
}

func (in *runIn) findRun(s *Server) (err error) {
	in.record, err = inspect.FindRun(s.cfg.Store, in.Run, s.cfg.StoreName)
	return err
}

// runBodyIn names a run and has a body.
type runBodyIn[T any] struct {
	runIn
	Body T
}

// stateIn names a run and one of its steps. Inputs embed it.
type stateIn struct {
	runIn
	At *int `query:"at" doc:"the step after which to look, or 0 for the start; by default now"`
}

type runAtIn struct {
	stateIn
	History bool `query:"history" doc:"add every node execution"`
	shortIn
}

// shortIn asks for a short response. Inputs embed it.
type shortIn struct {
	Short bool `query:"short" doc:"shorten texts of more than 64 KiB; each says by how much"`
}

// showRun returns a run, or its state after a step.
func (s *Server) showRun(in *stateIn, history bool) (*runner.Result, error) {
	id, at := in.record.ID, in.At
	if at == nil {
		return s.cfg.Runner.Show(id, runner.Options{History: history})
	}
	result, err := s.cfg.Runner.ShowAt(id, *at, runner.Options{History: history})
	if err == nil && len(result.Path) < *at {
		return nil, &problem{
			Status: http.StatusNotFound, Kind: "no-step", Title: "no such step",
			Detail: fmt.Sprintf("step %d: run %q has taken %d", *at, id, len(result.Path)),
		}
	}
	return result, err
}

func (s *Server) getRun(c *call, in *runAtIn) (*runner.Result, error) {
	c.short = in.Short
	return s.showRun(&in.stateIn, in.History)
}

func (s *Server) getRunState(_ *call, in *stateIn) (map[string]any, error) {
	result, err := s.showRun(in, false)
	if err != nil {
		return nil, err
	}
	return result.State, nil
}

type listIn struct {
	Graph   string   `query:"graph" doc:"only runs of the graph with this name"`
	Status  []string `query:"status" doc:"only runs with one of these statuses; may be repeated"`
	Label   []string `query:"label" doc:"only runs with all these labels, as key=value; may be repeated"`
	Session string   `query:"session" doc:"only runs of this session"`
	Parent  string   `query:"parent" doc:"only forks of this run"`
	Limit   int      `query:"limit" doc:"maximum number of runs: 50 by default, at most 500"`
	Cursor  string   `query:"cursor" doc:"value of next in the previous list"`
}

// runList is a page of the list of runs.
type runList struct {
	Runs []inspect.ListedRun `json:"runs"`
	Next string              `json:"next,omitempty" doc:"cursor of the next page, if there is one"`
}

func (s *Server) listRuns(_ *call, in *listIn) (runList, error) {
	filter := store.RunFilter{Graph: in.Graph, Session: in.Session, Labels: map[string]string{}}
	for _, status := range in.Status {
		if !slices.Contains(inspect.Statuses, status) {
			return runList{}, newBadRequest("no status %q (allowed: %s)", status, strings.Join(inspect.Statuses, ", "))
		}
	}
	for _, label := range in.Label {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return runList{}, newBadRequest("label %q: want key=value", label)
		}
		filter.Labels[key] = value
	}
	after, err := readCursor(in.Cursor)
	if err == nil {
		filter.Parent, err = inspect.CompleteID(s.cfg.Store, in.Parent)
	}
	if err != nil {
		return runList{}, err
	}
	limit := min(cmp.Or(in.Limit, 50), 500)
	// Runs that started with the cursor's run may be listed already and are skipped; few start together.
	const together = 100
	filter.StartedBy, filter.Limit = after.Started, limit+together
	runs, err := inspect.FindRuns(s.cfg.Store, filter, in.Status)
	if err != nil {
		return runList{}, err
	}
	runs = after.skipListed(runs)
	out := runList{}
	if len(runs) > limit {
		last := &runs[limit-1]
		out.Next = cursor{last.Started, last.ID}.String()
		runs = runs[:limit]
	}
	inspect.RefreshSteps(s.cfg.Runner, runs)
	out.Runs = inspect.ListRuns(runs)
	return out, nil
}

// cursor is a position in the list of runs: after a run.
type cursor struct {
	Started time.Time
	ID      string
}

// String returns the value that a client sends back.
func (c cursor) String() string { return c.Started.UTC().Format(time.RFC3339Nano) + "_" + c.ID }

func readCursor(text string) (cursor, error) {
	started, id, _ := strings.Cut(text, "_")
	at, err := time.Parse(time.RFC3339Nano, started)
	if err != nil && text != "" {
		return cursor{}, newBadRequest("cursor %.200q is invalid", text)
	}
	return cursor{at, id}, nil
}

// skipListed returns the runs after the cursor.
func (c *cursor) skipListed(runs []store.RunSummary) []store.RunSummary {
	if c.ID == "" {
		return runs
	}
	i := slices.IndexFunc(runs, func(r store.RunSummary) bool { return r.ID == c.ID || r.Started.Before(c.Started) })
	switch {
	case i < 0:
		return nil
	case runs[i].ID == c.ID:
		i++ // otherwise the run was deleted
	}
	return runs[i:]
}

func (s *Server) deleteRun(_ *call, in *runIn) (none, error) {
	return none{}, s.cfg.Store.Delete(in.record.ID)
}

type whyIn struct {
	runIn
	Step int `query:"step" doc:"only this step; by default all, including subgraphs"`
}

type whyList struct {
	Decisions []inspect.Decision `json:"decisions"`
}

func (s *Server) getRunWhy(_ *call, in *whyIn) (whyList, error) {
	list, _, err := inspect.ListDecisions(s.cfg.Runner, in.record.ID, in.Step)
	return whyList{list}, err
}

// nodeIn names a run and perhaps one of its nodes.
type nodeIn struct {
	runIn
	Node string `query:"node" doc:"only this node with all its elements"`
}

type logsIn struct {
	nodeIn
	Last *int `query:"last" doc:"only about that many bytes of the latest output"`
}

type logList struct {
	Said []inspect.Said `json:"said"`
	Cut  int            `json:"cut,omitempty" doc:"number of pieces of output that are left out"`
}

func (s *Server) getRunLogs(c *call, in *logsIn) (logList, error) {
	out := logList{Said: []inspect.Said{}}
	bytes := 0
	err := s.cfg.Runner.Logs(c.ctx, in.record.ID, false, func(l *store.LogChunk) error {
		if l.Text != "" && (in.Node == "" || in.Node == l.Node) {
			out.Said = append(out.Said, inspect.NewSaid(l))
			bytes += len(l.Text)
		}
		for in.Last != nil && len(out.Said) > 0 && bytes-len(out.Said[0].Text) >= *in.Last {
			bytes -= len(out.Said[0].Text)
			out.Said[0] = inspect.Said{} // frees its text
			out.Said = out.Said[1:]
			out.Cut++
		}
		return nil
	})
	return out, err
}

type conversationList struct {
	Conversation []view.Spoken `json:"conversation"`
}

func (s *Server) getRunConversation(_ *call, in *nodeIn) (conversationList, error) {
	list, err := inspect.ReadConversation(s.cfg.Runner, in.record.ID, in.Node)
	return conversationList{list}, err
}

type questionsIn struct {
	Graph string `query:"graph" doc:"only questions of runs of the graph with this name"`
}

type questionList struct {
	Questions  []inspect.Question `json:"questions"`
	Unreadable []unreadableRun    `json:"unreadable,omitempty" doc:"runs whose journals, and so their questions, can't be read"`
}

type unreadableRun struct {
	RunID  string `json:"run_id"`
	Reason string `json:"reason"`
}

func (s *Server) listQuestions(_ *call, in *questionsIn) (questionList, error) {
	var out questionList
	var err error
	out.Questions, err = inspect.FindQuestions(s.cfg.Runner, s.cfg.Store, store.RunFilter{Graph: in.Graph}, func(id string, err error) {
		out.Unreadable = append(out.Unreadable, unreadableRun{id, err.Error()})
	})
	return out, err
}

type runPage struct {
	Drawing    *render.Drawing   `json:"drawing"`
	Flow       inspect.Flow      `json:"flow"`
	Run        *inspect.Run      `json:"run"`
	Path       string            `json:"path" doc:"path of the flow below the served folder, or empty"`
	Last       int64             `json:"last_event" doc:"number of the last event"`
	Driver     string            `json:"driver" doc:"process that drives the run, or empty"`
	Here       bool              `json:"here" doc:"this server drives the run"`
	Parent     string            `json:"parent,omitempty" doc:"run from which this one was forked"`
	ParentStep int               `json:"parent_step,omitempty" doc:"step of the parent after which this run starts"`
	Labels     map[string]string `json:"labels,omitempty"`
}

type runPageIn struct {
	runIn
	Brief bool `query:"brief" doc:"without what /record returns: events, decisions and output; the drawing shows the flow only"`
	shortIn
}

func (s *Server) getRunPage(c *call, in *runPageIn) (*runPage, error) {
	c.short = in.Short
	record := &in.record
	var run *inspect.Run
	var err error
	replayed := &inspect.ReplayedRun{}
	if in.Brief {
		run, err = inspect.ReadHead(s.cfg.Runner, record.ID)
	} else if replayed, err = inspect.ReplayRun(s.cfg.Runner, record); err == nil {
		run, err = replayed.Page(c.ctx)
	}
	if err != nil {
		return nil, err
	}
	run.Result.History = nil
	file := s.cfg.Catalog.PathOf(record.File)
	g, _ := spec.Parse(record.File, record.Source, spec.Options{Load: record.Load}) // it was valid then
	open := inspect.NewOpener(g, record.Load)
	out := &runPage{
		Drawing: render.Draw(g, render.Options{Open: open.Open, Trail: replayed.Trail}),
		Flow:    inspect.NewFlow(g, cmp.Or(file, record.File), nil, open), Run: run, Path: file, Last: replayed.Last,
		Here: s.cfg.Fleet.FindDrive(record.ID) != nil, Parent: record.Parent, ParentStep: record.ParentStep, Labels: record.Labels,
	}
	if line, err := s.findSummary(record.ID); err == nil {
		out.Driver = line.Owner
	}
	return out, nil
}

type recordIn struct {
	runIn
	shortIn
}

// getRunRecord streams the record of a run, one piece per line.
func (s *Server) getRunRecord(c *call, in *recordIn) error {
	control := http.NewResponseController(c.w)
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	begun := false
	err := inspect.SendRecord(c.ctx, s.cfg.Runner, in.record.ID, func(p *inspect.Piece) error {
		begun = true
		_ = control.SetWriteDeadline(time.Now().Add(slowWriteTimeout)) // writers of tests have no deadlines
		var line bytes.Buffer
		if err := writeJSON(&line, p); err != nil {
			return err
		}
		text := line.Bytes()
		if in.Short {
			text = shortenJSON(text, longText)
		}
		if _, err := c.w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	})
	if err != nil && begun {
		panic(http.ErrAbortHandler) // the response is incomplete
	}
	return err
}

// slowWriteTimeout bounds the time to write to a reader. A slower reader is disconnected. It can
// reconnect with the number of its last event.
const slowWriteTimeout = 20 * time.Second

type eventsIn struct {
	runIn
	Last  string `header:"Last-Event-ID" doc:"seq of the last event that the client has received"`
	After int    `query:"after" doc:"like Last-Event-ID, for clients that can't set headers"`
	shortIn
}

func (s *Server) getRunEvents(c *call, in *eventsIn) error {
	after := int64(in.After)
	if in.Last != "" {
		var err error
		if after, err = strconv.ParseInt(in.Last, 10, 64); err != nil || after < 0 {
			return newBadRequest("Last-Event-ID %.200q is not an event number", in.Last)
		}
	}
	out := openSSE(c, s.stop)
	defer out.close()
	// Status 204 tells a reader that has all events of an ended run not to reconnect.
	out.empty, out.short = http.StatusNoContent, in.Short
	_ = s.cfg.Fleet.Watch(out.ctx, in.record.ID, after, fleet.Watcher{Receive: out.sendLines, Idle: out.sendHeartbeat}) // fails only if the client has disconnected
	return nil
}

// sse is a response of server-sent events.
type sse struct {
	ctx     context.Context
	stop    func()
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
	begun   bool
	empty   int  // status of a response without events
	short   bool // shorten long texts
}

// openSSE starts a response that ends with the request or the server.
func openSSE(c *call, server context.Context) *sse {
	ctx, cancel := context.WithCancel(c.ctx)
	stop := context.AfterFunc(server, cancel)
	out := &sse{ctx: ctx, w: c.w, control: http.NewResponseController(c.w), empty: http.StatusOK}
	out.stop = func() { stop(); cancel() }
	_ = out.control.SetReadDeadline(time.Time{}) // writers of tests have no deadlines
	return out
}

func (o *sse) writeHeader(status int) {
	if o.begun {
		return
	}
	o.begun = true
	h := o.w.Header()
	if status == http.StatusOK {
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // proxies must not buffer
		o.buffer.WriteString("retry: 1000\n\n")
	}
	o.w.WriteHeader(status)
}

// addEvent buffers an event. Data has no line break.
func (o *sse) addEvent(id string, data []byte) {
	o.writeHeader(http.StatusOK)
	if id != "" {
		o.buffer.WriteString("id: " + id + "\n")
	}
	fmt.Fprintf(&o.buffer, "data: %s\n\n", data)
}

func (o *sse) sendLines(lines []fleet.Line) error {
	for i := range lines {
		text := lines[i].JSON
		if o.short {
			long := longText
			if lines[i].Type == runner.NodeOutput { // the page reads /logs
				long = longOutput
			}
			text = shortenJSON(text, long)
		}
		o.addEvent(strconv.FormatInt(lines[i].Seq, 10), text)
	}
	return o.flush()
}

// sendHeartbeat sends a comment to keep the connection alive.
func (o *sse) sendHeartbeat() error {
	o.writeHeader(http.StatusOK)
	o.buffer.WriteString(": here\n\n")
	return o.flush()
}

func (o *sse) flush() error {
	_ = o.control.SetWriteDeadline(time.Now().Add(slowWriteTimeout)) // writers of tests have no deadlines
	_, err := o.buffer.WriteTo(o.w)
	o.buffer.Reset()
	if err == nil {
		err = o.control.Flush()
	}
	return err
}

func (o *sse) close() {
	status := o.empty
	if o.ctx.Err() != nil {
		status = http.StatusOK
	}
	o.writeHeader(status)
	if status == http.StatusOK {
		_ = o.flush() // fails only if the reader has disconnected
	}
	o.stop()
}
