package handler

import "context"

type traceParent struct{}

// WithTraceParent returns a context for a task whose requests and programs belong to a span
// of a distributed trace. parent is the value of the W3C header traceparent.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	return context.WithValue(ctx, traceParent{}, parent)
}

// TraceParent returns the value of WithTraceParent, or "".
func TraceParent(ctx context.Context) string {
	parent, _ := ctx.Value(traceParent{}).(string)
	return parent
}
