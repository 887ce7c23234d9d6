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

// FromEnv returns the Telemetry that the environment configures, or nil. It calls warn for
// unsupported settings.
func FromEnv(version string, warn func(string)) (*Telemetry, error) {
	to := map[string]string{}
	for _, kind := range []string{"traces", "metrics", "logs"} {
		if url := endpoint(kind); url != "" {
			to[kind] = url
		}
	}
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || len(to) == 0 {
		return nil, nil
	}
	if protocol := os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/json" {
		warn("OTEL_EXPORTER_OTLP_PROTOCOL is " + protocol + ", and graphrun sends http/json, which receivers of OTLP over HTTP take too")
	}
	about, err := resource.New(context.Background(), resource.WithAttributes(attribute.String("service.name", "graphrun"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Telemetry{open: map[string]*run{}}
	parent := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": os.Getenv("TRACEPARENT")})
	t.parent = trace.SpanContextFromContext(parent)
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(about), sdktrace.WithIDGenerator(identifiers{})}
	if url := to["traces"]; url != "" {
		options = append(options, sdktrace.WithBatcher(&spanExporter{newClient(url)}))
	}
	t.traces = sdktrace.NewTracerProvider(options...)
	t.tracer = t.traces.Tracer("github.com/graphrun/graphrun", trace.WithInstrumentationVersion(version))
	var processors []sdklog.LoggerProviderOption
	if url := to["logs"]; url != "" {
		processors = append(processors, sdklog.WithProcessor(sdklog.NewBatchProcessor(&logExporter{newClient(url)})))
	}
	t.logs = sdklog.NewLoggerProvider(append(processors, sdklog.WithResource(about))...)
	t.logger = t.logs.Logger("github.com/graphrun/graphrun", log.WithInstrumentationVersion(version))
	var readers []sdkmetric.Option
	if url := to["metrics"]; url != "" {
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(&metricExporter{newClient(url)})))
	}
	t.metrics = sdkmetric.NewMeterProvider(append(readers, sdkmetric.WithResource(about))...)
	return t, t.createInstruments(t.metrics.Meter("github.com/graphrun/graphrun", metric.WithInstrumentationVersion(version)))
}

// endpoint returns the address for traces, metrics or logs, or "".
func endpoint(kind string) string {
	own, base := os.Getenv("OTEL_EXPORTER_OTLP_"+strings.ToUpper(kind)+"_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	switch exporter := os.Getenv("OTEL_" + strings.ToUpper(kind) + "_EXPORTER"); {
	case exporter == "none":
		return ""
	case own != "":
		return own
	case base != "":
		return strings.TrimSuffix(base, "/") + "/v1/" + kind
	case exporter == "otlp":
		return "http://localhost:4318/v1/" + kind
	}
	return ""
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

// Kinds wraps node kinds so that programs and requests get the trace context.
func (t *Telemetry) Kinds(kinds []runner.Kind) []runner.Kind {
	if t == nil {
		return kinds
	}
	for i := range kinds {
		inner := kinds[i].Handler
		kinds[i].Handler = runner.HandlerFunc(func(ctx context.Context, task *runner.Task) (any, error) {
			span := spanID(task.RunID, "attempt", task.Place, task.Visit, task.Attempt)
			parent := "00-" + t.traceID(task.RunID).String() + "-" + span.String() + "-01"
			return inner.Run(handler.WithTraceParent(ctx, parent), task)
		})
	}
	return kinds
}

// traceID returns the trace id of TRACEPARENT, or one derived from the run's id.
func (t *Telemetry) traceID(runID string) trace.TraceID {
	if t.parent.IsValid() {
		return t.parent.TraceID()
	}
	sum := sha256.Sum256([]byte("graphrun trace\x00" + runID))
	return trace.TraceID(sum[:16])
}

// spanID derives the id of a span from its parts.
func spanID(runID, what, place string, numbers ...int) trace.SpanID {
	text := runID + "\x00" + what + "\x00" + place
	for _, n := range numbers {
		text += "\x00" + strconv.Itoa(n)
	}
	sum := sha256.Sum256([]byte(text))
	return trace.SpanID(sum[:8])
}

// identifiers takes the ids of spans from their context.
type identifiers struct{}

type idKey struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// NewIDs returns the ids of a span without a parent.
func (identifiers) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	own, _ := ctx.Value(idKey{}).(ids)
	return own.trace, own.span
}

// NewSpanID returns the id of a span with a parent.
func (identifiers) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	own, _ := ctx.Value(idKey{}).(ids)
	return own.span
}
