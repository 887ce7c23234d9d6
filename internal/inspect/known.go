// The models whose prices are known, and the tools of flows, as lists for people and
// programs.

package inspect

import (
	"context"

	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/tool"
)

// KnownModel is a model of the table of prices. Prices are in US dollars for a million tokens.
type KnownModel struct {
	Model       string  `json:"model"`
	Window      *int    `json:"window"`     // tokens; null: not known
	MaxOutput   *int    `json:"max_output"` // tokens that an answer can have; null: not known
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`
	CacheWrite  float64 `json:"cache_write"`
	Output      float64 `json:"output"`
	// FromTokens and UpToTokens are the lengths of prompts that the prices hold for;
	// null: any length.
	FromTokens *int   `json:"from_tokens"`
	UpToTokens *int   `json:"up_to_tokens"`
	Date       string `json:"date"`
	Source     string `json:"source"`
}

// KnownModels lists the models of the table of prices, sorted; one with prices for long prompts twice.
func KnownModels() []KnownModel {
	var out []KnownModel
	for _, r := range price.Table() {
		m := KnownModel{
			Model: r.Model, Window: orNull(r.Window), MaxOutput: orNull(r.MaxOutput), Input: r.Input, CachedInput: r.CachedInput,
			CacheWrite: r.CacheWrite, Output: r.Output, UpToTokens: orNull(r.UpTo), Date: r.Date, Source: r.Source,
		}
		if r.Long { // it stands behind the model's other row
			before := &out[len(out)-1]
			from := *before.UpToTokens + 1
			m.FromTokens, m.Window = &from, before.Window
		}
		out = append(out, m)
	}
	return out
}

func orNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// ListedTool is a tool as a list of all shows it. A server that can't be asked stands in the
// place of its tools, with an error.
type ListedTool struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"` // exec, graph or mcp; resource or prompt of a server
	Description string         `json:"description,omitempty"`
	Approve     string         `json:"approve,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// ListTools lists the declared tools of a registry, and the resources and prompts of servers
// by the names that parts of a prompt use. It reports whether a server could not be asked.
func ListTools(ctx context.Context, registry *tool.Registry, declared map[string]any, actor tool.Actor) (list []ListedTool, failed bool) {
	_, _ = registry.Tools(ctx, actor, registry.All()) // starts all servers; what fails is told for each
	list = []ListedTool{}
	for _, name := range registry.All() {
		kind := "mcp"
		fields, _ := declared[name].(map[string]any)
		for _, other := range []string{"exec", "graph"} {
			if _, has := fields[other]; has {
				kind = other
			}
		}
		tools, err := registry.Tools(ctx, actor, []string{name})
		for _, t := range tools {
			list = append(list, ListedTool{Name: t.Name, Kind: kind, Description: t.Description, Approve: registry.Approve(t.Name), Parameters: t.Parameters})
		}
		var offers []tool.Offer
		if err == nil {
			offers, err = registry.Offers(ctx, actor, name)
		}
		if err != nil {
			failed = true
			list = append(list, ListedTool{Name: name, Kind: kind, Error: err.Error()})
		}
		for _, o := range offers {
			list = append(list, ListedTool{Name: o.Name, Kind: o.Kind, Description: o.Description})
		}
	}
	return list, failed
}
