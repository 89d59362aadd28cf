package app_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

type collector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func (c *collector) named(name string) []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*tracepb.Span
	for _, s := range c.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *tracepb.Span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return out
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var data tracepb.TracesData
	zip, err := gzip.NewReader(r.Body)
	if err == nil {
		var raw []byte
		if raw, err = io.ReadAll(zip); err == nil {
			err = proto.Unmarshal(raw, &data)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range data.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

const (
	traceID    = "0af7651916cd43dd8448eb211c80319c"
	callerSpan = "b7ad6b7169203331"
)

// TestTelemetry: a task submitted within a trace stays in that trace, from the caller over the request and each
// attempt to the worker, and to the case of a permanent failure.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	spans, log := &collector{}, &lockedBuffer{}
	endpoint := httptest.NewServer(spans)
	t.Cleanup(endpoint.Close)
	cfg := config.Default()
	cfg.DB.DSN, cfg.Server.Listen, cfg.Log.Level = "memory:", "127.0.0.1:0", "debug"
	cfg.Telemetry.OTLPEndpoint, cfg.Log.Transitions = endpoint.URL, true
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	nodes, ended := make(chan app.Node, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, &cfg, app.Options{Log: log, Version: "1.2.3", Ready: func(n app.Node) error {
			nodes <- n
			return nil
		}})
	}()
	var node app.Node
	select {
	case node = <-nodes:
	case err := <-ended:
		t.Fatal(err)
	}
	traced := "00-" + traceID + "-" + callerSpan + "-01"
	call(t, ctx, "POST", node.URL+"/v1/tasks", `{"task_type":"mail"}`, traced)
	call(t, ctx, "POST", node.URL+"/v1/tasks", `{"task_type":"pay"}`, traced)
	workedIn := workOnce(t, ctx, node)
	var found []operate.Case
	for len(found) == 0 {
		if err := json.Unmarshal([]byte(call(t, ctx, "GET", node.URL+"/v1/dlq", "", "")), &found); err != nil {
			t.Fatal(err)
		}
	}
	entry := found[0].CaseUUID.String()
	call(t, ctx, "PATCH", node.URL+"/v1/dlq/entry/"+entry,
		`{"resolution_status":"permanently_failed","resolved_by":"ann"}`, "")
	checkMetrics(t, ctx, node)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	checkTrace(t, spans, workedIn)
	for _, want := range []string{"path=/v1/tasks status=201", "msg=\"case opened\" case=" + entry,
		"msg=\"case resolved\" case=" + entry,
		"msg=\"task transition\" task=", "from=in_progress to=complete verb=settle"} {
		if !inOneLine(log.String(), want, "trace_id="+traceID+" span_id=") {
			t.Errorf("no line of the log has %s and the ids of the trace: %s", want, log)
		}
	}
}

func workOnce(t *testing.T, ctx context.Context, node app.Node) string { //nolint:revive // t comes first in a test
	t.Helper()
	var workedIn string
	w := worker.New(node.Client, nil)
	mailed, refused := make(chan struct{}), make(chan struct{})
	w.Handle("mail", func(_ context.Context, job *worker.Job) (any, error) {
		defer close(mailed)
		workedIn = job.TraceParent
		return nil, nil
	})
	w.Handle("pay", func(context.Context, *worker.Job) (any, error) {
		defer close(refused)
		no := false
		return nil, &tasker.Failure{Type: "Declined", Message: "secret", Retryable: &no}
	})
	working, rest := context.WithCancel(ctx)
	rested := make(chan error, 1)
	go func() { rested <- w.Run(working) }()
	within(t, "the mail", mailed)
	within(t, "the payment", refused)
	const settled = `tasker_tasks_settled_total{namespace="default",state="complete",task="mail"} 1`
	for !strings.Contains(call(t, ctx, "GET", node.URL+"/metrics", "", ""), settled) {
		if ctx.Err() != nil {
			t.Fatalf("/metrics never had %s", settled)
		}
	}
	rest()
	if err := <-rested; err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	return workedIn
}

func checkMetrics(t *testing.T, ctx context.Context, node app.Node) { //nolint:revive // t comes first in a test
	t.Helper()
	metrics := call(t, ctx, "GET", node.URL+"/metrics", "", "")
	for _, want := range []string{`tasker_build_info{go_version="go1.`, "tasker_store_up 1", "go_goroutines ",
		"process_resident_memory_bytes ",
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="201",http_route="/v1/tasks"} 2`,
		`tasker_dlq_entries_created_total{dlq_reason="max_retries_exceeded"} 1`,
		`tasker_dlq_time_in_queue_hours_count{dlq_reason="max_retries_exceeded",resolution_status="permanently_failed"} 1`,
		"tasker_dlq_pending_investigations "} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

func checkTrace(t *testing.T, spans *collector, workedIn string) {
	t.Helper()
	requests, mails, pays := spans.named("POST /v1/tasks"), spans.named("attempt mail"), spans.named("attempt pay")
	opened, cases := spans.named("case opened"), spans.named("case")
	if len(requests) != 2 || len(mails) != 1 || len(pays) != 1 || len(opened) != 1 || len(cases) != 1 {
		t.Fatalf("spans are %v", spans.spans)
	}
	for _, s := range spans.spans {
		if hex.EncodeToString(s.TraceId) != traceID {
			t.Errorf("%s is in trace %x", s.Name, s.TraceId)
		}
	}
	for _, r := range requests {
		if hex.EncodeToString(r.ParentSpanId) != callerSpan {
			t.Errorf("a request is below %x", r.ParentSpanId)
		}
	}
	for _, below := range []struct {
		span    *tracepb.Span
		request *tracepb.Span
	}{{mails[0], requests[0]}, {pays[0], requests[1]}, {opened[0], requests[1]}, {cases[0], requests[1]}} {
		if !bytes.Equal(below.span.ParentSpanId, below.request.SpanId) {
			t.Errorf("%s is below %x, want the request of its task, %x", below.span.Name, below.span.ParentSpanId,
				below.request.SpanId)
		}
	}
	if want := "00-" + traceID + "-" + hex.EncodeToString(mails[0].SpanId) + "-01"; workedIn != want {
		t.Errorf("the worker worked in %s, want %s", workedIn, want)
	}
	if pays[0].EndTimeUnixNano > opened[0].StartTimeUnixNano ||
		cases[0].StartTimeUnixNano != opened[0].StartTimeUnixNano ||
		cases[0].EndTimeUnixNano <= cases[0].StartTimeUnixNano {
		t.Errorf("the case began at %d and ended at %d, the attempt ended at %d", cases[0].StartTimeUnixNano,
			cases[0].EndTimeUnixNano, pays[0].EndTimeUnixNano)
	}
	if strings.Contains(fmt.Sprint(spans.spans), "secret") {
		t.Error("a span holds the message of the failure, which may be confidential")
	}
}

func inOneLine(log string, all ...string) bool {
	for line := range strings.Lines(log) {
		if !slices.ContainsFunc(all, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

func call(t *testing.T, ctx context.Context, method, url, body, traceparent string) string { //nolint:revive // t comes first in a test
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if traceparent != "" {
		r.Header.Set("traceparent", traceparent)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s is answered %d %s, %v", method, url, resp.StatusCode, answer, err)
	}
	return string(answer)
}
