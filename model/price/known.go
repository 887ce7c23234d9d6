// The models of the table, as a list for people and programs.

package price

// KnownModel is a model of the table. Prices are in US dollars for a million tokens.
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

// Known lists the models of the table, sorted; one with prices for long prompts twice.
func Known() []KnownModel {
	var out []KnownModel
	for _, r := range Table() {
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
