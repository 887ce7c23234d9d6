// Package telemetry exports runs to OpenTelemetry: a trace per run, metrics and logs. It is on if
// the standard variables name a receiver (OTEL_EXPORTER_OTLP_ENDPOINT).
//
// Trace and span ids derive from the run's id, so that a resume in another process continues the
// same trace.
package telemetry

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphrun/graphrun/runner"
	"github.com/graphrun/graphrun/runner/handler"
)

// Telemetry is a sink of the events of all runs of a process.
type Telemetry struct {
	tracer  trace.Tracer
	traces  *sdktrace.TracerProvider
	metrics *sdkmetric.MeterProvider
	logs    *sdklog.LoggerProvider
	logger  log.Logger
	// parent is the parent span of all runs, from TRACEPARENT.
	parent trace.SpanContext

	runs, steps  metric.Int64Counter
	took, tokens metric.Float64Histogram
	cost         metric.Float64Counter
	mu           sync.Mutex
	open         map[string]*run
}

// scopeName names the instrumentation.
const scopeName = "github.com/graphrun/graphrun"

// FromEnv returns the Telemetry that the environment configures, or nil. It calls warn for
// unsupported settings.
func FromEnv(version string, warn func(string)) (*Telemetry, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || endpoint("traces")+endpoint("metrics")+endpoint("logs") == "" {
		return nil, nil
	}
	if protocol := os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/json" {
		warn("OTEL_EXPORTER_OTLP_PROTOCOL is " + protocol + ", and graphrun sends http/json, which receivers of OTLP over HTTP take too")
	}
	ctx := context.Background()
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "graphrun"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	spans, measures, records := &spanExporter{newClient("traces", version, res)}, &metricExporter{newClient("metrics", version, res)}, &logExporter{newClient("logs", version, res)}
	t := &Telemetry{
		traces:  sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithIDGenerator(identifiers{}), sdktrace.WithBatcher(spans)),
		metrics: sdkmetric.NewMeterProvider(sdkmetric.WithResource(res), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(measures))),
		logs:    sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(sdklog.NewBatchProcessor(records))),
		parent:  trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": os.Getenv("TRACEPARENT")})),
		open:    map[string]*run{},
	}
	t.tracer = t.traces.Tracer(scopeName, trace.WithInstrumentationVersion(version))
	t.logger = t.logs.Logger(scopeName, log.WithInstrumentationVersion(version))
	return t, t.createInstruments(t.metrics.Meter(scopeName, metric.WithInstrumentationVersion(version)))
}

func (t *Telemetry) createInstruments(m metric.Meter) error {
	var err [5]error
	t.runs, err[0] = m.Int64Counter("graphrun.runs", metric.WithDescription("Runs that ended or paused"), metric.WithUnit("{run}"))
	t.steps, err[1] = m.Int64Counter("graphrun.steps", metric.WithDescription("Steps that ended"), metric.WithUnit("{step}"))
	t.took, err[2] = m.Float64Histogram("graphrun.step.duration", metric.WithDescription("How long steps took"), metric.WithUnit("s"))
	t.tokens, err[3] = m.Float64Histogram("gen_ai.client.token.usage", metric.WithDescription("Tokens of model calls"), metric.WithUnit("{token}"))
	t.cost, err[4] = m.Float64Counter("graphrun.cost", metric.WithDescription("Cost of model calls"), metric.WithUnit("USD"))
	return errors.Join(err[:]...)
}

// Close sends pending data. It waits for at most five seconds.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	return errors.Join(t.traces.Shutdown(ctx), t.metrics.Shutdown(ctx), t.logs.Shutdown(ctx))
}

// WrapKinds wraps node kinds so that programs and requests get the trace context.
func (t *Telemetry) WrapKinds(kinds []runner.Kind) []runner.Kind {
	if t == nil {
		return kinds
	}
	for i := range kinds {
		inner := kinds[i].Handler
		kinds[i].Handler = runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			span := t.newSpanContext(task.RunID, "attempt", task.Place, task.Visit, task.Attempt)
			parent := fmt.Sprintf("00-%s-%s-01", span.TraceID(), span.SpanID())
			return inner.Run(handler.WithTraceParent(ctx, parent), task)
		})
	}
	return kinds
}

// newSpanContext returns the ids of a span of a run. The span's id derives from the arguments, the
// trace's id from the run's unless TRACEPARENT gives one.
func (t *Telemetry) newSpanContext(runID, what, place string, numbers ...int) trace.SpanContext {
	text := runID + "\x00" + what + "\x00" + place
	for _, n := range numbers {
		text += "\x00" + strconv.Itoa(n)
	}
	span, whole := sha256.Sum256([]byte(text)), sha256.Sum256([]byte("graphrun trace\x00"+runID))
	ids := trace.SpanContextConfig{TraceID: trace.TraceID(whole[:16]), SpanID: trace.SpanID(span[:8]), TraceFlags: trace.FlagsSampled, Remote: true}
	if t.parent.IsValid() {
		ids.TraceID = t.parent.TraceID()
	}
	return trace.NewSpanContext(ids)
}

// identifiers takes the ids of spans from their context.
type identifiers struct{}

type idKey struct{}

// NewIDs returns the ids of a span without a parent.
func (identifiers) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	own, _ := ctx.Value(idKey{}).(trace.SpanContext)
	return own.TraceID(), own.SpanID()
}

// NewSpanID returns the id of a span with a parent.
func (g identifiers) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}
