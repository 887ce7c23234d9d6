package price

import (
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphrun/graphrun/model"
)

// rates returns the rates in a row of the table, found by the text in its first column.
func rates(name string) Rates {
	for _, r := range Table() {
		if !r.Long && r.Model == name || r.Long && r.Model+"+long" == name {
			return r.Rates
		}
	}
	return Rates{}
}

func TestTable(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range rows[1:] {
		names = append(names, row[0])
		for i, cell := range row[1:9] {
			n, err := strconv.ParseFloat(cell, 64)
			if optional := i == 2 || i >= 5; err != nil && !(optional && cell == "") || n < 0 || n == 0 && cell != "" {
				t.Errorf("%s: %s is %q", row[0], rows[0][i+1], cell)
			}
		}
		if _, err := time.Parse(time.DateOnly, row[9]); err != nil || !strings.HasPrefix(row[10], "https://") {
			t.Errorf("%s: looked up %s at %s", row[0], row[9], row[10])
		}
		if p := rates(row[0]); p.CachedInput >= p.Input || p.Input >= p.Output {
			t.Errorf("%s: %+v", row[0], p)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(rows)-1 {
		t.Error("the table is not sorted, or names a model twice")
	}
}

func TestCost(t *testing.T) {
	million := model.Usage{InputTokens: 1e6, OutputTokens: 1e6}
	for _, test := range []struct {
		model string
		usage model.Usage
		want  float64 // negative: unknown
	}{
		{"openai/gpt-4.1-mini", million, 2},
		{"openai/gpt-4.1-mini-2025-04-14", million, 2},
		{"anthropic/claude-haiku-4-5-20251001", million, 6},
		{"anthropic/claude-haiku-4-5", model.Usage{InputTokens: 1e6, CachedTokens: 4e5, CacheWriteTokens: 2e5, OutputTokens: 1e5}, 0.4 + 0.04 + 0.25 + 0.5},
		{"openai/gpt-4.1", model.Usage{}, 0},
		{"openai/gpt-4.1", model.Usage{Unreported: true}, -1},
		{"openai/gpt-4.1-mega", million, -1},
		{"openai/gpt-4", million, -1},
		{"local/gpt-4.1", million, -1},
		{"gpt-4.1", million, -1},
		{"openai/gpt-5.4", model.Usage{InputTokens: 272_000}, 0.68},
		{"openai/gpt-5.4", model.Usage{InputTokens: 272_001}, -1},
		{"openai/gpt-6-astra", model.Usage{InputTokens: 272_001, OutputTokens: 1}, 20*0.272001 + 75e-6},
		{"openai/gpt-6.1-sol", model.Usage{InputTokens: 300_000, CachedTokens: 100_000, CacheWriteTokens: 100_000, OutputTokens: 1000}, 0.4 + 0.02 + 0.5 + 0.015},
		{"anthropic/claude-haiku-5-5-20261001", model.Usage{InputTokens: 200_000, CachedTokens: 100_000}, 0.05 + 0.005},
		{"openai/gpt-4.1,2.00", million, -1},
		{"", million, -1},
		{"scripted/s.yaml", million, 0},
	} {
		prices := Of(test.model)
		usd, known := prices.Cost(test.usage)
		if known != (test.want >= 0) || known && math.Abs(usd-test.want) > 1e-12 {
			t.Errorf("%s %+v: got %v, %v, want %v", test.model, test.usage, usd, known, test.want)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, test := range []struct {
		model         string
		input, output int
		want          float64
	}{
		{"openai/gpt-4.1", 1000, 500, 0.002 + 0.004},
		{"openai/gpt-4.1", 1000, 0, 0.002 + 32768*8e-6},
		{"anthropic/claude-opus-4-6", 1000, 0, 0.00625 + 8192*25e-6},
		{"scripted/s.yaml", 1000, 0, 0},
		{"local/x", 1000, 10, -1},
		{"openai/gpt-5.4", 300_000, 10, -1},
	} {
		prices := Of(test.model)
		usd, known := prices.MaxCost(test.input, test.output)
		if known != (test.want >= 0) || known && math.Abs(usd-test.want) > 1e-12 {
			t.Errorf("%s: got %v, %v, want %v", test.model, usd, known, test.want)
		}
	}
}

// No way to share tokens between prompts and answers of calls costs more than Most.
func TestMost(t *testing.T) {
	for _, model := range []string{"openai/gpt-6-luna", "openai/gpt-6.1-sol", "openai/gpt-4.1", "anthropic/claude-haiku-5-5", "anthropic/claude-opus-4-6"} {
		prices := Of(model)
		for _, tokens := range []int{1, 1000, 100_000, 100_001, 272_000, 272_001, 300_000, 1_000_000} {
			most, known := prices.MaxTotalCost(tokens)
			attained := false
			for _, input := range []int{0, 1, tokens / 2, 100_000, 100_001, 272_000, 272_001, tokens} {
				if input > tokens {
					continue
				}
				usd, ok := prices.MaxCost(input, max(tokens-input, 1))
				if !ok || !known || tokens > input && usd > most+1e-12 {
					t.Errorf("%s: %d tokens, %d of them asked, cost %v, more than %v", model, tokens, input, usd, most)
				}
				attained = attained || math.Abs(usd-most) < most*1e-3
			}
			if tokens > 1 && !attained {
				t.Errorf("%s: %d tokens never cost %v", model, tokens, most)
			}
		}
	}
	unknown := Of("openai/gpt-5.4")
	if _, known := unknown.MaxTotalCost(272_001); known {
		t.Error("the price of a long prompt is known")
	}
	if usd, known := unknown.MaxTotalCost(272_000); !known || math.Abs(usd-272_000*15e-6) > 1e-12 {
		t.Errorf("got %v, %v", usd, known)
	}
}

func TestRequestTokens(t *testing.T) {
	if EstimateTokens("") != 0 || EstimateTokens("abcd") != 1 || EstimateTokens("abcde") != 2 || EstimateTokens("漢字") != 2 {
		t.Error("texts are counted wrongly")
	}
	req := &model.Request{
		System:   "abcdefgh",
		Messages: []model.Message{{Content: "abcd", ToolCalls: []model.ToolCall{{Name: "t", Args: map[string]any{"a": 1}}}}},
		Tools:    []model.Tool{{Name: "tool"}},
		Schema:   map[string]any{"type": "object"},
	}
	// end, system, message, call with {"a":1}, tool, schema of 17 bytes
	if got := EstimateRequestTokens(req); got != 4+6+5+(4+1+2)+5+5 {
		t.Errorf("got %d", got)
	}
}

// A graph may give prices; what it leaves out of them costs as the input does.
func TestDeclared(t *testing.T) {
	usage := model.Usage{InputTokens: 1e6, CachedTokens: 5e5, OutputTokens: 1e6}
	for _, test := range []struct {
		given map[string]any
		want  float64
	}{
		{map[string]any{"input": 2, "output": 10}, 12},
		{map[string]any{"input": 2, "cached_input": 0.5, "output": 10}, 11.25},
		{map[string]any{"input": 0, "output": 0}, 0},
	} {
		prices := NewPrices(test.given)
		if usd, known := prices.Cost(usage); !known || usd != test.want {
			t.Errorf("%v: %v, %v", test.given, usd, known)
		}
	}
}

func TestRows(t *testing.T) {
	rows := Table()
	if len(rows) != strings.Count(table, "\n")-1 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Date == "" || r.Source == "" || strings.Contains(r.Model, "+") || r.Output == 0 {
			t.Errorf("%+v", r)
		}
	}
}
