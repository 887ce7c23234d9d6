// The flows below the folder that is served.

package serve

import (
	"bytes"
	"encoding/json"

	"github.com/graphrun/graphrun/internal/catalog"
	"github.com/graphrun/graphrun/internal/inspect"
	"github.com/graphrun/graphrun/internal/report"
	"github.com/graphrun/graphrun/render"
	"github.com/graphrun/graphrun/spec"
)

// listedFlow is a flow in a list.
type listedFlow struct {
	Path        string `json:"path" doc:"the file from the folder that is served"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Nodes       int    `json:"nodes"`
	Errors      int    `json:"errors" doc:"findings that keep it from being run"`
	Warnings    int    `json:"warnings"`
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

// wholeFlow is a flow with what is known of it.
type wholeFlow struct {
	Path    string           `json:"path"`
	Drawing *render.Document `json:"drawing"`
	Flow    inspect.Flow     `json:"flow"`
	// Schema is that of the object of inputs.
	Schema map[string]any `json:"input_schema" doc:"JSON Schema of the object of inputs"`
	Valid  bool           `json:"valid" doc:"whether it can be run"`
}

type flowIn struct {
	Flow string `path:"flow" doc:"the file from the folder that is served, with slashes"`
}

func (s *Server) getFlow(_ *call, in *flowIn) (wholeFlow, error) {
	flow, err := s.cfg.Catalog.Load(in.Flow)
	if err != nil {
		return wholeFlow{}, err
	}
	g := flow.Graph
	open := inspect.NewOpener(g, spec.Beside(g.File.Name))
	drawing := render.Draw(g, render.Options{Open: open.Open})
	return wholeFlow{
		Path: flow.Path, Drawing: drawing.Document(), Flow: inspect.NewFlow(g, flow.Path, flow.Found, open),
		Schema: InputSchema(g), Valid: flow.Valid(),
	}, nil
}

// InputSchema is the JSON Schema of the object of a flow's inputs.
func InputSchema(g *spec.Graph) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, k := range g.State {
		schema := map[string]any{}
		for key, value := range k.Schema {
			schema[key] = value
		}
		if k.Default != nil && !k.Secret {
			schema["default"] = k.Default.Data()
		}
		if k.Secret {
			schema["writeOnly"] = true
		}
		properties[k.Name.Value] = schema
		if k.Required {
			required = append(required, k.Name.Value)
		}
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if g.StrictState {
		out["additionalProperties"] = false
	}
	return out
}

// runnable loads a flow that can be run.
func runnable(c *catalog.Catalog, path string) (*spec.Graph, error) {
	flow, err := c.Load(path)
	if err != nil {
		return nil, err
	}
	if flow.Valid() {
		return flow.Graph, nil
	}
	found := flow.Found
	if !found.HasErrors() {
		found = flow.Broken
	}
	return nil, &problem{
		Status: 422, Kind: "invalid-flow", Title: "the flow is not valid",
		Detail: quote(path) + " has errors and is not run", Findings: findingsOf(found),
	}
}

// findingsOf are findings as validate prints them.
func findingsOf(found spec.Diagnostics) json.RawMessage {
	var out bytes.Buffer
	if report.Write(&out, "json", report.Findings{Files: 1, Diagnostics: found}, report.Options{}) != nil {
		return nil // memory takes all
	}
	return bytes.TrimSpace(out.Bytes())
}
