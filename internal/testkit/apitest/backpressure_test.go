package apitest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
)

func (s *server) refusedBy(t *testing.T, body string, status int, code tasker.Code) int {
	t.Helper()
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+"/api/v1/tasks", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p web.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != status || p.Code != code {
		t.Fatalf("%s is answered %d %+v, %v; want %d %s", body, resp.StatusCode, p, err, status, code)
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
	}
	return seconds
}

// TestBackpressureOverHTTP: a full queue is 429 with a retry time, until it has room.
func TestBackpressureOverHTTP(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		s := serve(t, dsn,
			node.Options{
				Engine: settings.Config{Backpressure: settings.Backpressure{Soft: 2, HighOnly: 3, AllowListOnly: 4,
					AllowList: []string{"vip"}}}})
		put := func(body string) { t.Helper(); s.must(t, "POST", "/api/v1/tasks", body, nil) }
		put(`{"task_type":"job"}`)
		put(`{"task_type":"job"}`)
		s.refusedBy(t, `{"task_type":"job","priority":"low"}`, 429, tasker.CodeExhausted)
		put(`{"task_type":"job","priority":60}`)
		s.refusedBy(t, `{"task_type":"job","priority":60}`, 429, tasker.CodeExhausted)
		put(`{"task_type":"job","priority":"high"}`)
		s.refusedBy(t, `{"task_type":"job","priority":"high"}`, 429, tasker.CodeExhausted)
		put(`{"task_type":"vip","priority":"low"}`)
		s.must(t, "POST", "/v1/tasks", `{"task_type":"job"}`, nil) // has no tiers by default
		stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
		if b := stats.Backpressure; err != nil || b.State != "allow_list_only" || b.Scope != "queue" ||
			b.Refused["soft"] != 1 || b.Refused["high_only"] != 1 || b.Refused["allow_list_only"] != 1 {
			t.Errorf("the numbers are %+v, %v", b, err)
		}
		_, far := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "job"})
		if e, ok := far.(*tasker.Error); !ok || e.Code != tasker.CodeExhausted || e.RetryAfter < time.Second {
			t.Errorf("the SDK says %#v", far)
		}
		s.work(t, map[string]worker.Handler{"job": nothing, "vip": nothing})
		await.Until(t, "there is room again", func() bool {
			_, err := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "job", Priority: tasker.Low})
			return err == nil
		})
	})
}

func nothing(context.Context, *worker.Job) (any, error) { return nil, nil }

// TestUserLimitsOverHTTP: only the user over the limit is refused, with a retry time.
func TestUserLimitsOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"),
		node.Options{Engine: settings.Config{Backpressure: settings.Backpressure{UserBurst: 2, UserSustained: 3}}})
	for range 2 {
		s.must(t, "POST", "/api/v1/tasks", `{"task_type":"job","user_id":"ann"}`, nil)
	}
	if seconds := s.refusedBy(t, `{"task_type":"job","user_id":"ann"}`, 429, tasker.CodeExhausted); seconds > 61 {
		t.Errorf("ann is to come back in %d s", seconds)
	}
	s.must(t, "POST", "/api/v1/tasks", `{"task_type":"job","user_id":"bob"}`, nil)
	_, err := s.EnqueueTasks(s.ctx,
		queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "job", UserID: "eve"},
			{TaskType: "job", UserID: "eve"}, {TaskType: "job", UserID: "eve"}}})
	if tasker.ErrorCode(err) != tasker.CodeTooLarge {
		t.Errorf("a batch over the limit is answered %v", err)
	}
}

func TestPayloadLimitOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"),
		node.Options{Engine: settings.Config{Limits: settings.Limits{PayloadBytes: 1 << 20}}})
	body := func(n int) string { return `{"task_type":"job","parameters":"` + strings.Repeat("x", n-2) + `"}` }
	s.must(t, "POST", "/api/v1/tasks", body(1<<20), nil)
	if status, text := s.send(t, "POST", "/api/v1/tasks", body(1<<20+1), nil); status != 400 ||
		!strings.Contains(text, `"/parameters"`) {
		t.Errorf("a byte more is answered %d %.300s", status, text)
	}
}

// TestOverloadOverHTTP: a node with too many unstored tasks answers 503, before it stores anything.
func TestOverloadOverHTTP(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tasker.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowStore{Database: store, arrived: make(chan struct{}, 10), release: make(chan struct{})}
	b, err := node.New(t.Context(), slow,
		node.Options{Engine: settings.Config{Backpressure: settings.Backpressure{NormalLoad: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(httpapi.New(b, httpapi.Options{}))
	t.Cleanup(func() { h.Close(); _ = b.Close() })
	client, err := remote.Dial(h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	s := &server{Client: client, Backend: operate.Of(client), queueClient: queueapi.Of(client), engine: b, url: h.URL,
		ctx: t.Context(), http: h.Client()}
	s.must(t, "POST", "/api/v1/tasks", `{"task_type":"job"}`, nil)
	slow.on.Store(true)
	stored := make(chan error, 1)
	go func() {
		_, err := s.EnqueueTasks(s.ctx,
			queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "job"}, {TaskType: "job"}, {TaskType: "job"},
				{TaskType: "job"}}})
		stored <- err
	}()
	<-slow.arrived
	if seconds := s.refusedBy(t, `{"task_type":"job","priority":"high"}`, 503, tasker.CodeUnavailable); seconds != 1 {
		t.Errorf("it is to come back in %d s", seconds)
	}
	stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
	if err != nil || stats.Backpressure.State != "overloaded" || stats.Backpressure.InHand != 4 ||
		*stats.Backpressure.NormalLoad != 2 || stats.Backpressure.Refused["overloaded"] != 1 {
		t.Errorf("the numbers are %+v, %v", stats.Backpressure, err)
	}
	close(slow.release)
	if err := <-stored; err != nil {
		t.Error(err)
	}
	s.must(t, "POST", "/api/v1/tasks", `{"task_type":"job"}`, nil)
}

type slowStore struct {
	engine.Database
	on               atomic.Bool
	arrived, release chan struct{}
}

func (s *slowStore) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if s.on.Load() {
		s.arrived <- struct{}{}
		<-s.release
	}
	return s.Database.Write(ctx, fn)
}
