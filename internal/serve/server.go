// The server itself and the flows of its folder.

package serve

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/graphrun/graphrun/internal/fleet"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/runner/store"
)

type serverStatus struct {
	Status string `json:"status"`
}

func (s *Server) getHealth(*call, *none) (serverStatus, error) { return serverStatus{"ok"}, nil }

func (s *Server) getReadiness(*call, *none) (serverStatus, error) {
	if s.cfg.Fleet.IsClosing() {
		return serverStatus{}, fleet.ErrClosing
	}
	if _, err := s.cfg.Store.List(store.RunFilter{Limit: 1}); err != nil {
		return serverStatus{}, &problem{Status: http.StatusServiceUnavailable, Kind: "store", Title: "the store can't be read", Detail: err.Error()}
	}
	return serverStatus{"ready"}, nil
}

type serverInfo struct {
	Version  string `json:"version"`
	Dir      string `json:"dir" doc:"path of the served folder"`
	Store    string `json:"store"`
	ReadOnly bool   `json:"read_only"`
	Driving  int    `json:"driving" doc:"number of runs that this server drives"`
}

func (s *Server) getServer(*call, *none) (serverInfo, error) {
	driving, _, _, _ := s.cfg.Fleet.Counts()
	return serverInfo{s.cfg.Version, s.cfg.Catalog.Dir(), s.cfg.StoreName, s.cfg.ReadOnly, driving}, nil
}

func sortKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func (s *Server) getMetrics(c *call, _ *none) error {
	driving, started, finished, watched := s.cfg.Fleet.Counts()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	var b strings.Builder
	for _, m := range []struct {
		name, kind, help string
		value            any
	}{
		{"graphrun_runs_driving", "gauge", "Runs that this server drives.", driving},
		{"graphrun_drives_started_total", "counter", "Runs that were started or resumed.", started},
		{"graphrun_drives_finished_total", "counter", "Drives that ended or paused.", finished},
		{"graphrun_event_readers", "gauge", "Readers of events of runs.", watched},
		{"graphrun_goroutines", "gauge", "Goroutines of the server.", runtime.NumGoroutine()},
		{"graphrun_heap_bytes", "gauge", "Bytes of the heap in use.", mem.HeapInuse},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s %v\n", m.name, m.help, m.name, m.kind, m.name, m.value)
	}
	b.WriteString("# HELP graphrun_http_requests_total Requests by response status.\n# TYPE graphrun_http_requests_total counter\n")
	for status := range s.answered {
		if n := s.answered[status].Load(); n > 0 {
			fmt.Fprintf(&b, "graphrun_http_requests_total{code=\"%d\"} %d\n", status, n)
		}
	}
	return c.sendText("text/plain; version=0.0.4; charset=utf-8", []byte(b.String()))
}

func (s *Server) getOpenAPI(c *call, _ *none) error {
	return c.sendText("application/json", s.describe())
}

type listedFlow struct {
	Path        string    `json:"path" doc:"path of the file below the served folder"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Nodes       int       `json:"nodes"`
	Errors      int       `json:"errors" doc:"number of errors; a flow with errors can't run"`
	Warnings    int       `json:"warnings"`
	Triggers    []Trigger `json:"triggers,omitempty" doc:"triggers that start runs"`
}

// Trigger starts runs of a flow.
type Trigger struct {
	Cron     string     `json:"cron,omitempty"`
	Timezone string     `json:"timezone,omitempty"`
	Next     *time.Time `json:"next,omitempty" doc:"next start of a schedule"`
	Webhook  string     `json:"webhook,omitempty" doc:"path for deliveries"`
}

type flowList struct {
	Flows []listedFlow `json:"flows"`
}

func (s *Server) listFlows(*call, *none) (flowList, error) {
	out := flowList{Flows: []listedFlow{}}
	paths, err := s.cfg.Catalog.Paths()
	if err != nil {
		return out, err
	}
	for _, path := range paths {
		flow, err := s.cfg.Catalog.Load(path)
		if err != nil {
			continue // the file was deleted
		}
		g := flow.Graph
		line := listedFlow{Path: path, Name: g.Name.Value, Description: g.Description.Value, Nodes: len(g.Nodes)}
		for _, t := range s.cfg.Triggers {
			if t.Flow != path {
				continue
			}
			if t.Schedule == nil {
				line.Triggers = append(line.Triggers, Trigger{Webhook: trigger.Prefix + t.Webhook})
				continue
			}
			next := t.Schedule.Next(s.cfg.Now())
			line.Triggers = append(line.Triggers, Trigger{Cron: t.Schedule.String(), Timezone: t.Schedule.Zone(), Next: &next})
		}
		line.Errors, line.Warnings = report.CountSeverities(flow.Found)
		if !flow.IsValid() {
			line.Errors = max(line.Errors, 1)
		}
		out.Flows = append(out.Flows, line)
	}
	return out, nil
}

type wholeFlow struct {
	Path    string          `json:"path"`
	Drawing *render.Drawing `json:"drawing"`
	Flow    inspect.Flow    `json:"flow"`
	Schema  map[string]any  `json:"input_schema" doc:"JSON Schema of the object of inputs"`
	Valid   bool            `json:"valid" doc:"whether the flow can run"`
}

type flowIn struct {
	Flow string `path:"flow" doc:"path of the file below the served folder, with slashes"`
}

func (s *Server) getFlow(_ *call, in *flowIn) (wholeFlow, error) {
	flow, err := s.cfg.Catalog.Load(in.Flow)
	if err != nil {
		return wholeFlow{}, err
	}
	open := inspect.NewOpener(flow.Graph, flow.Read)
	return wholeFlow{
		Path: flow.Path, Drawing: render.Draw(flow.Graph, render.Options{Open: open.Open}),
		Flow: inspect.NewFlow(flow.Graph, flow.Path, flow.Found, open), Schema: inspect.BuildInputSchema(flow.Graph), Valid: flow.IsValid(),
	}, nil
}
