package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// traces makes spans after the fact. An attempt outlives the request that claimed it, and perhaps the process, so
// the settling process makes its span. The worker needs the span's ID long before, so it is derived from step and
// token (see attemptSpan).
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// newTraces returns nil without an exporter and an endpoint.
func newTraces(ctx context.Context, opts Options, res *resource.Resource) (*traces, error) {
	exporter := opts.Exporter
	if exporter == nil {
		if opts.OTLPEndpoint == "" {
			return nil, nil
		}
		client, err := newSender(opts.OTLPEndpoint, cmp.Or(opts.RetryPause, time.Second))
		if err != nil {
			return nil, err
		}
		if exporter, err = otlptrace.New(ctx, client); err != nil {
			return nil, fmt.Errorf("start OTLP exporter: %w", err)
		}
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&reporting{SpanExporter: exporter, log: opts.Logger}),
		sdktrace.WithResource(res),
		sdktrace.WithIDGenerator(idSource{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(opts.SampleRatio))))
	return &traces{provider: provider, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(opts.Version))}, nil
}

func (t *traces) close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// reporting logs unsent spans. The SDK would write to standard error.
type reporting struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		r.log.Warn("spans were lost", slog.Int("spans", len(spans)), slog.Any("error", err))
	}
	return nil
}

// parent parses a submission's trace context and returns a context below it, the span context, and whether the
// trace is sampled. Invalid text is not sampled.
func parent(traceparent string) (context.Context, trace.SpanContext, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	sc := trace.SpanContextFromContext(ctx)
	return ctx, sc, sc.IsSampled()
}

func (t *traces) add(c *engine.Commit) {
	for i := range c.Ended {
		if traced := c.Ended[i].Traced; traced != nil {
			t.attempt(traced, c.Names)
		}
	}
	for i := range c.Opened {
		t.opened(&c.Opened[i], c.At)
	}
	for i := range c.Resolved {
		t.resolved(&c.Resolved[i], c.At)
	}
}

// attempt makes the span of an ended attempt below the submission's span. A retry links to the previous attempt.
func (t *traces) attempt(a *engine.TracedAttempt, names engine.Names) {
	ctx, sc, sampled := parent(a.Parent)
	if !sampled {
		return
	}
	title, attributes := "attempt", []attribute.KeyValue{
		attribute.String("tasker.task.id", a.TaskID.String()), attribute.String("tasker.step.id", a.StepID.String()),
		attribute.Int("tasker.attempt.number", a.Number), attribute.String("tasker.attempt.outcome", string(a.Outcome)),
		attribute.String("tasker.step.state", string(a.After)), attribute.Int64("tasker.worker.number", a.WorkerNo)}
	if d := names.NamesOfTemplate(a.DefID); d != nil && a.Ordinal >= 1 && a.Ordinal <= len(d.Steps) {
		step := d.Steps[a.Ordinal-1]
		title = "attempt " + step.Name
		attributes = append(attributes, attribute.String("tasker.namespace", d.Namespace),
			attribute.String("tasker.task.name", d.Name),
			attribute.String("tasker.step.name", step.Name), attribute.String("tasker.handler", step.Handler))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...),
		trace.WithTimestamp(cmp.Or(a.StartedAt, a.AssignedAt, a.ReadyAt, a.FinishedAt).Time())}
	if a.Token > 1 {
		before := sc.WithSpanID(attemptSpan(a.StepID, a.Token-1))
		options = append(options, trace.WithLinks(trace.Link{SpanContext: before}))
	}
	if a.Token > 0 {
		ctx = withSpanID(ctx, attemptSpan(a.StepID, a.Token))
	}
	_, span := t.tracer.Start(ctx, title, options...)
	if a.Failure != nil {
		// The message may contain data that a trace must not have. The step's history has it.
		kind := cmp.Or(a.Failure.Type, a.Failure.Code, string(a.Outcome))
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, kind)
	}
	span.End(trace.WithTimestamp(a.FinishedAt.Time()))
}

// opened marks the opening of a case by a span without a duration; the case's own span is made at its resolution,
// perhaps days later.
func (t *traces) opened(o *engine.CaseOpened, at task.Instant) {
	t.investigation(o.Parent, "case opened", at, at, withCase(o.CaseID, o.TaskID, o.Reason,
		attribute.String("tasker.task.state", string(o.OriginalState)))...)
}

func (t *traces) resolved(r *engine.CaseResolved, at task.Instant) {
	t.investigation(r.Parent, "case", r.OpenedAt, at, withCase(r.CaseID, r.TaskID, r.Reason,
		attribute.String("tasker.case.resolution_status", r.Status))...)
}

func (t *traces) investigation(traceparent, title string, from, to task.Instant, attributes ...attribute.KeyValue) {
	ctx, _, sampled := parent(traceparent)
	if !sampled {
		return
	}
	_, span := t.tracer.Start(ctx, title, trace.WithTimestamp(from.Time()), trace.WithAttributes(attributes...))
	span.End(trace.WithTimestamp(to.Time()))
}

func withCase(id, of task.ID, reason string, more attribute.KeyValue) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("tasker.case.id", id.String()),
		attribute.String("tasker.task.id", of.String()),
		attribute.String("tasker.case.reason", reason), more}
}

// AttemptTrace implements engine.Observer: it returns the worker's trace context, whose parent is the attempt's
// span. Without spans it passes on the caller's.
func (t *Telemetry) AttemptTrace(traceparent string, step task.ID, token int64) string {
	_, sc, sampled := parent(traceparent)
	if t.traces == nil || !sampled {
		return traceparent
	}
	return format(sc.WithSpanID(attemptSpan(step, token)))
}

func format(sc trace.SpanContext) string {
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
}

// attemptSpan derives a span's ID from step and lease token, so that every process computes the same one.
func attemptSpan(step task.ID, token int64) trace.SpanID {
	h := fnv.New64a()
	_, _ = h.Write(step[:]) // a hash never fails
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(token)))
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], max(h.Sum64(), 1)) // 0 is no ID
	return id
}

type spanIDKey struct{}

func withSpanID(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, spanIDKey{}, id)
}

// idSource makes random IDs, except for a span whose ID the context sets.
type idSource struct{}

func (s idSource) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails: it crashes the program instead
	return id, s.NewSpanID(ctx, id)
}

func (idSource) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(spanIDKey{}).(trace.SpanID); ok {
		return id
	}
	var id trace.SpanID
	_, _ = rand.Read(id[:])
	return id
}
