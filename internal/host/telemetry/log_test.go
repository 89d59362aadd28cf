package telemetry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

func newLog() (*slog.Logger, *bytes.Buffer) {
	var lines bytes.Buffer
	opts := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "case" || a.Key == "task" {
			return slog.Attr{}
		}
		return a
	}}
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(&lines, opts))), &lines
}

const ids = " trace_id=" + traceID + " span_id=" + callerSpan

// TestCasesAreLogged: the log of a case names its trace.
func TestCasesAreLogged(t *testing.T) {
	t.Parallel()
	log, lines := newLog()
	r := newRig(t, telemetry.Options{Logger: log})
	r.submit(engine.Submission{TaskType: "mail", Meta: task.Meta{TraceParent: sampled}},
		engine.Submission{TaskType: "mail"})
	for range 2 {
		l := r.claim()
		r.settle(l, engine.ResultFailed, &task.Failure{Message: "secret"})
		r.now = r.now.Add(time.Minute)
		c, err := r.CaseOfTask(t.Context(), l.Task.ID)
		r.must(err)
		_, err = r.UpdateCase(t.Context(), c.ID, task.CaseChange{Status: task.CaseCancelled, Actor: "ann"})
		r.must(err)
	}
	const opened, resolved = `level=INFO msg="case opened" reason=max_retries_exceeded cause=not_retryable state=steps_in_process`,
		`level=INFO msg="case resolved" reason=max_retries_exceeded as=cancelled open=1m0s`
	want := opened + ids + "\n" + resolved + ids + "\n" + opened + "\n" + resolved + "\n"
	if lines.String() != want {
		t.Errorf("the log is\n%swant\n%s", lines, want)
	}
}

func TestLogHandler(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []any
		want string
	}{
		"None":       {[]any{"a", 1}, " a=1"},
		"Attribute":  {[]any{"a", 1, "traceparent", sampled, "b", 2}, " a=1 b=2" + ids},
		"NotSampled": {[]any{"traceparent", unsampled}, ids},
		"Nonsense":   {[]any{"traceparent", "nonsense", "a", 1}, " a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, lines := newLog()
			log.With("loop", "x").Info("said", tt.args...)
			if got, want := strings.TrimSpace(lines.String()), "level=INFO msg=said loop=x"+tt.want; got != want {
				t.Errorf("the line is %s, want %s", got, want)
			}
		})
	}
}
