// The record of a run, for the page.

package serve

import (
	"bytes"
	"net/http"
	"time"

	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner/store"
	"github.com/graphrun/graphrun/spec"
)

// runPage is the record of a run.
type runPage struct {
	Drawing *render.Drawing `json:"drawing"`
	Flow    inspect.Flow    `json:"flow"`
	Run     *inspect.Run    `json:"run"`
	// Path is the path of the flow in the served folder, or "".
	Path string `json:"path" doc:"path of the flow below the served folder, or empty"`
	// Last is the number of the last event.
	Last int64 `json:"last_event"`
	// Driver drives the run; Here says that it is this server.
	Driver string `json:"driver"`
	Here   bool   `json:"here" doc:"this server drives the run"`
	// Parent and ParentStep say from where the run was forked.
	Parent     string            `json:"parent,omitempty"`
	ParentStep int               `json:"parent_step,omitempty"`
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
	painted := &inspect.Painted{}
	if in.Brief {
		run, err = inspect.ReadHead(s.cfg.Runner, record.ID)
	} else if painted, err = inspect.Paint(s.cfg.Runner, record); err == nil {
		run, err = painted.Page(c.ctx)
	}
	if err != nil {
		return nil, err
	}
	run.Result.History = nil
	file := s.cfg.Catalog.PathOf(record.File)
	shown := file
	if file == "" {
		shown = record.File
	}
	g, _ := spec.Parse(record.File, record.Source, spec.Options{Load: record.Load}) // it was valid then
	open := inspect.NewOpener(g, record.Load)
	out := &runPage{
		Drawing: render.Draw(g, render.Options{Open: open.Open, Trail: painted.Trail}),
		Flow:    inspect.NewFlow(g, shown, nil, open), Run: run, Path: file, Last: painted.Last,
		Here: s.cfg.Fleet.Driven(record.ID) != nil, Parent: record.Parent, ParentStep: record.ParentStep, Labels: record.Labels,
	}
	if lines, err := s.cfg.Store.List(store.RunFilter{ID: record.ID}); err == nil && len(lines) == 1 {
		out.Driver = lines[0].Owner
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
		_ = control.SetWriteDeadline(time.Now().Add(slowest)) // writers of tests have none
		var line bytes.Buffer
		if err := writeJSON(&line, p); err != nil {
			return err
		}
		text := line.Bytes()
		if in.Short {
			text = shorten(text, longText)
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
