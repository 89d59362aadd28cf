package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/app"
	"github.com/taskerhq/tasker/internal/config"
)

// collector is an OTLP endpoint that keeps spans by name.
type collector struct {
	mu    sync.Mutex
	spans map[string]*tracepb.Span
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
			for _, s := range scope.Spans {
				c.spans[s.Name] = s
			}
		}
	}
}

// lockedBuffer is a log that is read while it is written.
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

// TestTelemetry drives a whole server: a task submitted within a trace is one
// trace from the caller over the request and the attempt to what the worker does.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	const traceID, callerSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	spans := &collector{spans: map[string]*tracepb.Span{}}
	endpoint := httptest.NewServer(spans)
	t.Cleanup(endpoint.Close)
	cfg := config.Default()
	cfg.DB.DSN, cfg.Server.Listen, cfg.Log.Level = "memory:", "127.0.0.1:0", "debug"
	cfg.Telemetry.OTLPEndpoint = endpoint.URL
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	log := &lockedBuffer{}
	nodes, ended := make(chan app.Node, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, &cfg, app.Options{Log: log, Version: "1.2.3", Ready: func(n app.Node) error { nodes <- n; return nil }})
	}()
	var node app.Node
	select {
	case node = <-nodes:
	case err := <-ended:
		t.Fatal(err)
	}
	call(t, ctx, "POST", node.URL+"/v1/tasks", `{"task_type":"mail"}`, "00-"+traceID+"-"+callerSpan+"-01")

	var workedIn string
	worker := tasker.NewWorker(node.Client, nil)
	worked := make(chan struct{})
	worker.Handle("mail", func(_ context.Context, job *tasker.Job) (any, error) {
		defer close(worked)
		workedIn = job.TraceParent
		return nil, nil
	})
	working, rest := context.WithCancel(ctx)
	rested := make(chan error, 1)
	go func() { rested <- worker.Run(working) }()
	within(t, "the work", worked)
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
	metrics := call(t, ctx, "GET", node.URL+"/metrics", "", "")
	for _, want := range []string{`tasker_build_info{go_version="go1.`, "tasker_store_up 1", "go_goroutines ", "process_resident_memory_bytes ",
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="201",http_route="/v1/tasks"} 1`} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	http.DefaultClient.CloseIdleConnections()

	request, attempt := spans.spans["POST /v1/tasks"], spans.spans["attempt mail"]
	if request == nil || attempt == nil {
		t.Fatalf("spans are %v", spans.spans)
	}
	for name, s := range spans.spans {
		if hex.EncodeToString(s.TraceId) != traceID {
			t.Errorf("%s is in trace %x", name, s.TraceId)
		}
	}
	if hex.EncodeToString(request.ParentSpanId) != callerSpan || !bytes.Equal(attempt.ParentSpanId, request.SpanId) {
		t.Errorf("the request is below %x, the attempt below %x", request.ParentSpanId, attempt.ParentSpanId)
	}
	if want := "00-" + traceID + "-" + hex.EncodeToString(attempt.SpanId) + "-01"; workedIn != want {
		t.Errorf("the worker worked in %s, want %s", workedIn, want)
	}
	if line := "path=/v1/tasks status=201"; !strings.Contains(log.String(), line) || !strings.Contains(log.String(), "trace_id="+traceID+" span_id="+hex.EncodeToString(request.SpanId)) {
		t.Errorf("the log does not show the trace of the request: %s", log)
	}
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
