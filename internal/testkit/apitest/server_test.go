package apitest_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) {
	// rueidis refreshes its servers at most once a second, and sleeps in between.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// patience bounds waits; nothing here takes a tenth of it.
const patience = time.Minute

type server struct {
	*tasker.Client
	operate.Backend
	queueClient
	engine *node.Node // the one behind the API
	url    string
	ctx    context.Context
	http   *http.Client
}

type queueClient = queueapi.Backend

// onEveryStore runs a test with a server on each durable store, empty at the beginning.
func onEveryStore(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	onEveryDatabase(t, func(t *testing.T, dsn string) { test(t, serve(t, dsn, node.Options{})) })
}

func onEveryDatabase(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+sqlitetest.File(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, postgrestest.DSN(t))
	})
}

func serve(t *testing.T, dsn string, opts node.Options) *server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	b, err := node.Open(ctx, dsn, opts)
	if err != nil {
		t.Fatal(err)
	}
	looped := make(chan error, 1)
	loops, endLoops := context.WithCancel(context.Background())
	go func() { looped <- b.Run(loops) }()
	h := httptest.NewServer(httpapi.New(b, httpapi.Options{DeadLetters: b.DeadLetters(), Jobs: b.Jobs(),
		Schedules: b.Schedules(), Messages: b.Messages(), Sensitive: b}))
	client, err := remote.Dial(h.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // from the outside in
		cancel()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		h.Close()
		endLoops()
		if err := <-looped; err != nil {
			t.Errorf("the loops ended with %v", err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &server{Client: client, Backend: operate.Of(client), queueClient: queueapi.Of(client), engine: b, url: h.URL,
		ctx: ctx, http: h.Client()}
}

// work runs a worker with these handlers until the test ends.
func (s *server) work(t *testing.T, handlers map[string]worker.Handler) {
	t.Helper()
	w := worker.New(s.Client, &worker.Options{Name: "tester", PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	for name, h := range handlers {
		w.Handle(name, h)
	}
	t.Cleanup(s.runWorker(t, w))
}

// runWorker runs a worker until the returned function is called.
func (s *server) runWorker(t *testing.T, w *worker.Worker) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	}
}

func (s *server) register(t *testing.T, yaml string) {
	t.Helper()
	if _, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: yaml}); err != nil {
		t.Fatal(err)
	}
}

func (s *server) submit(t *testing.T, req tasker.TaskRequest) tasker.TaskReceipt {
	t.Helper()
	receipt, err := s.Submit(s.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func (s *server) settled(t *testing.T, receipt tasker.TaskReceipt, want tasker.TaskState) *tasker.Task {
	t.Helper()
	got, err := s.Wait(s.ctx, receipt.TaskUUID)
	if err != nil || got.State != want {
		t.Fatalf("the task ended as %+v, %v; want %s", got, err, want)
	}
	return got
}

func (s *server) step(t *testing.T, receipt tasker.TaskReceipt, name string) tasker.Step {
	t.Helper()
	steps, err := s.Steps(s.ctx, receipt.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if step.Name == name {
			return step
		}
	}
	t.Fatalf("there is no step %q among %+v", name, steps)
	return tasker.Step{}
}

func (s *server) empty(t *testing.T) {
	t.Helper()
	page, err := s.Tasks(s.ctx, tasker.TaskFilter{})
	if err != nil || len(page.Tasks) != 0 || page.NextCursor != "" {
		t.Errorf("the list of tasks is %+v, %v; want it empty", page, err)
	}
}

// send returns the status and the body, decoded into out unless nil.
func (s *server) send(t *testing.T, method, path, body string, out any) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(s.ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			t.Fatalf("%s %s is answered %d %.300s: %v", method, path, resp.StatusCode, answer, err)
		}
	}
	return resp.StatusCode, string(answer)
}

func places(e *tasker.Error) string {
	var out []string
	for _, d := range e.Details {
		out = append(out, d.Location)
	}
	return strings.Join(out, " ")
}
