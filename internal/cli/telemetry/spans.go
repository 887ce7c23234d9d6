// Spans and logs of runs, steps, attempts, and calls of models and tools.

package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/machine"
)

// run holds the open spans of a run that this process drives.
type run struct {
	id, graph string
	span      trace.Span
	steps     map[string]*step // by place, visit and branch
	last      map[string]trace.SpanContext
	joined    map[string][]string // by node: the nodes before it
}

// step holds the open spans of a step.
type step struct {
	span, attempt trace.Span // attempt is nil between two attempts
	prefix, place string     // prefix is "resumed " for a step that began in another process
	visit, number int        // number of the attempt
}

// Event updates the spans of a run.
func (t *Telemetry) Event(e *runner.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.open[e.RunID]
	if r == nil {
		switch e.Type {
		case runner.RunStarted, runner.RunResumed, runner.NodeStarted, runner.NodeCompleted, runner.NodeFailed:
		default: // events after a pause belong to no span
			return nil
		}
		r = &run{id: e.RunID, graph: e.Graph, steps: map[string]*step{}, last: map[string]trace.SpanContext{}, joined: map[string][]string{}}
		t.open[e.RunID] = r
		t.beginRun(r, e)
	}
	t.emitLog(r, e) // before the span ends
	switch e.Type {
	case runner.NodeStarted:
		if s := r.steps[stepKey(e)]; s != nil {
			t.beginAttempt(r, s, max(e.Attempt, s.number+1), e.Time)
		} else {
			t.beginStep(r, e, "")
		}
	case runner.NodeRetrying:
		if s := r.steps[stepKey(e)]; s != nil {
			endSpan(s.attempt, e.Time, e.Error)
			s.attempt = nil
		}
	case runner.NodeCompleted, runner.NodeFailed:
		t.endStep(r, e)
	case runner.LLMUsage:
		t.addModelCall(r, e)
	case runner.ToolCalled:
		t.addToolCall(r, e)
	case runner.BranchesJoined:
		r.joined[e.Node] = append([]string(nil), e.From...)
	case runner.RunFinished, runner.RunPaused:
		t.endRun(r, e)
	}
	return nil
}

func stepKey(e *runner.Event) string { return fmt.Sprint(nodePath(e), "#", e.Visit, "@", e.Branch) }

func nodePath(e *runner.Event) string { return cmp.Or(e.Place, e.Node) }

func (t *Telemetry) startSpan(own, parent trace.SpanContext, name string, at time.Time, options ...trace.SpanStartOption) trace.Span {
	ctx := trace.ContextWithSpanContext(context.WithValue(context.Background(), idKey{}, own), parent)
	_, span := t.tracer.Start(ctx, name, append(options, trace.WithTimestamp(at))...)
	return span
}

// endSpan ends a span unless it is nil, and sets the masked message of a failure.
func endSpan(span trace.Span, at time.Time, f *machine.Failure) {
	if span == nil {
		return
	}
	if f != nil {
		span.SetStatus(codes.Error, f.Message)
		span.SetAttributes(attribute.String("error.type", f.Kind))
	}
	span.End(trace.WithTimestamp(at))
}

// beginRun starts the span of a run. The span of a resume is a child of the first one, which
// another process may have sent.
func (t *Telemetry) beginRun(r *run, e *runner.Event) {
	own, parent, name := t.newSpanContext(r.id, "run", ""), t.parent, "run "+e.Graph
	attrs := []attribute.KeyValue{attribute.String("graphrun.run.id", r.id)}
	if e.Type == runner.RunStarted {
		attrs = append(attrs, attribute.String("graphrun.graph", e.Graph))
	} else {
		own, parent, name = t.newSpanContext(r.id, "resume", "", int(e.Seq)), own, "resume"
	}
	r.span = t.startSpan(own, parent, name, e.Time, trace.WithAttributes(attrs...))
}

func (t *Telemetry) endRun(r *run, e *runner.Event) {
	for _, s := range r.steps { //lint:ignore mapiter the spans end independently
		endSpan(s.attempt, e.Time, nil)
		endSpan(s.span, e.Time, nil)
	}
	status, failure := "paused", (*machine.Failure)(nil)
	if e.Result != nil {
		status, failure, r.graph = string(e.Result.Status), e.Result.Error, e.Result.Graph
	}
	attrs := []attribute.KeyValue{attribute.String("graphrun.graph", r.graph), attribute.String("graphrun.status", status)}
	r.span.SetAttributes(attrs...)
	endSpan(r.span, e.Time, failure)
	t.runs.Add(context.Background(), 1, metric.WithAttributes(attrs...))
	delete(t.open, r.id)
}

// parentSpan returns the attempt of the graph node that a step in a subgraph belongs to, or the
// run.
func (r *run) parentSpan(place string) trace.SpanContext {
	for {
		i := strings.LastIndexByte(place, '/')
		if i < 0 {
			return r.span.SpanContext()
		}
		place = place[:i]
		for _, s := range r.steps { //lint:ignore mapiter a place has one open step
			if s.place == place || s.place == strings.TrimRight(place, "[]0123456789") {
				return s.current()
			}
		}
	}
}

func (s *step) current() trace.SpanContext {
	if s.attempt != nil {
		return s.attempt.SpanContext()
	}
	return s.span.SpanContext()
}

// beginStep starts a step and its first attempt.
func (t *Telemetry) beginStep(r *run, e *runner.Event, prefix string) {
	var links []trace.Link
	for _, from := range r.joined[e.Node] {
		if sc, ok := r.last[from]; ok {
			links = append(links, trace.Link{SpanContext: sc})
		}
	}
	delete(r.joined, e.Node)
	attrs := []attribute.KeyValue{
		attribute.String("graphrun.run.id", r.id), attribute.String("graphrun.node", e.Node), attribute.String("graphrun.node.kind", e.Kind), attribute.Int("graphrun.visit", e.Visit),
	}
	if e.Branch != "" {
		attrs = append(attrs, attribute.String("graphrun.branch", e.Branch))
	}
	s := &step{prefix: prefix, place: nodePath(e), visit: e.Visit}
	own := t.newSpanContext(r.id, prefix+"step "+e.Branch, s.place, e.Visit)
	s.span = t.startSpan(own, r.parentSpan(s.place), "step "+e.Node, e.Time, trace.WithLinks(links...), trace.WithAttributes(attrs...))
	r.steps[stepKey(e)] = s
	t.beginAttempt(r, s, max(e.Attempt, 1), e.Time)
}

func (t *Telemetry) beginAttempt(r *run, s *step, number int, at time.Time) {
	s.number = number
	own := t.newSpanContext(r.id, s.prefix+"attempt", s.place, s.visit, number)
	s.attempt = t.startSpan(own, s.span.SpanContext(), "attempt", at, trace.WithAttributes(attribute.Int("graphrun.attempt", number)))
}

func (t *Telemetry) endStep(r *run, e *runner.Event) {
	if r.steps[stepKey(e)] == nil { // it started in another process
		began := *e
		began.Time = e.Time.Add(-e.Duration)
		t.beginStep(r, &began, "resumed ")
	}
	s := r.steps[stepKey(e)]
	delete(r.steps, stepKey(e))
	if s.attempt == nil { // it failed between two attempts
		t.beginAttempt(r, s, s.number+1, e.Time)
	}
	outcome := "success"
	if e.Error != nil {
		outcome = "failure"
	}
	s.span.SetAttributes(attribute.String("graphrun.outcome", outcome), attribute.Bool("graphrun.cached", e.Cached))
	endSpan(s.attempt, e.Time, e.Error)
	endSpan(s.span, e.Time, e.Error)
	r.last[e.Node] = s.span.SpanContext()
	attrs := metric.WithAttributes(attribute.String("graphrun.graph", r.graph), attribute.String("graphrun.node", e.Node), attribute.String("graphrun.outcome", outcome))
	t.steps.Add(context.Background(), 1, attrs)
	t.took.Record(context.Background(), e.Duration.Seconds(), attrs)
}

// findAttempt returns the attempt, or else the run, that an event belongs to.
func (r *run) findAttempt(e *runner.Event) trace.SpanContext {
	if s := r.steps[stepKey(e)]; s != nil {
		return s.current()
	}
	return r.parentSpan(nodePath(e))
}

// addModelCall adds the span of a model call by the GenAI conventions, without prompt and answer.
func (t *Telemetry) addModelCall(r *run, e *runner.Event) {
	u := e.Usage
	provider, model, hasProvider := strings.Cut(u.Model, "/")
	if !hasProvider {
		provider, model = "", u.Model
	}
	attrs := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", provider), attribute.String("gen_ai.request.model", model),
		attribute.Int("gen_ai.usage.input_tokens", u.InputTokens), attribute.Int("gen_ai.usage.output_tokens", u.OutputTokens),
	}
	if u.CostUSD != nil {
		attrs = append(attrs, attribute.Float64("graphrun.cost_usd", *u.CostUSD))
	}
	own := t.newSpanContext(r.id, "model", nodePath(e), e.Visit, e.Attempt, u.Turn, int(e.Seq))
	began := e.Time.Add(-e.Duration)
	span := t.startSpan(own, r.findAttempt(e), "chat "+model, began, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	endSpan(span, e.Time, nil)
	for kind, n := range map[string]int{"input": u.InputTokens, "output": u.OutputTokens} { //lint:ignore mapiter the counts are independent
		t.tokens.Record(context.Background(), float64(n), metric.WithAttributes(append(attrs[:3:3], attribute.String("gen_ai.token.type", kind))...))
	}
	if u.CostUSD != nil {
		t.cost.Add(context.Background(), *u.CostUSD, metric.WithAttributes(attrs[1:3]...))
	}
}

func (t *Telemetry) addToolCall(r *run, e *runner.Event) {
	data, _ := e.Said.Data.(map[string]any)
	attrs := []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", e.Said.Name)}
	if id, ok := data["id"].(string); ok {
		attrs = append(attrs, attribute.String("gen_ai.tool.call.id", id))
	}
	ms, _ := data["duration_ms"].(int)
	began := e.Time.Add(-time.Duration(ms) * time.Millisecond)
	own := t.newSpanContext(r.id, "tool", nodePath(e), e.Visit, e.Attempt, int(e.Seq))
	span := t.startSpan(own, r.findAttempt(e), "execute_tool "+e.Said.Name, began, trace.WithAttributes(attrs...))
	var failure *machine.Failure
	if bad, _ := data["is_error"].(bool); bad {
		failure = &machine.Failure{Kind: "tool", Message: "the tool failed"}
	}
	endSpan(span, e.Time, failure)
}

// emitLog sends a record for the start or end of a run, a question, a retry, a failure or a warning.
func (t *Telemetry) emitLog(r *run, e *runner.Event) {
	severity, body, failure := log.SeverityInfo, "", e.Error
	switch e.Type {
	case runner.RunStarted:
		body = "run started"
	case runner.RunResumed:
		body = "run resumed"
	case runner.RunPaused, runner.RunFinished:
		body = "run paused"
		if e.Result != nil {
			body, failure = describeRunEnd(e.Result), e.Result.Error
		}
		if failure != nil {
			severity = log.SeverityError
		}
	case runner.NodeRetrying:
		severity, body = log.SeverityWarn, "attempt failed"
	case runner.NodeFailed:
		severity, body = log.SeverityError, "node failed"
	case runner.NodeEvent:
		if e.Said == nil || e.Said.Type != "warning" {
			return
		}
		severity, body = log.SeverityWarn, e.Said.Message
	default:
		return
	}
	attrs := []attribute.KeyValue{attribute.String("graphrun.run.id", r.id)}
	if r.graph != "" {
		attrs = append(attrs, attribute.String("graphrun.graph", r.graph))
	}
	if e.Node != "" {
		attrs = append(attrs, attribute.String("graphrun.node", e.Node))
	}
	if failure != nil {
		body += ": " + failure.Message
		attrs = append(attrs, attribute.String("error.type", failure.Kind))
	}
	var record log.Record
	record.SetTimestamp(e.Time)
	record.SetObservedTimestamp(e.Time)
	record.SetEventName("graphrun." + string(e.Type))
	record.SetSeverity(severity)
	record.SetBody(attribute.StringValue(body))
	record.AddAttributes(attrs...)
	t.logger.Emit(trace.ContextWithSpanContext(context.Background(), r.findAttempt(e)), record)
}

// describeRunEnd returns the status of a run and the nodes that ask a question.
func describeRunEnd(result *runner.Result) string {
	text, separator := "run "+string(result.Status), ", waiting for "
	for i := range result.Pending {
		text += separator + result.Pending[i].Node
		separator = ", "
	}
	return text
}
