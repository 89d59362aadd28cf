package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
)

type collector struct {
	mu       sync.Mutex
	refusals int // first requests answered with 503
	status   int // answers all if set
	asked    int
	spans    []*tracepb.Span
	service  string
	path     string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	c.path = r.URL.Path
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	if c.refusals > 0 {
		c.refusals--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	zip, err := gzip.NewReader(r.Body)
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	raw, err := io.ReadAll(zip)
	var data tracepb.TracesData
	if err != nil || proto.Unmarshal(raw, &data) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, resource := range data.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				c.service = a.Value.GetStringValue()
			}
		}
		for _, s := range resource.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

func TestOTLP(t *testing.T) {
	t.Parallel()
	send := func(t *testing.T, c *collector, path string) string {
		t.Helper()
		server := httptest.NewServer(c)
		defer server.Close()
		var log bytes.Buffer
		tel, err := telemetry.New(t.Context(),
			telemetry.Options{OTLPEndpoint: strings.Replace(server.URL, "http://", "http://ann:hunter2@", 1) + path,
				Logger:     slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
				RetryPause: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		tel.Committed(&engine.Commit{At: noon, Opened: []engine.CaseOpened{{Reason: "manual_dlq", Parent: sampled}}})
		if err := tel.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if strings.Contains(log.String(), "hunter2") {
			t.Errorf("the log holds the password: %s", &log)
		}
		return log.String()
	}
	t.Run("Sent", func(t *testing.T) {
		t.Parallel()
		c := &collector{}
		log := send(t, c, "")
		if len(c.spans) != 1 || c.spans[0].Name != "case opened" || c.service != "tasker" || c.path != "/v1/traces" {
			t.Errorf("%s at %s got %v; log: %s", c.service, c.path, c.spans, log)
		}
	})
	t.Run("AtAnotherPath", func(t *testing.T) {
		t.Parallel()
		c := &collector{}
		if send(t, c, "/otlp/in"); c.path != "/otlp/in" {
			t.Errorf("sent to %s", c.path)
		}
	})
	t.Run("Repeated", func(t *testing.T) {
		t.Parallel()
		c := &collector{refusals: 2}
		if log := send(t, c, ""); len(c.spans) != 1 || c.asked != 3 || log != "" {
			t.Errorf("%d spans after %d requests; log: %s", len(c.spans), c.asked, log)
		}
	})
	t.Run("RefusedForGood", func(t *testing.T) {
		t.Parallel()
		c := &collector{status: http.StatusUnauthorized}
		if log := send(t, c, ""); c.asked != 1 || !strings.Contains(log, "spans were lost") ||
			!strings.Contains(log, "401 Unauthorized") {
			t.Errorf("asked %d times; log: %s", c.asked, log)
		}
	})
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://localhost:4318":      "http://localhost:4318/v1/traces",
		"https://otel.example/":      "https://otel.example/v1/traces",
		"https://otel.example/x?a=b": "https://otel.example/x?a=b",
	} {
		if got, err := telemetry.ParseEndpoint(in); err != nil || got.String() != want {
			t.Errorf("%s is %v, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "localhost:4318", "grpc://localhost", "http://", "http://u:hunter2@h:x"} {
		if got, err := telemetry.ParseEndpoint(in); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q is %v, %v", in, got, err)
		}
	}
	if _, err := telemetry.New(t.Context(), telemetry.Options{OTLPEndpoint: "nowhere"}); err == nil {
		t.Error("telemetry starts with an endpoint that is no URL")
	}
}
