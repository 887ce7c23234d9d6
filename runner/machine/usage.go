// Usage: the tokens and costs of model calls.

package machine

import "maps"

// ModelSettings are the caller's settings for models.
type ModelSettings struct {
	// Models replace the models of the graph, by role.
	Models map[string]string `json:"models,omitempty"`
	Params []ModelParam      `json:"params,omitempty"`
}

// ModelParam is a model parameter that the caller sets.
type ModelParam struct {
	// Node is the path of the node (outer/inner), or "" for every model node.
	Node  string `json:"node,omitempty"`
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// Usage is the usage of one or more model calls.
type Usage struct {
	// Calls counts all calls, also failed ones.
	Calls        int `json:"calls"`
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens are input tokens from the provider's cache, ReasoningTokens output tokens for reasoning.
	CachedTokens    int `json:"cached_tokens,omitempty"`
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Estimated means that some tokens are estimated: a server reported none, or the call was cut.
	Estimated bool `json:"estimated,omitempty"`
	// Charged is the cost for budgets in US dollars, estimated if CostUSD is unknown.
	Charged float64 `json:"charged,omitempty"`
	// CostUSD is nil if the price of some call is unknown.
	CostUSD *float64 `json:"cost_usd"`
	// Model, Node (a path), Role, Visit and Turn identify a call. They are empty in a sum.
	Model string `json:"model,omitempty"`
	Node  string `json:"node,omitempty"`
	Role  string `json:"role,omitempty"`
	// Place is the path of the task, if it is not Node.
	Place string `json:"place,omitempty"`
	Visit int    `json:"visit,omitempty"`
	Turn  int    `json:"turn,omitempty"`
	// Scripted means that a script answered. A resumed run skips these answers.
	Scripted bool `json:"scripted,omitempty"`
	// Cut means that the call was cancelled before it was answered.
	Cut bool `json:"cut,omitempty"`
	// DurationMS is the duration of the call, or nil in a sum and if it was not measured.
	DurationMS *int64 `json:"duration_ms,omitempty"`
}

// Add adds a call to a sum.
func (u *Usage) Add(call *Usage) {
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
	u.CostUSD = new(*u.CostUSD + *call.CostUSD)
}

// addUsage adds the usage of a call that an attempt or a decision noted.
func (s *State) addUsage(t *Task, e *Event) {
	call := e.Usage
	if call == nil {
		return
	}
	s.Spent.Add(call)
	if t != nil {
		t.scope.visitEnclosing(func(sc *Scope) { sc.Spent.Add(call) })
	}
	u := t.findUnit(e.Task)
	// An interrupted execution repeats its call, so its answer is not used up.
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
	calls.Turns = setEntry(calls.Turns, call.Role, call.Turn)
}

// callCounts counts the model calls of a visit by role, including earlier attempts.
type callCounts struct {
	Turns   map[string]int `json:"turns,omitempty"`
	Earlier map[string]int `json:"earlier,omitempty"`
}

// startAttempt counts the calls so far as calls of earlier attempts.
func (c *callCounts) startAttempt() { c.Earlier = maps.Clone(c.Turns) }

// Usage returns the total usage of the run, including subgraphs.
func (s *State) Usage() Usage {
	if s.Spent.Calls == 0 {
		return Usage{CostUSD: new(float64)}
	}
	return s.Spent
}
