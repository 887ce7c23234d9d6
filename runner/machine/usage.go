// Usage: what calls of models came to.

package machine

import (
	"maps"

	"github.com/graphrun/graphrun/eval"
)

// ModelSettings are the caller's choices for models.
type ModelSettings struct {
	// Models are the models to use instead of the graph's, by role.
	Models map[string]string `json:"models,omitempty"`
	Params []ModelParam      `json:"params,omitempty"`
}

// ModelParam is a model parameter that the caller sets.
type ModelParam struct {
	// Node is the path of the node, outer/inner in a subgraph; empty: every
	// model node, those of subgraphs too.
	Node  string `json:"node,omitempty"`
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// UnmarshalJSON reads a parameter back with a canonical value.
func (p *ModelParam) UnmarshalJSON(text []byte) error {
	type plain ModelParam // without this method
	return eval.DecodeJSON(text, (*plain)(p))
}

// Usage is the consumption of model calls.
type Usage struct {
	// Calls counts the calls, failed ones too.
	Calls        int `json:"calls"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens are those of InputTokens that the provider had cached,
	// ReasoningTokens those of OutputTokens that a model thought with.
	CachedTokens    int `json:"cached_tokens,omitempty"`
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Estimated says that tokens, of one call at least, are an estimate: its server
	// reported none, or it was cut.
	Estimated bool `json:"estimated,omitempty"`
	// Charged is what budgets count, in US dollars: the cost, or an estimate where
	// CostUSD is not known.
	Charged float64 `json:"charged,omitempty"`
	// CostUSD is in US dollars; nil when the price of some call is not known.
	CostUSD *float64 `json:"cost_usd"`
	// Model, Node, Role, Visit and Turn say which call it was; they are empty in
	// a sum. Node is a path.
	Model string `json:"model,omitempty"`
	Node  string `json:"node,omitempty"`
	Role  string `json:"role,omitempty"`
	// Place is that of the task, if it is another than Node.
	Place string `json:"place,omitempty"`
	Visit int    `json:"visit,omitempty"`
	Turn  int    `json:"turn,omitempty"`
	// Scripted says that a script answered: the answers that it has given are
	// counted, so that a run that is taken up again gets the ones after.
	Scripted bool `json:"scripted,omitempty"`
	// Cut says that the call was cancelled before it was answered.
	Cut bool `json:"cut,omitempty"`
	// DurationMS is how long the call took, in milliseconds; nil in a sum, and where it
	// was not measured.
	DurationMS *int64 `json:"duration_ms,omitempty"`
}

// add counts a call.
func (u *Usage) add(call *Usage) {
	if u.Calls == 0 && u.CostUSD == nil {
		u.CostUSD = new(float64)
	}
	u.Calls += call.Calls
	u.InputTokens += call.InputTokens
	u.OutputTokens += call.OutputTokens
	u.CachedTokens += call.CachedTokens
	u.ReasoningTokens += call.ReasoningTokens
	u.Estimated = u.Estimated || call.Estimated
	u.Charged += call.Charged
	if u.CostUSD == nil || call.CostUSD == nil {
		u.CostUSD = nil
		return
	}
	sum := *u.CostUSD + *call.CostUSD
	u.CostUSD = &sum
}

// addUsage adds the usage of a call that an attempt or a decision noted.
func (s *State) addUsage(t *Task, e *Event) {
	call := e.Usage
	if call == nil {
		return
	}
	s.Spent.add(call)
	if t != nil {
		t.scope.eachEnclosing(func(sc *Scope) { sc.Spent.add(call) })
	}
	var u *Unit
	if t != nil {
		u = t.unit(e.Task)
	}
	// An execution that is interrupted makes its call again, and gets the answer.
	if call.Scripted && (!call.Cut || u != nil && u.Cause != nil && u.Cause.Kind == "timeout") {
		s.Scripted = append(s.Scripted, *call)
	}
	if t == nil || call.Turn == 0 || e.Task.Element > 0 {
		return
	}
	calls := &t.Calls
	if u != nil && !t.Deciding {
		calls = &u.Calls
	}
	if *calls == nil {
		*calls = &callCounts{Turns: map[string]int{}}
	}
	(*calls).Turns[call.Role] = call.Turn
}

// callCounts counts the model calls of a visit by role, and those of its earlier
// attempts.
type callCounts struct {
	Turns   map[string]int `json:"turns,omitempty"`
	Earlier map[string]int `json:"earlier,omitempty"`
}

// startCounting begins the call counts of a new attempt.
func (u *Unit) startCounting() {
	if u.Calls != nil {
		u.Calls.Earlier = maps.Clone(u.Calls.Turns)
	}
}

// earlierTurns returns the call counts of earlier attempts.
func (u *Unit) earlierTurns() map[string]int {
	if u.Calls == nil {
		return nil
	}
	return u.Calls.Earlier
}

func (t *Task) earlierTurns() map[string]int {
	if t.Calls == nil {
		return nil
	}
	return t.Calls.Earlier
}

// Usage returns the total usage of the run, including subgraphs.
func (s *State) Usage() Usage {
	if s.Spent.Calls == 0 {
		return Usage{CostUSD: new(float64)}
	}
	return s.Spent
}
