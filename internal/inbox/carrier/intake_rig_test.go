package carrier_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

type intakeRig struct {
	t      *testing.T
	url    string
	kind   string
	queue  string
	open   driver.OpenFunc
	driver driver.Driver
	// where sending does not create queues; else nil
	declare func(names ...string)
	// loseAcks is the number of acknowledgements that fail before the broker gets them.
	loseAcks atomic.Int64

	db     func() faulty
	config settings.Config
}

// faulty is a database with injected faults.
type faulty interface {
	engine.Database
	fail(before, after int)
}

// faults are how many of the next writes fail: before anything is stored, or after the commit, as when its answer is
// lost. Only writes of the test's intake count: see failing.
type faults struct {
	mu            sync.Mutex
	before, after int
}

func (f *faults) fail(before, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

func (f *faults) write(ctx context.Context, write func(context.Context, func(context.Context, engine.Tx) error) error,
	fn func(context.Context, engine.Tx) error,
) error {
	down := task.Errorf(task.Unavailable, "the database is down")
	f.mu.Lock()
	switch {
	case f.before > 0:
		f.before--
		f.mu.Unlock()
		return down
	case f.after > 0:
		f.after--
		f.mu.Unlock()
		if err := write(ctx, fn); err != nil {
			return err
		}
		return down
	}
	f.mu.Unlock()
	return write(ctx, fn)
}

type faultySQLite struct {
	*sqlite.Store
	faults
}

func (s *faultySQLite) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.write(ctx, s.Store.Write, fn)
}

type faultyPostgres struct {
	*postgres.Store
	faults
}

func (s *faultyPostgres) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.write(ctx, s.Store.Write, fn)
}

// onEveryBroker runs a script with each broker and each database; with -short each of them once.
func onEveryBroker(t *testing.T, script func(t *testing.T, r *intakeRig)) {
	t.Helper()
	for i, broker := range []string{"redis-list", "redis-stream", "memory", "rabbitmq"} {
		for k, database := range []string{"PostgreSQL", "SQLite"} {
			if testing.Short() && i%2 != k {
				continue
			}
			t.Run(broker+"/"+database, func(t *testing.T) {
				t.Parallel()
				script(t, newIntakeRig(t, broker, database))
			})
		}
	}
}

// Drivers write keys without a test's prefix, so the server is the process's own.
var redisServer = sync.OnceValues(func() (*redistest.Server, error) { return redistest.Launch() })

func newIntakeRig(t *testing.T, broker, database string) *intakeRig {
	t.Helper()
	r := &intakeRig{t: t, kind: broker, queue: "jobs"}
	switch broker {
	case "memory":
		b := memory.New(&memory.Options{KeepLog: true})
		b.Declare("jobs", "dlq:jobs")
		r.open, r.url, r.declare = b.Open, "memory:", b.Declare
	case "kafka":
		r.url, r.open = kafkatest.Shared(t), kafka.Open
		r.queue = kafkatest.NewTopic(t, r.url, 3)
	case "rabbitmq":
		r.url, r.open = rabbittest.Shared(t), rabbitmq.Open
		r.declare = func(queues ...string) {
			for _, q := range queues {
				rabbittest.Manage(t, r.url, http.MethodPut, "/api/queues/{vhost}/"+url.PathEscape(q),
					map[string]any{"durable": true})
			}
		}
		r.declare("jobs", "dlq:jobs")
	default:
		s, err := redisServer()
		testserver.OrSkip(t, err)
		url := s.URL()
		r.queue = "jobs:" + rand.Text()
		r.url, r.open = url+"?gone=1s", redis.OpenLists
		if broker == "redis-stream" {
			r.open, r.url = redis.OpenStreams, url+"?gone=1s&missing=created&acknowledged=removed"
			if _, err := redistest.Do(url, "XGROUP", "CREATE", r.queue, "tasker", "0", "MKSTREAM"); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if r.driver, err = r.open(t.Context(), r.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.driver.Close() })
	r.useDatabase(database)
	return r
}

func (r *intakeRig) useDatabase(name string) {
	r.t.Helper()
	if name == "SQLite" {
		path := sqlitetest.File(r.t)
		r.db = func() faulty {
			s, err := sqlite.Open(r.t.Context(), path, nil)
			if err != nil {
				r.t.Fatal(err)
			}
			return &faultySQLite{Store: s}
		}
		return
	}
	dsn := postgrestest.DSN(r.t)
	r.db = func() faulty {
		s, err := postgres.Open(r.t.Context(), dsn, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		return &faultyPostgres{Store: s}
	}
}

// deaf is a receiver that may lose acknowledgements.
type deaf struct {
	driver.Receiver
	rig *intakeRig
}

// Ack fails before the broker receives it, as after the death of the node.
func (d deaf) Ack(ctx context.Context, m []driver.Message) error {
	if d.rig.loseAcks.Add(-1) >= 0 {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := d.Receiver.Ack(ended, m); err != nil {
			return err
		}
	}
	return d.Receiver.Ack(ctx, m)
}

type deafDriver struct {
	driver.Driver
	rig *intakeRig
}

func (d deafDriver) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	r, err := d.Driver.Open(ctx, queue)
	if err != nil {
		return nil, err
	}
	return deaf{r, d.rig}, nil
}

func (r *intakeRig) start() (n *node.Node, db faulty, stop func()) {
	r.t.Helper()
	db = r.db()
	open := func(ctx context.Context, url string) (driver.Driver, error) {
		d, err := r.open(ctx, url)
		if err != nil {
			return nil, err
		}
		return deafDriver{d, r}, nil
	}
	n, err := node.New(r.t.Context(), db, node.Options{Engine: r.config, Drivers: driver.Registry{r.kind: open}})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := n.Close(); err != nil {
			r.t.Error(err)
		}
	})
	r.t.Cleanup(stop)
	return n, db, stop
}

func (r *intakeRig) source(n *node.Node, in deadletter.Intake) {
	r.t.Helper()
	if _, err := n.Inbox().SaveSource(r.t.Context(), &deadletter.Source{Namespace: "default", Name: "jobs",
		Driver: r.kind, URL: r.url, Queue: r.queue, Intake: &in}, inbox.By{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *intakeRig) put(payloads ...string) {
	r.t.Helper()
	messages := make([]driver.Message, len(payloads))
	for i, p := range payloads {
		messages[i] = driver.Message{Payload: []byte(p)}
		if r.kind == "rabbitmq" { // it has no positions
			messages[i].MessageID = rand.Text()
		}
	}
	for i, err := range r.driver.Send(r.t.Context(), r.queue, messages, driver.Limits{}) {
		if err != nil {
			r.t.Fatalf("send %d: %v", i, err)
		}
	}
}

func (r *intakeRig) peek(queue string) []driver.Message {
	r.t.Helper()
	got, err := r.driver.Peek(r.t.Context(), queue, 10)
	if !errors.Is(err, driver.ErrNoPeek) {
		return got
	}
	receiver, err := r.driver.Open(r.t.Context(), queue)
	if err != nil {
		r.t.Fatal(err)
	}
	defer receiver.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), 100*time.Millisecond)
	defer cancel()
	for {
		batch, err := receiver.Receive(ctx, 10)
		if got = append(got, batch...); err != nil {
			return got
		}
	}
}

func (r *intakeRig) depth() int64 {
	r.t.Helper()
	_, n, err := r.driver.Stat(r.t.Context(), r.queue)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r *intakeRig) tasks(n *node.Node) []tasker.Task {
	r.t.Helper()
	var list []tasker.Task
	f := tasker.TaskFilter{Namespace: "default", Limit: 1000}
	for {
		page, err := tasker.NewClient(n).Tasks(r.t.Context(), f)
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, page.Tasks...)
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			break
		}
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// letters returns the codes and messages of the open letters, by age.
func (r *intakeRig) letters(n *node.Node) string {
	r.t.Helper()
	page, err := n.Inbox().Letters(r.t.Context(), inbox.LetterFilter{
		Selection: deadletter.Selection{Namespace: "default", State: model.LetterOpen}, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	for i := range page.Letters {
		l := page.Letters[len(page.Letters)-1-i]
		fmt.Fprintf(&b, "%s %s: %s\n", l.Failure.Type, l.Failure.Code, l.Failure.Message)
	}
	return b.String()
}
