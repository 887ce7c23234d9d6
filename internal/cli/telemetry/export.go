// OTLP over HTTP in JSON. The SDK's exporters would add protocol buffers and gRPC, 11 MB.
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding

package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type object = map[string]any

// client posts the data of one process to one address. Without an address it does nothing.
type client struct {
	url             string
	headers         map[string]string
	http            *http.Client
	resource, scope object
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

func newClient(kind, version string, res *resource.Resource) *client {
	c := &client{
		url: endpoint(kind), headers: map[string]string{}, http: &http.Client{Timeout: 10 * time.Second},
		resource: object{"attributes": convertAttributes(res.Attributes())}, scope: object{"name": scopeName, "version": version},
	}
	if ms, err := strconv.Atoi(os.Getenv("OTEL_EXPORTER_OTLP_TIMEOUT")); err == nil && ms > 0 {
		c.http.Timeout = time.Duration(ms) * time.Millisecond
	}
	for pair := range strings.SplitSeq(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			c.headers[strings.TrimSpace(name)] = plain
		}
	}
	return c
}

// post sends a list, whose name is key. kind is Spans, Metrics or Logs.
func (c *client) post(ctx context.Context, kind, key string, list []object) error {
	if len(list) == 0 || c.url == "" {
		return nil
	}
	scopes := []object{{"scope": c.scope, key: list}}
	data, err := json.Marshal(object{"resource" + kind: []object{{"resource": c.resource, "scope" + kind: scopes}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range c.headers { //lint:ignore mapiter each is set once
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if err != nil || resp.StatusCode < 300 {
		return err
	}
	return fmt.Errorf("%s answers %s: %s", c.url, resp.Status, body)
}

// ForceFlush does nothing.
func (c *client) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing.
func (c *client) Shutdown(context.Context) error { return nil }

type spanExporter struct{ *client }

// ExportSpans sends ended spans.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	var list []object
	for _, s := range spans {
		out := object{
			"traceId": s.SpanContext().TraceID().String(), "spanId": s.SpanContext().SpanID().String(), "name": s.Name(), "kind": int(s.SpanKind()),
			"startTimeUnixNano": formatNanos(s.StartTime()), "endTimeUnixNano": formatNanos(s.EndTime()), "attributes": convertAttributes(s.Attributes()),
		}
		if s.Parent().IsValid() {
			out["parentSpanId"] = s.Parent().SpanID().String()
		}
		var links []object
		for _, l := range s.Links() {
			links = append(links, object{"traceId": l.SpanContext.TraceID().String(), "spanId": l.SpanContext.SpanID().String()})
		}
		if len(links) > 0 {
			out["links"] = links
		}
		if s.Status().Code == codes.Error {
			out["status"] = object{"code": 2, "message": s.Status().Description}
		}
		list = append(list, out)
	}
	return e.post(ctx, "Spans", "spans", list)
}

type metricExporter struct{ *client }

// Temporality returns cumulative, which receivers expect by default.
func (e *metricExporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation returns the SDK's default.
func (e *metricExporter) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

// Export sends the state of all metrics.
func (e *metricExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	var list []object
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			metric := object{"name": m.Name, "description": m.Description, "unit": m.Unit}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				metric["sum"] = convertSum(d)
			case metricdata.Sum[float64]:
				metric["sum"] = convertSum(d)
			case metricdata.Histogram[float64]:
				metric["histogram"] = convertHistogram(d)
			}
			list = append(list, metric)
		}
	}
	return e.post(ctx, "Metrics", "metrics", list)
}

// cumulative is OTLP's number for metricdata.CumulativeTemporality.
const cumulative = 2

// convertSum and the functions below write 64-bit numbers as text, as OTLP requires.
func convertSum[N int64 | float64](d metricdata.Sum[N]) object {
	var points []object
	for _, p := range d.DataPoints {
		value := object{"asDouble": p.Value}
		if n, isInt := any(p.Value).(int64); isInt {
			value = object{"asInt": strconv.FormatInt(n, 10)}
		}
		points = append(points, convertPoint(p.Attributes, p.StartTime, p.Time, value))
	}
	return object{"dataPoints": points, "aggregationTemporality": cumulative, "isMonotonic": d.IsMonotonic}
}

func convertHistogram(d metricdata.Histogram[float64]) object {
	var points []object
	for _, p := range d.DataPoints {
		counts := make([]string, len(p.BucketCounts))
		for i, n := range p.BucketCounts {
			counts[i] = strconv.FormatUint(n, 10)
		}
		points = append(points, convertPoint(p.Attributes, p.StartTime, p.Time, object{
			"count": strconv.FormatUint(p.Count, 10), "sum": p.Sum, "bucketCounts": counts, "explicitBounds": p.Bounds,
		}))
	}
	return object{"dataPoints": points, "aggregationTemporality": cumulative}
}

type logExporter struct{ *client }

// Export sends log records.
func (e *logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	var list []object
	for _, r := range records {
		var attrs []attribute.KeyValue
		r.WalkAttributes(func(a attribute.KeyValue) bool {
			attrs = append(attrs, a)
			return true
		})
		list = append(list, object{
			"timeUnixNano": formatNanos(r.Timestamp()), "observedTimeUnixNano": formatNanos(r.ObservedTimestamp()), "eventName": r.EventName(),
			"severityNumber": int(r.Severity()), "severityText": r.Severity().String(), "body": object{"stringValue": r.Body().AsString()},
			"attributes": convertAttributes(attrs), "traceId": r.TraceID().String(), "spanId": r.SpanID().String(), "flags": 1,
		})
	}
	return e.post(ctx, "Logs", "logRecords", list)
}

// convertPoint adds the attributes and times of a measurement to its value.
func convertPoint(attrs attribute.Set, start, end time.Time, value object) object {
	value["attributes"], value["startTimeUnixNano"], value["timeUnixNano"] = convertAttributes(attrs.ToSlice()), formatNanos(start), formatNanos(end)
	return value
}

func formatNanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func convertAttributes(list []attribute.KeyValue) []object {
	out := []object{}
	for _, a := range list {
		value := object{"stringValue": a.Value.String()}
		switch a.Value.Type() {
		case attribute.INT64:
			value = object{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		case attribute.FLOAT64:
			value = object{"doubleValue": a.Value.AsFloat64()}
		case attribute.BOOL:
			value = object{"boolValue": a.Value.AsBool()}
		}
		out = append(out, object{"key": string(a.Key), "value": value})
	}
	return out
}
