package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/embedded/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/worker"
)

// shop is a caller's database with a client on it.
type shop struct {
	*testing.T
	client *tasker.Client
	conn   *pgx.Conn
}

func newShop(t *testing.T) *shop {
	t.Helper()
	dsn := pgtest.DSN(t)
	client, err := embedded.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shop{t, client, connect(t, dsn)}
}

// connect opens a connection without our schema.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	delete(cfg.RuntimeParams, "schema")
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `CREATE TEMPORARY TABLE orders (id int)`); err != nil {
		t.Fatal(err)
	}
	return conn
}

func (s *shop) begin() pgx.Tx {
	s.Helper()
	tx, err := s.conn.Begin(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if _, err := tx.Exec(s.Context(), `INSERT INTO orders VALUES (1)`); err != nil {
		s.Fatal(err)
	}
	return tx
}

func (s *shop) orders() (n int) {
	s.Helper()
	if err := s.conn.QueryRow(s.Context(), `SELECT count(*) FROM orders`).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *shop) state(r tasker.TaskReceipt) tasker.TaskState {
	s.Helper()
	task, err := s.client.Task(s.Context(), r.TaskUUID, 0)
	if tasker.ErrorCode(err) == tasker.CodeNotFound {
		return ""
	}
	if err != nil {
		s.Fatal(err)
	}
	return task.State
}

func TestSubmitTx(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tx := s.begin()
	receipts, err := postgres.SubmitTx(t.Context(), tx, s.client, tasker.TaskRequest{TaskType: "ship"},
		tasker.TaskRequest{TaskType: "bill"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.state(receipts[0]); got != "" {
		t.Errorf("before the commit the task is %s, want that it is not there", got)
	}
	s.committed(tx, receipts)
}

func (s *shop) committed(tx pgx.Tx, receipts []tasker.TaskReceipt) {
	s.Helper()
	if err := tx.Commit(s.Context()); err != nil {
		s.Fatal(err)
	}
	for _, r := range receipts {
		if got := s.state(r); got != tasker.TaskStepsInProcess {
			s.Errorf("after the commit the task is %q", got)
		}
	}
}

func TestSubmitTxRolledBack(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tx := s.begin()
	receipts, err := postgres.SubmitTx(t.Context(), tx, s.client,
		tasker.TaskRequest{TaskType: "ship", IdempotencyKey: "order 1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.state(receipts[0]); got != "" {
		t.Errorf("after the roll-back the task is %s", got)
	}
	// the key was never taken
	again, err := s.client.Submit(t.Context(), tasker.TaskRequest{TaskType: "ship", IdempotencyKey: "order 1"})
	if err != nil || !again.Created {
		t.Errorf("Submit with the same key: created %v, %v", again.Created, err)
	}
}

func TestSubmitTxRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tx := s.begin()
	_, err := postgres.SubmitTx(t.Context(), tx, s.client, tasker.TaskRequest{TaskType: "ship"},
		tasker.TaskRequest{Name: "no such template"})
	if err == nil {
		t.Fatal("no error")
	}
	// the caller's transaction is unharmed
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.orders(); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestSubmitTxSameKeyTwice(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, err := s.client.Submit(t.Context(), tasker.TaskRequest{TaskType: "ship", IdempotencyKey: "order 1"})
	if err != nil {
		t.Fatal(err)
	}
	tx := s.begin()
	receipts, err := postgres.SubmitTx(t.Context(), tx, s.client,
		tasker.TaskRequest{TaskType: "ship", IdempotencyKey: "order 1"})
	if err != nil {
		t.Fatal(err)
	}
	if receipts[0].Created || receipts[0].TaskUUID != first.TaskUUID {
		t.Errorf("got %+v, want the first task", receipts[0])
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSubmitTxWrongClient(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	memory, err := embedded.Open(t.Context(), "memory:", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	other := newShop(t) // the same server, another schema
	for name, client := range map[string]*tasker.Client{"NotPostgres": memory, "Remote": tasker.NewClient(nil)} {
		tx := s.begin()
		if _, err := postgres.SubmitTx(t.Context(), tx, client,
			tasker.TaskRequest{TaskType: "ship"}); tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tx := s.begin()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.SubmitTx(t.Context(), tx, other.client,
		tasker.TaskRequest{TaskType: "ship"}); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("a transaction that has ended: %v", err)
	}
}

// A worker learns of the task with the commit, without a tick.
func TestSubmitTxStarts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	w := worker.New(s.client, nil)
	worker.Handle(w, "ship", func(context.Context, int) (string, error) { return "shipped", nil })
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	tx := s.begin()
	receipts, err := postgres.SubmitTx(ctx, tx, s.client, tasker.TaskRequest{TaskType: "ship", Context: []byte(`7`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	var answer string
	if err := s.client.Result(ctx, receipts[0].TaskUUID, "", &answer); err != nil || answer != "shipped" {
		t.Errorf("Result: %q, %v", answer, err)
	}
	stop()
	<-ended
}

// A notification has at most 8,000 bytes, so many routes need several.
func TestSubmitTxOfManyRoutes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var tasks []tasker.TaskRequest
	for n := range 2 {
		name := fmt.Sprintf("wide%d", n)
		var y strings.Builder
		fmt.Fprintf(&y, "name: %s\nversion: 1.0.0\nsteps:\n", name)
		for i := range 1000 {
			fmt.Fprintf(&y, "- {name: s%d, handler: %s_%d}\n", i, name, i)
		}
		if _, err := s.client.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: y.String()}); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, tasker.TaskRequest{Name: name})
	}
	tx := s.begin()
	receipts, err := postgres.SubmitTx(t.Context(), tx, s.client, tasks...)
	if err != nil {
		t.Fatal(err)
	}
	s.committed(tx, receipts)
}

// A caller's transaction with an idempotency key blocks only submissions under that key, however many.
func TestSubmitTxKeepsNobodyElse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tx := s.begin()
	if _, err := postgres.SubmitTx(t.Context(), tx, s.client,
		tasker.TaskRequest{TaskType: "x", IdempotencyKey: "order-17"}); err != nil {
		t.Fatal(err)
	}
	same := make(chan error, 4)
	for range cap(same) {
		go func() {
			r, err := s.client.Submit(t.Context(), tasker.TaskRequest{TaskType: "x", IdempotencyKey: "order-17"})
			if err == nil && r.Created {
				err = errors.New("a second task was created")
			}
			same <- err
		}()
	}
	for i := range 50 {
		key := ""
		if i%2 == 0 {
			key = fmt.Sprint("other-", i)
		}
		if _, err := s.client.Submit(t.Context(), tasker.TaskRequest{TaskType: "x", IdempotencyKey: key}); err != nil {
			t.Errorf("an unrelated submission: %v", err)
		}
	}
	if len(same) > 0 {
		t.Errorf("a submission under the key did not wait for it: %v", <-same)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range cap(same) {
		if err := <-same; err != nil {
			t.Errorf("a submission under the key: %v", err)
		}
	}
}
