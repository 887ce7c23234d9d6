package handler

import "context"

type traceParent struct{}

// WithTraceParent returns a context with the W3C traceparent of a task's span.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	return context.WithValue(ctx, traceParent{}, parent)
}

// TraceParent returns the value of WithTraceParent, or "".
func TraceParent(ctx context.Context) string {
	parent, _ := ctx.Value(traceParent{}).(string)
	return parent
}
