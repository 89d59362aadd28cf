package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	traceID    = "0af7651916cd43dd8448eb211c80319c"
	callerSpan = "b7ad6b7169203331"
	sampled    = "00-" + traceID + "-" + callerSpan + "-01"
	unsampled  = "00-" + traceID + "-" + callerSpan + "-00"
)

func (r *rig) flushed(e *tracetest.InMemoryExporter) []tracetest.SpanStub {
	return flushed(r.t, r.tel, e)
}

func flushed(t *testing.T, tel *telemetry.Telemetry, e *tracetest.InMemoryExporter) []tracetest.SpanStub {
	t.Helper()
	if err := tel.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return e.GetSpans()
}

func value(s tracetest.SpanStub, key attribute.Key) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

func TestAttemptsAreSpans(t *testing.T) {
	t.Parallel()
	exporter := spans()
	r := newRig(t, telemetry.Options{Exporter: exporter})
	one := 1
	r.submit(engine.Submission{TaskType: "mail", MaxRetries: &one, Meta: task.Meta{TraceParent: sampled}},
		engine.Submission{TaskType: "untraced"})

	began := r.now
	first := r.claim()
	r.now = r.now.Add(time.Second)
	r.settle(first, engine.ResultFailed, &task.Failure{Type: "Refused", Message: "secret", Retryable: true})
	r.settle(r.claim(), engine.ResultCompleted, nil) // untraced
	r.now = r.now.Add(time.Hour)
	_, err := r.FireTimers(t.Context(), 10)
	r.must(err)
	second := r.claim()
	r.settle(second, engine.ResultCompleted, nil)

	got := r.flushed(exporter)
	if len(got) != 2 {
		t.Fatalf("%d spans, want one per attempt of the traced task: %v", len(got), got)
	}
	for i, l := range []engine.Lease{first, second} {
		s := got[i]
		if s.Name != "attempt mail" || s.SpanContext.TraceID().String() != traceID ||
			s.Parent.SpanID().String() != callerSpan {
			t.Errorf("span %d is %s in %s below %s", i, s.Name, s.SpanContext.TraceID(), s.Parent.SpanID())
		}
		// what the worker received long before the span was made
		if want := "00-" + traceID + "-" + s.SpanContext.SpanID().String() + "-01"; l.TraceParent != want {
			t.Errorf("worker %d works in %s, its attempt is the span %s", i, l.TraceParent, want)
		}
		if value(s, "tasker.task.id") != l.Task.ID.String() || value(s, "tasker.step.id") != l.Step.ID.String() ||
			value(s, "tasker.handler") != "mail" {
			t.Errorf("span %d says %v", i, s.Attributes)
		}
	}
	if f := got[0]; !f.StartTime.Equal(began) || f.EndTime.Sub(f.StartTime) != time.Second ||
		f.Status.Code != codes.Error ||
		value(f, "error.type") != "Refused" || value(f, "tasker.attempt.outcome") != "failed" {
		t.Errorf("the failed attempt is %s to %s, %v, %v", f.StartTime, f.EndTime, f.Status, f.Attributes)
	}
	for _, a := range append(got[0].Attributes, attribute.String("status", got[0].Status.Description)) {
		if strings.Contains(a.Value.String(), "secret") {
			t.Errorf("%s holds the message of the failure, which may be confidential", a.Key)
		}
	}
	if s := got[1]; len(s.Links) != 1 || s.Links[0].SpanContext.SpanID() != got[0].SpanContext.SpanID() ||
		value(s, "tasker.attempt.number") != "2" {
		t.Errorf("the second attempt is linked to %v, number %s", s.Links, value(s, "tasker.attempt.number"))
	}
}

func TestTraceContextOfWorkers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, parent string
		spans, same  bool
	}{
		{"SpansAreSent", sampled, true, false},
		{"NobodyTakesSpans", sampled, false, true}, // an unseen parent would be a hole in the trace
		{"NotSampled", unsampled, true, true},
		{"None", "", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := telemetry.Options{}
			if tt.spans {
				opts.Exporter = spans()
			}
			r := newRig(t, opts)
			r.submit(engine.Submission{TaskType: "mail", Meta: task.Meta{TraceParent: tt.parent}})
			if got := r.claim().TraceParent; (got == tt.parent) != tt.same {
				t.Errorf("the worker works in %q, the task was submitted in %q", got, tt.parent)
			}
		})
	}
}

func TestCasesAreSpans(t *testing.T) {
	t.Parallel()
	exporter := spans()
	tel := open(t, telemetry.Options{Exporter: exporter})
	tel.Committed(
		&engine.Commit{At: noon,
			Opened: []engine.CaseOpened{{Reason: "manual_dlq", OriginalState: task.WaitingForRetry, Parent: sampled},
				{Reason: "manual_dlq"}}})
	tel.Committed(&engine.Commit{At: noon.Add(time.Hour),
		Resolved: []engine.CaseResolved{{Reason: "manual_dlq", Status: "manually_resolved", OpenedAt: noon,
			Parent: sampled}}})
	got := flushed(t, tel, exporter)
	if len(got) != 2 {
		t.Fatalf("%d spans, want 2: %v", len(got), got)
	}
	for _, s := range got {
		if s.SpanContext.TraceID().String() != traceID || s.Parent.SpanID().String() != callerSpan ||
			value(s, "tasker.case.reason") != "manual_dlq" {
			t.Errorf("span %s is in %s below %s: %v", s.Name, s.SpanContext.TraceID(), s.Parent.SpanID(), s.Attributes)
		}
	}
	if s := got[1]; s.Name != "case" || s.EndTime.Sub(s.StartTime) != time.Hour ||
		value(s, "tasker.case.resolution_status") != "manually_resolved" {
		t.Errorf("the case is %s of %s, %v", s.Name, s.EndTime.Sub(s.StartTime), s.Attributes)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	request := func(tel *telemetry.Telemetry, method, path, traceparent, pattern string, status int) string {
		r := httptest.NewRequest(method, path, nil)
		if traceparent != "" {
			r.Header.Set("traceparent", traceparent)
		}
		ctx, stored, done := tel.WatchRequest(r)
		var line bytes.Buffer
		slog.New(telemetry.LogHandler(slog.NewTextHandler(&line, nil))).InfoContext(ctx, "request")
		if has := strings.Contains(line.String(), "trace_id=") &&
			strings.Contains(line.String(), "span_id="); has != (stored != "") {
			t.Errorf("%s in %q is logged as %s", path, traceparent, line.String())
		}
		done(pattern, status)
		return stored
	}
	t.Run("Metrics", func(t *testing.T) {
		t.Parallel()
		tel := open(t, telemetry.Options{})
		request(tel, "POST", "/v1/tasks", "", "POST /v1/tasks", 201)
		request(tel, "GET", "/v1/tasks/1", "", "GET /v1/tasks/{uuid}", 404)
		request(tel, "BREW", "/coffee", "", "/", 405)
		request(tel, "MIX", "/tea", "", "/", 405)
		scrape(t, tel).want(t, map[string]string{
			`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="201",http_route="/v1/tasks"}`:       "1",
			`http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="404",http_route="/v1/tasks/{uuid}"}`: "1",
			`http_server_request_duration_seconds_count{http_request_method="_OTHER",http_response_status_code="405",http_route="unknown"}`:       "2",
			"http_server_active_requests": "0",
		})
	})
	t.Run("SpanInTheCallersTrace", func(t *testing.T) {
		t.Parallel()
		exporter := spans()
		tel := open(t, telemetry.Options{Exporter: exporter})
		stored := request(tel, "POST", "/v1/tasks", sampled, "POST /v1/tasks", 503)
		got := flushed(t, tel, exporter)
		if len(got) != 1 || got[0].Name != "POST /v1/tasks" || got[0].Parent.SpanID().String() != callerSpan ||
			got[0].Status.Code != codes.Error {
			t.Fatalf("spans are %v", got)
		}
		if want := "00-" + traceID + "-" + got[0].SpanContext.SpanID().String() + "-01"; stored != want {
			t.Errorf("tasks are submitted in %s, want below the request's span, %s", stored, want)
		}
	})
	t.Run("PassedOnWithoutSpans", func(t *testing.T) {
		t.Parallel()
		if got := request(open(t, telemetry.Options{}), "POST", "/v1/tasks", sampled, "POST /v1/tasks", 201); got != sampled {
			t.Errorf("tasks are submitted in %q, want the caller's %s", got, sampled)
		}
	})
	t.Run("NonsenseIsIgnored", func(t *testing.T) {
		t.Parallel()
		if got := request(open(t, telemetry.Options{}), "POST", "/v1/tasks", "00-nonsense", "POST /v1/tasks",
			201); got != "" {
			t.Errorf("tasks are submitted in %q", got)
		}
	})
	t.Run("OwnTracesOfEachFamily", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/api/v1/tasks", "/api/v1/tasks/batch", "/api/v1/executions"} {
			tel := open(t, telemetry.Options{Exporter: spans(), SampleRatio: 1})
			if stored := request(tel, "POST", path, "", "POST "+path, 201); stored == "" {
				t.Errorf("%s begins no trace", path)
			}
		}
	})
	t.Run("OwnTraces", func(t *testing.T) {
		t.Parallel()
		for ratio, want := range map[float64]int{0: 0, 1: 1} {
			exporter := spans()
			tel := open(t, telemetry.Options{Exporter: exporter, SampleRatio: ratio})
			stored := request(tel, "POST", "/v1/tasks", "", "POST /v1/tasks", 201)
			request(tel, "POST", "/internal/workers/1/poll", "", "POST /internal/workers/{id}/poll", 200)
			request(tel, "GET", "/v1/tasks", "", "GET /v1/tasks", 200)
			if got := flushed(t, tel, exporter); len(got) != want || (stored != "") != (want == 1) {
				t.Errorf("with ratio %v there are %d spans, and %q is stored; want %d, for the submission alone", ratio, len(got),
					stored, want)
			}
		}
	})
}
