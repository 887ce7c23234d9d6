// What people were asked, in snapshots.

package machine

import (
	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/schema"
)

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
