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

// row is a line of the table.
type row struct {
	input, cached, cacheWrite, output float64
	// defaultOutput is how many tokens an answer may have when the request does
	// not say.
	defaultOutput int
	// upTo is the longest input, in tokens, that has these prices; 0: any.
	upTo int
}

// Cost is what a call came to, in US dollars. It is unknown for a model that
// the table does not have, for a prompt longer than its prices hold for, and
// where the provider did not report tokens. Scripts are free. model is
// provider/name; the provider of a graph's own must not be called openai or
// anthropic unless it charges as they do.
func Cost(model string, usage model.Usage) (usd float64, known bool) {
	if isScript(model) {
		return 0, true
	}
	p, ok := findFor(model, usage.InputTokens)
	if !ok || usage.Unreported {
		return 0, false
	}
	fresh := usage.InputTokens - usage.CachedTokens - usage.CacheWriteTokens
	return (float64(max(fresh, 0))*p.input + float64(usage.CachedTokens)*p.cached +
		float64(usage.CacheWriteTokens)*p.cacheWrite + float64(usage.OutputTokens)*p.output) / 1e6, true
}

// Worst is the most that a call of so many input tokens can cost, in US
// dollars, when its answer may have maxTokens; 0: as many as the model gives
// by itself. It does not count on a cache.
func Worst(model string, inputTokens, maxTokens int) (usd float64, known bool) {
	if isScript(model) {
		return 0, true
	}
	p, ok := findFor(model, inputTokens)
	if !ok {
		return 0, false
	}
	if maxTokens == 0 {
		maxTokens = p.defaultOutput
	}
	return (float64(inputTokens)*max(p.input, p.cacheWrite) + float64(maxTokens)*p.output) / 1e6, true
}

// DefaultOutput is how many tokens an answer of a model may have when the
// request does not say; 0: unknown.
func DefaultOutput(model string) int {
	p, _ := find(model)
	return p.defaultOutput
}

func isScript(model string) bool { return strings.HasPrefix(model, "scripted/") }

// find looks a model up, a dated one by its name without the date.
func find(model string) (row, bool) {
	if p, ok := line(model); ok {
		return p, true
	}
	dated := regexp.MustCompile(`-(20\d\d-?\d\d-?\d\d|latest)(\+long)?$`)
	return line(dated.ReplaceAllString(model, "$2"))
}

// findFor is the row for prompts of a length: above the longest of a model's
// own row that of its name with +long, where there is one.
func findFor(model string, inputTokens int) (row, bool) {
	p, ok := find(model)
	if !ok || p.upTo == 0 || inputTokens <= p.upTo {
		return p, ok
	}
	return find(model + "+long")
}

// line scans the table: that is quicker than a map made for one look.
func line(model string) (row, bool) {
	_, rest, found := strings.Cut(table, "\n"+model+",")
	if !found || strings.ContainsAny(model, ",\n") {
		return row{}, false
	}
	text, _, _ := strings.Cut(rest, "\n")
	field := strings.Split(text, ",")
	p := row{
		input: number(field[0]), cached: number(field[1]), cacheWrite: number(field[2]), output: number(field[3]),
		defaultOutput: int(number(field[4])), upTo: int(number(field[5])),
	}
	if field[2] == "" {
		p.cacheWrite = p.input
	}
	return p, true
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // a test reads the whole table
	return n
}
