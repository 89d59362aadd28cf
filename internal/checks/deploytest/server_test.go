package deploytest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	_ "github.com/taskerhq/tasker/embedded/postgres"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits; nothing here takes a tenth of it.
const patience = time.Minute

// server is a configured server with a manual clock and manual background loops.
type server struct {
	*tasker.Client
	t      *testing.T
	ctx    context.Context
	engine *node.Node
	store  engine.Database
	tel    *telemetry.Telemetry
	url    string
	ahead  atomic.Int64
}

func openSQLite(t *testing.T) (engine.Database, error) {
	return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tasker.db"), nil)
}

func openPostgreSQL(t *testing.T) (engine.Database, error) {
	return postgres.Open(t.Context(), pgtest.DSN(t), nil)
}

func serve(t *testing.T, open func(*testing.T) (engine.Database, error)) *server {
	t.Helper()
	s := &server{t: t}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	tel, err := telemetry.New(s.ctx, telemetry.Options{Version: "1.2.3"})
	s.must(err)
	t.Cleanup(func() {
		if err := tel.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.store, err = open(t)
	s.must(err)
	// For the promotion of steps in the story.
	config := settings.Config{Scheduling: settings.Scheduling{MaxWait: 10 * time.Minute}}
	letters := memory.New(nil)
	letters.Declare("dlq:detection_queue")
	s.engine, err = node.New(s.ctx, s.store, node.Options{Engine: config, Observer: tel, Now: func() time.Time {
		return time.Now().Add(time.Duration(s.ahead.Load()))
	}, Drivers: driver.Registry{"memory": letters.Open}, Sources: []*deadletter.Source{
		{Namespace: "default", Name: "detection", Driver: "memory", URL: "memory:", Queue: "dlq:detection_queue"}}})
	s.must(err)
	s.tel = tel
	s.recount()
	h := httptest.NewServer(httpapi.New(s.engine,
		httpapi.Options{Metrics: tel.Handler(), Front: web.New(web.Options{Watcher: tel}), Streams: tel, Version: "1.2.3"}))
	s.url = h.URL
	s.Client, err = remote.Dial(h.URL, nil)
	s.must(err)
	t.Cleanup(func() { // from the outside in
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		h.Close()
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// recount refreshes the gauges, which are cached for some seconds.
func (s *server) recount() {
	s.tel.Watch(func(ctx context.Context) (*engine.Census, error) {
		c, err := s.engine.Census(ctx)
		if err == nil { // as with a configured Redis, which is missing
			c.Dispatch = engine.DispatchState{Configured: true}
		}
		return c, err
	})
	s.tel.WatchSources(app.SourceCounter(s.engine))
	s.tel.Letters().WatchOrigins(func(context.Context) ([]telemetry.OriginLevel, error) { // as with letters of a topic
		return []telemetry.OriginLevel{{Namespace: "default", Origin: "orders", Letters: 1}}, nil
	})
	s.tel.Letters().Captured("default", "orders", "orders", "", "captured", []time.Duration{time.Second})
	s.tel.Letters().Sent("default", "orders", "orders", "sent", 1)
	s.tel.Letters().Discarded("default", "orders", "orders", "max_age", 1)
	s.tel.Letters().Replayed("default", "orders", "letter", 1)
	s.tel.Letters().ReplayEntered("default", "orders", "running")
	s.tel.Letters().ReplayEntered("default", "orders", "failed")
	s.tel.Letters().Took("capture", time.Second)
	s.tel.Letters().Failed("capture", task.Internal)
	s.tel.WatchIntakeFailures(app.FailureCounter(s.engine))
	s.tel.TookIn("default", "jobs", 1, 1, 1)                    // as a source with an intake does
	s.tel.Gone("default", "orders", 1)                          // as with a Kafka whose retention is too short
	for _, part := range []string{"dispatch", "dead_letters"} { // as with a RabbitMQ
		s.tel.Deliveries().Connected(part, true)
	}
	s.tel.Deliveries().Depth(1)
	s.tel.Deliveries().Handled(time.Second)
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// after advances the clock with heartbeats, and then runs the background loops.
func (s *server) after(d time.Duration, workers ...uuid.UUID) {
	s.t.Helper()
	s.ahead.Add(int64(d))
	for _, id := range workers {
		_, err := protocol.Of(s.Client).Heartbeat(s.ctx, protocol.Heartbeat{WorkerID: id})
		s.must(err)
	}
	s.must(s.engine.RunOnce(s.ctx))
}

func (s *server) submit(req tasker.TaskRequest) uuid.UUID {
	s.t.Helper()
	receipt, err := s.Submit(s.ctx, req)
	s.must(err)
	return receipt.TaskUUID
}

func (s *server) worker(handlers ...string) uuid.UUID {
	s.t.Helper()
	w, err := protocol.Of(s.Client).RegisterWorker(s.ctx,
		protocol.WorkerRegistration{Name: "w-" + handlers[0], Handlers: handlers, Capacity: 5})
	s.must(err)
	return w.WorkerID
}

// work takes the next step, and reports a result; a failure may be final.
func (s *server) work(worker uuid.UUID, result protocol.StepResult) {
	s.t.Helper()
	got, err := protocol.Of(s.Client).Poll(s.ctx, protocol.PollRequest{WorkerID: worker, Capacity: 1, Start: true})
	s.must(err)
	if len(got.Steps) != 1 {
		s.t.Fatalf("%d steps were ready, want 1", len(got.Steps))
	}
	result.StepUUID, result.Token = got.Steps[0].StepUUID, got.Steps[0].Token
	answers, err := protocol.Of(s.Client).Settle(s.ctx,
		protocol.SettleRequest{WorkerID: worker, Results: []protocol.StepResult{result}})
	s.must(err)
	if answers[0].Error != nil {
		s.t.Fatalf("the result was not taken: %+v", answers[0])
	}
}

func completed() protocol.StepResult { return protocol.StepResult{Status: protocol.ResultCompleted} }

func failed(retryable bool) protocol.StepResult {
	return protocol.StepResult{Status: protocol.ResultFailed, Error: &tasker.Failure{Message: "no", Retryable: &retryable}}
}

func fetch(ctx context.Context, url string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	r.Close = true // no connection is kept after the test
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

type metrics []string

func (s *server) metrics() metrics {
	s.t.Helper()
	status, body, err := fetch(s.ctx, s.url+"/metrics")
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("metrics are answered with %d, %v: %s", status, err, body)
	}
	return strings.Split(body, "\n")
}

// value returns a series' value, "" if missing. The name is in the text format, with labels in alphabetical order.
func (m metrics) value(series string) string {
	for _, line := range m {
		if v, ok := strings.CutPrefix(line, series+" "); ok {
			return v
		}
	}
	return ""
}
