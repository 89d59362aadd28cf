package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/taskerhq/tasker/internal/engine"
)

// LogHandler returns a handler that adds trace_id and span_id to records. The trace is that of
// the attribute traceparent (W3C), else that of the context. The attribute itself is removed.
// Records outside a trace pass unchanged.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

// logHandler is the handler of LogHandler.
type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	sc := trace.SpanContextFromContext(ctx)
	r, given := cut(r, "traceparent")
	if _, its, _ := parent(given); its.IsValid() {
		sc = its
	}
	if sc.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// cut removes an attribute of the top level from a record and returns its value, "" if it is
// absent. A record without it is returned as it is, which costs no allocation.
// An attribute that was added to the logger itself, not to the record, is not seen.
func cut(r slog.Record, key string) (slog.Record, string) {
	value := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			value = a.Value.String()
		}
		return value == ""
	})
	if value == "" {
		return r, ""
	}
	rest := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != key {
			rest.AddAttrs(a)
		}
		return true
	})
	return rest, value
}

// logCases logs opened, recurring and resolved cases, each in the trace of its task.
// Cases are few, so each has a line; transitions are logged on request only.
func (t *Telemetry) logCases(c *engine.Commit) {
	opened := func(message string, list []engine.CaseOpened) {
		for i := range list {
			o := &list[i]
			ctx, _, _ := parent(o.Parent)
			t.log.LogAttrs(ctx, slog.LevelInfo, message, slog.String("case", o.CaseID.String()),
				slog.String("task", o.TaskID.String()),
				slog.String("reason", o.Reason), slog.String("cause", string(o.Cause)),
				slog.String("state", string(o.OriginalState)))
		}
	}
	opened("case opened", c.Opened)
	opened("case occurred again", c.Recurred)
	for i := range c.Resolved {
		r := &c.Resolved[i]
		ctx, _, _ := parent(r.Parent)
		t.log.LogAttrs(ctx, slog.LevelInfo, "case resolved", slog.String("case", r.CaseID.String()),
			slog.String("task", r.TaskID.String()),
			slog.String("reason", r.Reason), slog.String("as", r.Status), slog.Duration("open", max(c.At.Sub(r.OpenedAt), 0)))
	}
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
