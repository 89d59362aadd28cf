package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/taskerhq/tasker/internal/engine"
)

// LogHandler adds trace_id and span_id to records. The trace is that of the attribute traceparent (W3C), which is
// removed, else that of the context. Records outside a trace pass unchanged.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

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

// cut removes an attribute from a record and returns its value, "" if absent. An unchanged record costs no
// allocation. Attributes of the logger itself are not seen.
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
func (t *Telemetry) logCases(c *engine.Commit) {
	opened := func(message string, list []engine.CaseOpened) {
		for i := range list {
			o := &list[i]
			ctx, _, _ := parent(o.Parent)
			t.log.LogAttrs(ctx, slog.LevelInfo, message, slog.String("case", o.CaseID.String()),
				slog.String("task", o.TaskID.String()), slog.String("reason", o.Reason), slog.String("cause", string(o.Cause)),
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

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
