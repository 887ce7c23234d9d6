// Package price says what calls of models cost. Its table, prices.csv, holds
// list prices in US dollars for a million tokens, with the day on which they
// were looked up and where. What is not in it is unknown, never free.
package price

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"

	"github.com/graphrun/graphrun/model"
)

//go:embed prices.csv
var table string

// Rates are prices in US dollars for a million tokens.
type Rates struct {
	Input, CachedInput, CacheWrite, Output float64
	// UpTo is the longest input, in tokens, that has these prices; 0: any.
	UpTo int
	// DefaultOutput is how many tokens an answer may have when the request does not
	// say; 0: unknown.
	DefaultOutput int
	// Window is how many tokens the model can hold, MaxOutput how many its answer can
	// have; 0: not looked up.
	Window, MaxOutput int
	// Date and Source say when and where the prices were looked up.
	Date, Source string
}

// Prices are what calls of one model cost. The zero value is unknown.
type Prices struct {
	rates, long Rates // long are for inputs longer than rates.UpTo
	known       bool
	hasLong     bool
}

// Of are the prices of a model of the table, provider/name, a dated one by its name
// without the date; scripts are free.
func Of(model string) Prices {
	if isScript(model) {
		return Prices{known: true}
	}
	out := Prices{}
	out.rates, out.known = find(model)
	if out.rates.UpTo > 0 {
		out.long, out.hasLong = find(model + "+long")
	}
	return out
}

// Declared are prices that a graph gives for a model, with the keys input,
// cached_input (input if it is absent) and output.
func Declared(given map[string]any) Prices {
	rates := Rates{Input: amount(given["input"]), Output: amount(given["output"])}
	rates.CachedInput, rates.CacheWrite = rates.Input, rates.Input
	if cached, ok := given["cached_input"]; ok {
		rates.CachedInput = amount(cached)
	}
	return Prices{rates: rates, known: true}
}

func amount(v any) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// at are the rates for an input of a length.
func (p *Prices) at(inputTokens int) (Rates, bool) {
	if p.rates.UpTo > 0 && inputTokens > p.rates.UpTo {
		return p.long, p.hasLong
	}
	return p.rates, p.known
}

// Cost is what a call came to, in US dollars. It is unknown for a prompt longer
// than the prices hold for, and where the provider did not report tokens.
func (p *Prices) Cost(usage model.Usage) (usd float64, known bool) {
	r, ok := p.at(usage.InputTokens)
	if !ok || usage.Unreported {
		return 0, false
	}
	fresh := usage.InputTokens - usage.CachedTokens - usage.CacheWriteTokens
	return (float64(max(fresh, 0))*r.Input + float64(usage.CachedTokens)*r.CachedInput +
		float64(usage.CacheWriteTokens)*r.CacheWrite + float64(usage.OutputTokens)*r.Output) / 1e6, true
}

// Window is how many tokens the model can hold; 0: unknown.
func (p *Prices) Window() int { return p.rates.Window }

// MaxOutput is how many tokens an answer can have; 0: unknown.
func (p *Prices) MaxOutput() int { return p.rates.MaxOutput }

// DefaultOutput is how many tokens an answer may have when nobody says; 0: unknown.
func (p *Prices) DefaultOutput() int { return p.rates.DefaultOutput }

// Worst is the most that a call of so many input tokens can cost, in US
// dollars, when its answer may have maxTokens; 0: as many as the model gives
// by itself. It does not count on a cache.
func (p *Prices) Worst(inputTokens, maxTokens int) (usd float64, known bool) {
	r, ok := p.at(inputTokens)
	if !ok {
		return 0, false
	}
	if maxTokens == 0 {
		maxTokens = r.DefaultOutput
	}
	return (float64(inputTokens)*max(r.Input, r.CacheWrite) + float64(maxTokens)*r.Output) / 1e6, true
}

// Most is the most that calls with so many tokens in all can cost, in US dollars,
// however they are shared between prompts and answers. An answer to a long prompt costs
// more than one to a short prompt, so the dearest call has the shortest of long prompts.
func (p *Prices) Most(tokens int) (usd float64, known bool) {
	usd = float64(tokens) * max(p.rates.Input, p.rates.CacheWrite, p.rates.Output)
	if least := p.rates.UpTo + 1; least > 1 && tokens >= least {
		if !p.hasLong {
			return 0, false
		}
		asked := max(p.long.Input, p.long.CacheWrite)
		usd = max(usd, float64(least)*asked+float64(tokens-least)*max(asked, p.long.Output))
	}
	return usd / 1e6, p.known
}

// Row is a line of the table.
type Row struct {
	// Model is provider/name; Long says that the line is for inputs beyond the UpTo
	// of the model's other one.
	Model string
	Long  bool
	Rates
}

// Table are all lines, sorted by model.
func Table() []Row {
	var out []Row
	for text := range strings.Lines(table) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ",")
		if name == "model" {
			continue
		}
		name, long := strings.CutSuffix(name, "+long")
		out = append(out, Row{name, long, ratesOf(rest)})
	}
	return out
}

func isScript(model string) bool { return strings.HasPrefix(model, "scripted/") }

// find looks a model up, a dated one by its name without the date.
func find(model string) (Rates, bool) {
	if p, ok := line(model); ok {
		return p, true
	}
	dated := regexp.MustCompile(`-(20\d\d-?\d\d-?\d\d|latest)(\+long)?$`)
	return line(dated.ReplaceAllString(model, "$2"))
}

// line scans the table: that is quicker than a map made for one look.
func line(model string) (Rates, bool) {
	_, rest, found := strings.Cut(table, "\n"+model+",")
	if !found || strings.ContainsAny(model, ",\n") {
		return Rates{}, false
	}
	text, _, _ := strings.Cut(rest, "\n")
	return ratesOf(text), true
}

// ratesOf reads a line behind the name of its model.
func ratesOf(text string) Rates {
	field := strings.Split(text, ",")
	r := Rates{
		Input: number(field[0]), CachedInput: number(field[1]), CacheWrite: number(field[2]), Output: number(field[3]),
		DefaultOutput: int(number(field[4])), UpTo: int(number(field[5])), Window: int(number(field[6])), MaxOutput: int(number(field[7])), Date: field[8], Source: field[9],
	}
	if field[2] == "" {
		r.CacheWrite = r.Input
	}
	return r
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // a test reads the whole table
	return n
}
