// Prices of models, from the table or from a graph, and estimates of tokens.

// Package price estimates and prices calls of models. Its table, prices.csv, holds
// list prices in US dollars per million tokens, with their day and source. The price of
// a model outside the table is unknown, never free.
package price

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/keys"
	"github.com/graphrun/graphrun/internal/lazyregexp"
	"github.com/graphrun/graphrun/model"
)

//go:embed prices.csv
var table string

// Rates are prices in US dollars per million tokens.
type Rates struct {
	Input       float64 `key:"input"`
	CachedInput float64 `key:"cached_input"`
	CacheWrite  float64
	Output      float64 `key:"output"`
	// UpTo is the longest input, in tokens, that has these prices, or 0 for any.
	UpTo int
	// DefaultOutput bounds answers of requests that set no bound. 0 means unknown.
	DefaultOutput int
	// Window bounds the tokens of a conversation, MaxOutput those of an answer. 0
	// means unknown.
	Window, MaxOutput int
	// Date and Source say when and where the prices were looked up.
	Date, Source string
}

// Prices are the rates of a model by the length of inputs. The zero value is unknown.
type Prices struct{ tiers []Rates }

// dated matches the date at the end of a model's name.
var dated = lazyregexp.New(`-(20\d\d-?\d\d-?\d\d|latest)$`)

// Of returns the prices of a model, provider/name. A dated model has those of the
// undated one. Scripts are free.
func Of(model string) Prices {
	if strings.HasPrefix(model, "scripted/") {
		return Prices{[]Rates{{}}}
	}
	var out Prices
	for _, name := range []string{model, dated.Get().ReplaceAllString(model, "")} {
		for _, row := range Table() {
			if row.Model == name && len(out.tiers) < 2 {
				out.tiers = append(out.tiers, row.Rates)
			}
		}
		if out.tiers != nil {
			break
		}
	}
	return out
}

// NewPrices returns prices that a graph gives with the keys input, cached_input (by
// default input) and output.
func NewPrices(given map[string]any) Prices {
	var rates Rates
	_ = keys.Decode(given, &rates) // the parser has checked them
	if given["cached_input"] == nil {
		rates.CachedInput = rates.Input
	}
	rates.CacheWrite = rates.Input
	return Prices{[]Rates{rates}}
}

func (p Prices) ratesFor(inputTokens int) (Rates, bool) {
	for _, r := range p.tiers {
		if r.UpTo == 0 || inputTokens <= r.UpTo {
			return r, true
		}
	}
	return Rates{}, false
}

// BaseRates returns the rates for short inputs, or zero if they are unknown.
func (p Prices) BaseRates() Rates {
	r, _ := p.ratesFor(0)
	return r
}

// Cost returns the price of a call in US dollars. It is unknown for inputs longer than the
// rates cover, and without reported tokens.
func (p Prices) Cost(usage model.Usage) (usd float64, known bool) {
	r, ok := p.ratesFor(usage.InputTokens)
	if !ok || usage.Unreported {
		return 0, false
	}
	fresh := usage.InputTokens - usage.CachedTokens - usage.CacheWriteTokens
	return (float64(max(fresh, 0))*r.Input + float64(usage.CachedTokens)*r.CachedInput +
		float64(usage.CacheWriteTokens)*r.CacheWrite + float64(usage.OutputTokens)*r.Output) / 1e6, true
}

// MaxCost returns the highest price of a call in US dollars, if its answer has at most
// maxTokens. 0 means the model's default. It assumes that nothing is cached.
func (p Prices) MaxCost(inputTokens, maxTokens int) (usd float64, known bool) {
	r, ok := p.ratesFor(inputTokens)
	if !ok {
		return 0, false
	}
	if maxTokens == 0 {
		maxTokens = r.DefaultOutput
	}
	return (float64(inputTokens)*max(r.Input, r.CacheWrite) + float64(maxTokens)*r.Output) / 1e6, true
}

// MaxTotalCost returns the highest price, in US dollars, of calls that have so many tokens
// in total, however divided. An answer to a long prompt costs more than one to a short
// prompt, so the most expensive call has the shortest of the long prompts.
func (p Prices) MaxTotalCost(tokens int) (usd float64, known bool) {
	least := 0 // the shortest input of a tier
	for _, r := range p.tiers {
		if tokens < least {
			break
		}
		input := max(r.Input, r.CacheWrite)
		usd = max(usd, float64(least)*input+float64(tokens-least)*max(input, r.Output))
		known, least = r.UpTo == 0 || tokens <= r.UpTo, r.UpTo+1
	}
	return usd / 1e6, known
}

// Row is a row of the table.
type Row struct {
	// Model is provider/name. Long marks the line for inputs longer than UpTo of the
	// line before.
	Model string
	Long  bool
	Rates
}

// Table returns all lines, sorted by model.
var Table = sync.OnceValue(func() []Row {
	var out []Row
	_, lines, _ := strings.Cut(table, "\n") // without the header
	for line := range strings.Lines(lines) {
		field := strings.Split(strings.TrimSpace(line), ",")
		number := func(i int) float64 {
			n, _ := strconv.ParseFloat(field[i], 64) // a test reads the whole table
			return n
		}
		row := Row{Rates: Rates{
			Input: number(1), CachedInput: number(2), CacheWrite: number(3), Output: number(4), DefaultOutput: int(number(5)),
			UpTo: int(number(6)), Window: int(number(7)), MaxOutput: int(number(8)), Date: field[9], Source: field[10],
		}}
		row.Model, row.Long = strings.CutSuffix(field[0], "+long")
		if field[3] == "" {
			row.CacheWrite = row.Input
		}
		out = append(out, row)
	}
	return out
})

// EstimateTokens estimates the tokens of a text as a quarter of its bytes, rounded up. That
// fits English, and roughly scripts whose letters have several bytes.
func EstimateTokens(text string) int { return (len(text) + 3) / 4 }

const (
	perMessage = 4 // tokens of role and boundaries
	// An image of usual size costs perPart tokens, and perPartByte bytes of a file or of
	// audio cost one. Providers count pages, pixels and seconds.
	perPart     = 1600
	perPartByte = 25
)

// EstimateRequestTokens estimates the input tokens of a request.
func EstimateRequestTokens(req *model.Request) int {
	total := perMessage + estimateJSON(req.Schema)
	if req.System != "" {
		total += EstimateTokens(req.System) + perMessage
	}
	for _, m := range req.Messages {
		total += perMessage + EstimateTokens(string(m.Thinking))
		if len(m.Parts) == 0 {
			total += EstimateTokens(m.Content)
		}
		for j := range m.Parts {
			total += estimatePart(&m.Parts[j])
		}
		for _, call := range m.ToolCalls {
			total += perMessage + EstimateTokens(call.Name) + EstimateTokens(call.Malformed) + estimateJSON(call.Args)
		}
	}
	for i := range req.Tools {
		total += perMessage + EstimateTokens(req.Tools[i].Name) + EstimateTokens(req.Tools[i].Description) + estimateJSON(req.Tools[i].Parameters)
	}
	return total
}

func estimatePart(p *model.Part) int {
	switch p.Kind {
	case model.TextPart:
		return EstimateTokens(p.Text)
	case model.ImagePart:
		return perPart
	}
	return max(perPart, p.Size()/perPartByte)
}

func estimateJSON(v map[string]any) int {
	if len(v) == 0 {
		return 0
	}
	text, _ := eval.AppendJSON(nil, v) // sending it will report the error
	return (len(text) + 3) / 4
}

// EstimateUsage returns the usage of a call whose server reported an impossible one.
func EstimateUsage(inputTokens int, answer *model.Response) model.Usage {
	said := model.Request{Messages: []model.Message{{
		Content: answer.Content, ToolCalls: answer.ToolCalls, Thinking: answer.Thinking,
	}}}
	return model.Usage{InputTokens: inputTokens, OutputTokens: EstimateRequestTokens(&said)}
}
