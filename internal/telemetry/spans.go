// Spans and logs of runs, steps, attempts, and calls of models and tools.

package telemetry

import (
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

// run is a run that this process drives.
type run struct {
	id, graph string
	span      trace.Span
	steps     map[string]*step // by place, visit and branch
	last      map[string]trace.SpanContext
	joined    map[string][]string // by node: the nodes before it
	calls     int
}

// step is an open step.
type step struct {
	span, attempt trace.Span
	what, place   string // what is "resumed " for one that began in another process
	visit, number int    // number of the attempt
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
		t.beginStep(r, e)
	case runner.NodeRetrying:
		if s := r.steps[stepKey(e)]; s != nil && s.attempt != nil {
			setSpanError(s.attempt, e.Error)
			s.attempt.End(trace.WithTimestamp(e.Time))
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

func stepKey(e *runner.Event) string { return fmt.Sprint(placeOf(e), "#", e.Visit, "@", e.Branch) }

func placeOf(e *runner.Event) string {
	if e.Place != "" {
		return e.Place
	}
	return e.Node
}

// startSpan starts a span with an id, a parent and a start time in the trace of the run.
func (t *Telemetry) startSpan(r *run, id trace.SpanID, parent trace.SpanContext, name string, at time.Time, kind trace.SpanKind, links []trace.Link, about ...attribute.KeyValue) trace.Span {
	ctx := context.WithValue(context.Background(), idKey{}, ids{t.traceID(r.id), id})
	if parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithSpanKind(kind), trace.WithLinks(links...), trace.WithAttributes(about...))
	return span
}

// beginRun starts the span of a run. The span of a resume is a child of the first one, which
// another process may have sent.
func (t *Telemetry) beginRun(r *run, e *runner.Event) {
	first := spanID(r.id, "run", "")
	about := []attribute.KeyValue{attribute.String("graphrun.run.id", r.id)}
	if e.Type == runner.RunStarted {
		r.span = t.startSpan(r, first, t.parent, "run "+e.Graph, e.Time, trace.SpanKindInternal, nil, append(about, attribute.String("graphrun.graph", e.Graph))...)
		return
	}
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: t.traceID(r.id), SpanID: first, TraceFlags: trace.FlagsSampled, Remote: true})
	r.span = t.startSpan(r, spanID(r.id, "resume", "", int(e.Seq)), parent, "resume", e.Time, trace.SpanKindInternal, nil, about...)
}

func (t *Telemetry) endRun(r *run, e *runner.Event) {
	for _, s := range r.steps { //lint:ignore mapiter each span ends by itself
		if s.attempt != nil {
			s.attempt.End(trace.WithTimestamp(e.Time))
		}
		s.span.End(trace.WithTimestamp(e.Time))
	}
	status := "paused"
	if e.Result != nil {
		status = string(e.Result.Status)
		r.graph = e.Result.Graph
		setSpanError(r.span, e.Result.Error)
	}
	r.span.SetAttributes(attribute.String("graphrun.status", status), attribute.String("graphrun.graph", r.graph))
	r.span.End(trace.WithTimestamp(e.Time))
	t.runs.Add(context.Background(), 1, metric.WithAttributes(attribute.String("graphrun.graph", r.graph), attribute.String("graphrun.status", status)))
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

func (t *Telemetry) beginStep(r *run, e *runner.Event) {
	if s := r.steps[stepKey(e)]; s != nil { // another attempt
		t.beginAttempt(r, s, max(e.Attempt, s.number+1), e.Time)
		return
	}
	t.beginStepAs(r, e, "step ")
}

// beginStepAs starts a step whose span id also derives from a word.
func (t *Telemetry) beginStepAs(r *run, e *runner.Event, what string) {
	var links []trace.Link
	for _, from := range r.joined[e.Node] {
		if sc, ok := r.last[from]; ok {
			links = append(links, trace.Link{SpanContext: sc})
		}
	}
	delete(r.joined, e.Node)
	about := []attribute.KeyValue{
		attribute.String("graphrun.run.id", r.id), attribute.String("graphrun.node", e.Node), attribute.String("graphrun.node.kind", e.Kind), attribute.Int("graphrun.visit", e.Visit),
	}
	if e.Branch != "" {
		about = append(about, attribute.String("graphrun.branch", e.Branch))
	}
	s := &step{what: strings.TrimSuffix(what, "step "), place: placeOf(e), visit: e.Visit}
	s.span = t.startSpan(r, spanID(r.id, what+e.Branch, s.place, e.Visit), r.parentSpan(s.place), "step "+e.Node, e.Time, trace.SpanKindInternal, links, about...)
	r.steps[stepKey(e)] = s
	t.beginAttempt(r, s, max(e.Attempt, 1), e.Time)
}

func (t *Telemetry) beginAttempt(r *run, s *step, number int, at time.Time) {
	s.number = number
	s.attempt = t.startSpan(r, spanID(r.id, s.what+"attempt", s.place, s.visit, number), s.span.SpanContext(), "attempt", at, trace.SpanKindInternal, nil, attribute.Int("graphrun.attempt", number))
}

func (t *Telemetry) endStep(r *run, e *runner.Event) {
	s := r.steps[stepKey(e)]
	if s == nil { // it started in another process
		began := *e
		began.Time = e.Time.Add(-e.Duration)
		t.beginStepAs(r, &began, "resumed step ")
		s = r.steps[stepKey(e)]
	}
	delete(r.steps, stepKey(e))
	if s.attempt == nil { // it failed between two attempts
		t.beginAttempt(r, s, s.number+1, e.Time)
	}
	outcome := "success"
	if e.Error != nil {
		outcome = "failure"
		setSpanError(s.attempt, e.Error)
		setSpanError(s.span, e.Error)
	}
	s.span.SetAttributes(attribute.String("graphrun.outcome", outcome), attribute.Bool("graphrun.cached", e.Cached))
	s.attempt.End(trace.WithTimestamp(e.Time))
	s.span.End(trace.WithTimestamp(e.Time))
	r.last[e.Node] = s.span.SpanContext()
	about := metric.WithAttributes(attribute.String("graphrun.graph", r.graph), attribute.String("graphrun.node", e.Node), attribute.String("graphrun.outcome", outcome))
	t.steps.Add(context.Background(), 1, about)
	t.took.Record(context.Background(), e.Duration.Seconds(), about)
}

// attemptOf returns the attempt that an event belongs to.
func (r *run) attemptOf(e *runner.Event) trace.SpanContext {
	if s := r.steps[stepKey(e)]; s != nil {
		return s.current()
	}
	return r.parentSpan(placeOf(e))
}

// addModelCall adds the span of a model call by the GenAI conventions, without prompt and answer.
func (t *Telemetry) addModelCall(r *run, e *runner.Event) {
	u := e.Usage
	if u == nil {
		return
	}
	provider, model, named := strings.Cut(u.Model, "/")
	if !named {
		provider, model = "", u.Model
	}
	r.calls++
	about := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", provider), attribute.String("gen_ai.request.model", model),
		attribute.Int("gen_ai.usage.input_tokens", u.InputTokens), attribute.Int("gen_ai.usage.output_tokens", u.OutputTokens),
	}
	if u.CostUSD != nil {
		about = append(about, attribute.Float64("graphrun.cost_usd", *u.CostUSD))
	}
	span := t.startSpan(r, spanID(r.id, "model", placeOf(e), e.Visit, e.Attempt, u.Turn, int(e.Seq)), r.attemptOf(e), "chat "+model, e.Time.Add(-e.Duration), trace.SpanKindClient, nil, about...)
	span.End(trace.WithTimestamp(e.Time))
	for kind, n := range map[string]int{"input": u.InputTokens, "output": u.OutputTokens} { //lint:ignore mapiter each counts by itself
		t.tokens.Record(context.Background(), float64(n), metric.WithAttributes(append(about[:3:3], attribute.String("gen_ai.token.type", kind))...))
	}
	if u.CostUSD != nil {
		t.cost.Add(context.Background(), *u.CostUSD, metric.WithAttributes(about[1:3]...))
	}
}

func (t *Telemetry) addToolCall(r *run, e *runner.Event) {
	if e.Said == nil {
		return
	}
	data, _ := e.Said.Data.(map[string]any)
	about := []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", e.Said.Name)}
	if id, ok := data["id"].(string); ok {
		about = append(about, attribute.String("gen_ai.tool.call.id", id))
	}
	ms, _ := data["duration_ms"].(int)
	began := e.Time.Add(-time.Duration(ms) * time.Millisecond)
	span := t.startSpan(r, spanID(r.id, "tool", placeOf(e), e.Visit, e.Attempt, int(e.Seq)), r.attemptOf(e), "execute_tool "+e.Said.Name, began, trace.SpanKindInternal, nil, about...)
	if bad, _ := data["is_error"].(bool); bad {
		span.SetStatus(codes.Error, "the tool failed")
		span.SetAttributes(attribute.String("error.type", "tool"))
	}
	span.End(trace.WithTimestamp(e.Time))
}

// setSpanError marks a span as failed, with the masked message.
func setSpanError(span trace.Span, f *machine.Failure) {
	if f == nil || span == nil {
		return
	}
	span.SetStatus(codes.Error, f.Message)
	span.SetAttributes(attribute.String("error.type", f.Kind))
}

// emitLog sends a record for the start or end of a run, a question, a retry, a failure or a warning.
func (t *Telemetry) emitLog(r *run, e *runner.Event) {
	severity, body := log.SeverityInfo, ""
	span := r.span.SpanContext()
	switch e.Type {
	case runner.RunStarted:
		body = "run started"
	case runner.RunResumed:
		body = "run resumed"
	case runner.RunPaused, runner.RunFinished:
		severity, body = describeRunEnd(e)
	case runner.NodeRetrying, runner.NodeFailed:
		severity, span = log.SeverityError, r.attemptOf(e)
		body = "node failed"
		if e.Type == runner.NodeRetrying {
			severity, body = log.SeverityWarn, "attempt failed"
		}
		if e.Error != nil {
			body += ": " + e.Error.Message
		}
	case runner.NodeEvent:
		if e.Said == nil || e.Said.Type != "warning" {
			return
		}
		severity, body, span = log.SeverityWarn, e.Said.Message, r.attemptOf(e)
	default:
		return
	}
	about := []attribute.KeyValue{attribute.String("graphrun.run.id", r.id)}
	if r.graph != "" {
		about = append(about, attribute.String("graphrun.graph", r.graph))
	}
	if e.Node != "" {
		about = append(about, attribute.String("graphrun.node", e.Node))
	}
	if e.Error != nil {
		about = append(about, attribute.String("error.type", e.Error.Kind))
	}
	var record log.Record
	record.SetTimestamp(e.Time)
	record.SetObservedTimestamp(e.Time)
	record.SetEventName("graphrun." + string(e.Type))
	record.SetSeverity(severity)
	record.SetBody(attribute.StringValue(body))
	record.AddAttributes(about...)
	t.logger.Emit(trace.ContextWithSpanContext(context.Background(), span), record)
}

// describeRunEnd returns the record of a run that paused or ended.
func describeRunEnd(e *runner.Event) (log.Severity, string) {
	if e.Result == nil {
		return log.SeverityInfo, "run paused"
	}
	severity, body := log.SeverityInfo, "run "+string(e.Result.Status)
	if e.Result.Error != nil {
		severity = log.SeverityError
		body += ": " + e.Result.Error.Message
	}
	var asked []string
	for _, p := range e.Result.Pending {
		asked = append(asked, p.Node)
	}
	if len(asked) > 0 {
		body += ", waiting for " + strings.Join(asked, ", ")
	}
	return severity, body
}
