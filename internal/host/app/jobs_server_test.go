package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func onJobStores(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, postgrestest.DSN(t))
	})
}

type jobServer struct {
	t    *testing.T
	url  string
	http *http.Client
	key  string // sent as X-API-Key; "": none
}

func startJobs(t *testing.T, dsn, redis string, set func(*config.Config), queues ...string) *jobServer {
	t.Helper()
	cfg := config.Default()
	cfg.DB.DSN, cfg.Server.Listen = dsn, "127.0.0.1:0"
	for _, q := range queues {
		cfg.Sources = append(cfg.Sources, config.Source{Name: strings.ReplaceAll(strings.TrimPrefix(q, "dlq:"), ":", "-"),
			Driver: "redis-list", URL: redis, Queue: q, MaxReplays: 100})
	}
	if set != nil {
		set(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	up, ended := make(chan app.Node, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, &cfg, app.Options{Ready: func(n app.Node) error {
			up <- n
			return nil
		}})
	}()
	s := &jobServer{t: t, http: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}
	select {
	case n := <-up:
		s.url = n.URL
	case err := <-ended:
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.http.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return s
}

type object map[string]any

func (s *jobServer) call(method, path string) (int, object) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.key != "" {
		r.Header.Set("X-API-Key", s.key)
	}
	resp, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var out object
	if json.Unmarshal(text, &out) != nil {
		out = object{"text": string(text)}
	}
	return resp.StatusCode, out
}

func (s *jobServer) ok(method, path string) object {
	s.t.Helper()
	status, out := s.call(method, path)
	if status != 200 {
		s.t.Fatalf("%s %s: %d %v", method, path, status, out)
	}
	return out
}

func (s *jobServer) with(t *testing.T, key string) *jobServer {
	c := *s
	c.t, c.key = t, key
	return &c
}

func (s *jobServer) jobs(queue string) []object {
	s.t.Helper()
	var out []object
	items, _ := s.ok("GET", "/api/dlq/jobs/"+queue+"?limit=1000")["items"].([]any)
	for _, i := range items {
		job, _ := i.(map[string]any)
		out = append(out, job)
	}
	return out
}

func (o object) has(t *testing.T, want object) {
	t.Helper()
	for name, w := range want {
		if got, ok := o[name]; !ok || got != w {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, w)
		}
	}
}

func (o object) names() []string {
	var out []string
	for name := range o {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

type lists struct {
	t  *testing.T
	on *redistest.Server
}

func (l lists) do(words ...string) any {
	l.t.Helper()
	out, err := redistest.Do(l.on.URL(), words...)
	if err != nil {
		l.t.Fatalf("%s: %v", words[0], err)
	}
	return out
}

func failure(queue, camera, text string) map[string]any {
	return map[string]any{"original_job": map[string]any{"camera_id": camera}, "error": text, "attempt_count": 3,
		"first_failed_at": "2024-01-15T10:30:01.000000", "last_failed_at": "2024-01-15T10:30:15.000000",
		"queue_name": queue, "error_type": "ConnectionError", "stack_trace": nil, "http_status": 503,
		"response_body": nil, "retry_delays": []float64{1, 2.1},
		"context": map[string]any{"detection_queue_depth": 15, "dlq_circuit_breaker_state": "closed"}}
}

func (l lists) cameras(queue string) []string {
	l.t.Helper()
	all, _ := l.do("LRANGE", queue, "0", "-1").([]any)
	var out []string
	for _, text := range all {
		var job struct {
			Camera string `json:"camera_id"`
		}
		if err := json.Unmarshal([]byte(text.(string)), &job); err != nil {
			l.t.Fatal(err)
		}
		out = append(out, job.Camera)
	}
	return out
}

func newKey(name string, may ...access.Permission) (string, access.Key) {
	secret, hash := access.Generate()
	key := access.Key{Name: name, SHA256: hash}
	for _, p := range may {
		key.Permissions = append(key.Permissions, string(p))
	}
	return secret, key
}

func parameter(key string) string { return "?api_key=" + url.QueryEscape(key) }
