// The flows of the served folder.

package serve

import (
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/trigger"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

// listedFlow is a flow in a list.
type listedFlow struct {
	Path        string    `json:"path" doc:"path of the file below the served folder"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Nodes       int       `json:"nodes"`
	Errors      int       `json:"errors" doc:"number of errors; a flow with errors can't run"`
	Warnings    int       `json:"warnings"`
	Triggers    []Trigger `json:"triggers,omitempty" doc:"triggers that start runs"`
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
			continue // it is gone
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
		for i := range flow.Found {
			switch flow.Found[i].Severity {
			case spec.Error:
				line.Errors++
			case spec.Warning:
				line.Warnings++
			}
		}
		if !flow.Valid() {
			line.Errors = max(line.Errors, 1)
		}
		out.Flows = append(out.Flows, line)
	}
	return out, nil
}

// wholeFlow is a flow in full.
type wholeFlow struct {
	Path    string          `json:"path"`
	Drawing *render.Drawing `json:"drawing"`
	Flow    inspect.Flow    `json:"flow"`
	// Schema is the JSON Schema of the input object.
	Schema map[string]any `json:"input_schema" doc:"JSON Schema of the object of inputs"`
	Valid  bool           `json:"valid" doc:"whether the flow can run"`
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
		Flow: inspect.NewFlow(flow.Graph, flow.Path, flow.Found, open), Schema: inspect.BuildInputSchema(flow.Graph), Valid: flow.Valid(),
	}, nil
}
