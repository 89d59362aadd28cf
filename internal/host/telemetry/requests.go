package telemetry

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// requestMetrics are named by OpenTelemetry's semantic conventions.
type requestMetrics struct {
	duration metric.Float64Histogram
	active   metric.Int64UpDownCounter
	labels   sync.Map // answered to []metric.RecordOption
}

// answered is the label set of a request. Its values are few: a path without a route is "unknown".
type answered struct {
	method, route string
	status        int
}

func newRequestMetrics(b *builder) *requestMetrics {
	return &requestMetrics{
		duration: b.histogram("http.server.request.duration", "s", "Duration of requests, including long polls.",
			requestBounds),
		active: b.level("http.server.active_requests", "{request}", "Requests in progress."),
	}
}

// record caches each label set, because building it costs more than recording. The key has few values, which bounds
// the cache.
func (r *requestMetrics) record(a answered, took time.Duration) {
	options, ok := r.labels.Load(a)
	if !ok {
		options, _ = r.labels.LoadOrStore(a, []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
			attribute.String("http.request.method", a.method), attribute.String("http.route", a.route),
			attribute.Int("http.response.status_code", a.status)))})
	}
	if options, ok := options.([]metric.RecordOption); ok {
		r.duration.Record(context.Background(), took.Seconds(), options...)
	}
}

// known methods have their own label; the others share one, so that clients cannot create series.
var known = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions}

// WatchRequest implements web.Watcher. Serve the request with the returned context, which has its place in a trace;
// traceparent is that place in W3C form for submitted tasks, "" outside a trace. Call done once at the end with the
// route's pattern, "" for none. An invalid traceparent is ignored, as the standard requires.
func (t *Telemetry) WatchRequest(r *http.Request,
) (ctx context.Context, traceparent string, done func(pattern string, status int)) {
	began := time.Now()
	t.requests.active.Add(context.Background(), 1)
	ctx = propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.startServer(ctx, r)
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		traceparent = format(sc)
	}
	return ctx, traceparent, func(pattern string, status int) {
		t.requests.active.Add(context.Background(), -1)
		a := answered{method: r.Method, route: routeOf(pattern), status: status}
		if !slices.Contains(known, a.method) {
			a.method = "_OTHER"
		}
		t.requests.record(a, time.Since(began))
		if span != nil {
			endServer(span, a)
		}
	}
}

// routeOf returns the path of a pattern of http.ServeMux, or "unknown". The request's path contains IDs and is
// never a label.
func routeOf(pattern string) string {
	_, route, ok := strings.Cut(pattern, " ")
	if !ok {
		return unknown
	}
	return route
}

// startServer starts the span of a request, or returns nil. Only changing requests start a trace, because polls and
// probes would start thousands. A request in a trace always gets a span.
func (t *Telemetry) startServer(ctx context.Context, r *http.Request) (context.Context, trace.Span) {
	if t.traces == nil {
		return ctx, nil
	}
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead &&
		(strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, "/api/"))
	if !trace.SpanContextFromContext(ctx).IsValid() && !changes {
		return ctx, nil
	}
	within, span := t.traces.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() && !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil // not sampled
	}
	return within, span
}

// By the semantic conventions only a status from 500 is an error.
func endServer(span trace.Span, a answered) {
	span.SetName(a.method + " " + a.route)
	span.SetAttributes(attribute.String("http.request.method", a.method), attribute.String("http.route", a.route),
		attribute.Int("http.response.status_code", a.status))
	if a.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(a.status))
	}
	span.End()
}
