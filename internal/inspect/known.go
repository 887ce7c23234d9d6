// Lists of models with known prices, and of the tools of flows.

package inspect

import (
	"context"

	"github.com/graphrun/graphrun/model/price"
	"github.com/graphrun/graphrun/tool"
)

// KnownModel is a row of the price table. Prices are in US dollars per million tokens.
type KnownModel struct {
	Model       string  `json:"model"`
	Window      *int    `json:"window"`     // tokens, or null if unknown
	MaxOutput   *int    `json:"max_output"` // tokens of an answer, or null if unknown
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`
	CacheWrite  float64 `json:"cache_write"`
	Output      float64 `json:"output"`
	// FromTokens and UpToTokens bound the prompt lengths that the prices hold for, or are null.
	FromTokens *int   `json:"from_tokens"`
	UpToTokens *int   `json:"up_to_tokens"`
	Date       string `json:"date"`
	Source     string `json:"source"`
}

// ListModels returns the sorted price table. Other prices for long prompts have a row of their own.
func ListModels() []KnownModel {
	var out []KnownModel
	for _, r := range price.Table() {
		m := KnownModel{
			Model: r.Model, Window: nullIfZero(r.Window), MaxOutput: nullIfZero(r.MaxOutput), Input: r.Input, CachedInput: r.CachedInput,
			CacheWrite: r.CacheWrite, Output: r.Output, UpToTokens: nullIfZero(r.UpTo), Date: r.Date, Source: r.Source,
		}
		if r.Long { // it follows the model's other row
			before := &out[len(out)-1]
			m.FromTokens, m.Window = new(*before.UpToTokens+1), before.Window
		}
		out = append(out, m)
	}
	return out
}

func nullIfZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// ListedTool is a tool, or a server of tools that failed, with its error.
type ListedTool struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"` // exec, graph, mcp, resource or prompt
	Description string         `json:"description,omitempty"`
	Approve     string         `json:"approve,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
	Error       string         `json:"error,omitempty"`
}

// ListTools lists the tools of a registry, and the resources and prompts of its servers. failed
// says that a server could not be asked.
func ListTools(ctx context.Context, registry *tool.Registry, warn func(string)) (list []ListedTool, failed bool) {
	_, _ = registry.ListTools(ctx, warn, registry.Names()) // starts all servers; errors are reported below
	list = []ListedTool{}
	for _, name := range registry.Names() {
		decl, _ := registry.FindTool(name)
		kind := "mcp"
		switch {
		case decl.Exec != nil:
			kind = "exec"
		case decl.Graph != "":
			kind = "graph"
		}
		tools, err := registry.ListTools(ctx, warn, []string{name})
		for _, t := range tools {
			list = append(list, ListedTool{Name: t.Name, Kind: kind, Description: t.Description, Approve: decl.Approve, Parameters: t.Parameters})
		}
		var offers []tool.Offer
		if err == nil {
			offers, err = registry.ListOffers(ctx, warn, name)
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
