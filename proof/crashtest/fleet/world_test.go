//go:build unix

package fleet_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/rabbitmq"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// patience bounds what a test waits for; nothing here takes a third of it.
const patience = time.Minute

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return "", err
	}
	return process.Build(context.Background(), dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// world is a server that dispatches over RabbitMQ.
type world struct {
	t      *testing.T
	ctx    context.Context
	server *process.Server
	group  *process.Group
	log    *os.File
	broker string // URL of the virtual host
	*tasker.Client
	operate.Backend
}

// onEveryStore runs a test with a server with short leases on each store; env adds variables.
func onEveryStore(t *testing.T, env []string, test func(*world)) {
	t.Helper()
	t.Parallel()
	onEveryStoreAt(t, rabbittest.Shared, env, test)
}

// onEveryStoreAt is onEveryStore with the test's broker.
func onEveryStoreAt(t *testing.T, broker func(testing.TB) string, env []string, test func(*world)) {
	t.Helper()
	for name, dsn := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasker.db") },
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) { test(begin(t, dsn(t), broker(t), env)) })
	}
}

func begin(t *testing.T, dsn, broker string, env []string) *world {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	w := &world{t: t, group: group, broker: broker}
	if w.log, err = os.Create(filepath.Join(t.TempDir(), "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.tell)
	addresses, err := process.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	w.server = &process.Server{Program: program, DSN: dsn, Address: addresses[0], Log: w.log, Group: group,
		Env: append(process.ShortLeases(), append(env, "TASKER_MESSAGE_QUEUE_RABBITMQ_URL="+broker)...)}
	if err := w.server.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	if w.Client, err = remote.Dial(w.server.URL(), nil); err != nil {
		t.Fatal(err)
	}
	w.Backend = operate.Of(w.Client)
	return w
}

func (w *world) tell() {
	w.server.Kill()
	w.server.Gone()
	if !w.t.Failed() {
		return
	}
	content, err := os.ReadFile(w.log.Name())
	w.t.Logf("the log of the processes (%v):\n%s", err, content[max(0, len(content)-8000):])
}

// runningWorker is a worker of the SDK in this process.
type runningWorker struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
}

// work runs a worker until the test ends; an empty broker means polls.
func (w *world) work(name, broker string, concurrency int, handlers map[string]worker.Handler) *runningWorker {
	w.t.Helper()
	opts := &worker.Options{Name: name, Concurrency: concurrency, PollWait: time.Second,
		Logger: slog.New(slog.NewTextHandler(w.log, nil))}
	if broker != "" {
		opts.Transport = rabbitmq.NewTransport(broker, rabbitmq.Options{ConnectionName: name})
	}
	one := worker.New(w.Client, opts)
	for name, h := range handlers {
		one.Handle(name, h)
	}
	ctx, stop := context.WithCancel(w.ctx)
	r := &runningWorker{t: w.t, stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- one.Run(ctx) }()
	w.t.Cleanup(stop)
	return r
}

// end stops the worker, which must end in good order.
func (r *runningWorker) end() {
	r.t.Helper()
	r.stop()
	r.returned()
}

// returned waits until the worker has ended in good order.
func (r *runningWorker) returned() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		if err != nil {
			r.t.Errorf("the worker ended with %v", err)
		}
	case <-time.After(patience):
		r.t.Error("the worker does not end")
	}
}

func (w *world) submit(handler string, n int) []uuid.UUID {
	w.t.Helper()
	ids := make([]uuid.UUID, n)
	for i := range ids {
		receipt, err := w.Submit(w.ctx, tasker.TaskRequest{TaskType: handler, Context: fmt.Appendf(nil, `{"n":%d}`, i)})
		if err != nil {
			w.t.Fatal(err)
		}
		ids[i] = receipt.TaskUUID
	}
	return ids
}

// complete waits until the tasks are complete. It retries while the server is down.
func (w *world) complete(ids []uuid.UUID) {
	w.t.Helper()
	for _, id := range ids {
		got, err := w.Wait(w.ctx, id)
		if err != nil || got.State != tasker.TaskComplete {
			w.t.Fatalf("task %s ended as %v, %v; %s", id, got, err, w.explain(id))
		}
	}
}

func (w *world) explain(id uuid.UUID) string {
	why, err := w.ExplainTask(context.WithoutCancel(w.ctx), id)
	if err != nil {
		return err.Error()
	}
	workers, err := protocol.Of(w.Client).Workers(context.WithoutCancel(w.ctx))
	return fmt.Sprintf("%+v; workers: %+v, %v", why, workers, err)
}

func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for !done() {
		select {
		case <-w.ctx.Done():
			w.t.Fatalf("%s: not within %s", what, patience)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// registered waits until the server knows a worker by its name, in a state.
func (w *world) registered(name, state string) (info protocol.WorkerInfo) {
	w.t.Helper()
	w.until(name+" is "+state, func() bool {
		all, err := protocol.Of(w.Client).Workers(w.ctx)
		for _, one := range all {
			if err == nil && one.Name == name && one.State == state {
				info = one
				return true
			}
		}
		return false
	})
	return info
}
