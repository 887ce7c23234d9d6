// What people were asked, in memory and in snapshots.

package machine

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

// questions holds the questions of a task, or of an element of one.
type questions struct {
	questions []question
	// attempt is that of the element that asked.
	attempt int
	// any says that one answer is enough to go on: a subgraph's questions are
	// those of several nodes.
	any bool
	// at is the breakpoint that a subgraph stands at.
	at *Breakpoint
	// steps are those of a subgraph that are counted in the run around it, waiting
	// those of them whose executions have not ended.
	steps, waiting int
	// woken says that a subgraph is to go on without an answer, and until when it
	// does so by itself (Unix nanoseconds); 0: never.
	woken bool
	until int64
	// ends is when the time of the attempt ends that runs the subgraph, which goes
	// on as long as the subgraph waits for a moment; 0: never.
	ends int64
}

// question is a question that a task waits for. The zero ID is that of a human
// node.
type question struct {
	Ask
	schema     *schema.Schema
	fallback   any
	hasDefault bool
	// settled says that there is an answer, or a failure of who did not answer.
	settled bool
	answer  any
	failure *Failure
}

type savedQuestions struct {
	Questions []savedQuestion `json:"questions,omitempty"`
	Any       bool            `json:"any,omitempty"`
	At        *Breakpoint     `json:"at,omitempty"`
	Steps     int             `json:"steps,omitempty"`
	Waiting   int             `json:"waiting,omitempty"`
	Woken     bool            `json:"woken,omitempty"`
	Until     int64           `json:"until,omitempty"`
	Ends      int64           `json:"ends,omitempty"`
}

// savedQuestion is question; the schema of its Ask is written like other data.
type savedQuestion struct {
	Ask        Ask            `json:"ask"`
	Document   map[string]any `json:"document"`
	Fallback   any            `json:"fallback,omitempty"`
	HasDefault bool           `json:"has_default,omitempty"`
	Settled    bool           `json:"settled,omitempty"`
	Answer     any            `json:"answer,omitempty"`
	Failure    *int           `json:"failure,omitempty"`
}

func (k *saver) questions(q *questions) *savedQuestions {
	if q == nil {
		return nil
	}
	out := &savedQuestions{Any: q.any, At: q.at, Steps: q.steps, Waiting: q.waiting, Woken: q.woken, Until: q.until, Ends: q.ends}
	for i := range q.questions {
		out.Questions = append(out.Questions, k.question(&q.questions[i]))
	}
	return out
}

func (k *saver) questionsByElement(m map[int]*questions) []savedElement {
	var out []savedElement
	for _, i := range sortedQuestions(m) {
		out = append(out, savedElement{Element: i, Attempt: m[i].attempt, Asked: k.questions(m[i])})
	}
	return out
}

func (r *restorer) questionsByElement(list []savedElement) map[int]*questions {
	out := map[int]*questions{}
	for _, in := range list {
		if asked := r.questions(in.Asked); asked != nil {
			asked.attempt = in.Attempt
			out[in.Element] = asked
		}
	}
	return out
}

func (k *saver) question(q *question) savedQuestion {
	out := savedQuestion{
		Ask: q.Ask, Document: k.packMap(q.Schema), Fallback: k.pack(q.fallback), HasDefault: q.hasDefault,
		Settled: q.settled, Answer: k.pack(q.answer), Failure: k.failure(q.failure),
	}
	out.Ask.Schema = nil
	return out
}

func (r *restorer) questions(in *savedQuestions) *questions {
	if in == nil {
		return nil
	}
	q := &questions{any: in.Any, at: in.At, steps: in.Steps, waiting: in.Waiting, woken: in.Woken, until: in.Until, ends: in.Ends}
	for i := range in.Questions {
		q.questions = append(q.questions, r.question(&in.Questions[i]))
	}
	return q
}

func (r *restorer) question(in *savedQuestion) question {
	q := question{
		Ask: in.Ask, fallback: r.unpack(in.Fallback), hasDefault: in.HasDefault, settled: in.Settled,
		answer: r.unpack(in.Answer), failure: r.failure(in.Failure),
	}
	if q.Tool != nil { // part of the event that asked, so plain data
		args, err := eval.Canonical(q.Tool.Args)
		if err != nil {
			r.fail(err)
		}
		q.Tool.Args, _ = args.(map[string]any)
	}
	q.Schema = r.unpackMap(in.Document)
	compiled, err := schema.Compile(q.Schema)
	if err != nil {
		r.fail(err)
	}
	q.schema = compiled
	return q
}
