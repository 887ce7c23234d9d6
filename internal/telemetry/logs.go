// Logs of runs, each record with its trace and span.

package telemetry

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/graphrun/graphrun/runner"
)

// log sends a record for the start or end of a run, a question, a retry, a failure or a warning.
func (t *Telemetry) log(r *run, e *runner.Event) {
	severity, body := log.SeverityInfo, ""
	span := r.span.SpanContext()
	switch e.Type {
	case runner.RunStarted:
		body = "run started"
	case runner.RunResumed:
		body = "run resumed"
	case runner.RunPaused, runner.RunFinished:
		severity, body = runEnd(e)
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

// runEnd returns the record of a run that paused or ended.
func runEnd(e *runner.Event) (log.Severity, string) {
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
