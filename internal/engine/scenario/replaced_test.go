package scenario_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

type restored struct {
	*testing.T
	server *pgtest.Server
}

func (r *restored) node() *engine.Engine {
	r.Helper()
	s, err := postgres.Open(r.Context(), r.server.DSN(), nil)
	r.must(err)
	r.Cleanup(func() { closeStore(r.T, s) })
	e, err := engine.New(r.Context(), s, engine.Options{})
	r.must(err)
	return e
}

// again repeats do until the connections that the stop has cut are replaced.
func (r *restored) again(do func() error) {
	r.Helper()
	err := do()
	for range 100 {
		if task.CodeOf(err) != task.Unavailable {
			break
		}
		err = do()
	}
	r.must(err)
}

func (r *restored) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *restored) stopped(do func() error) {
	r.Helper()
	r.must(r.server.Stop(pgtest.Fast))
	r.must(do())
	r.must(r.server.Restart())
}

func (r *restored) submit(e *engine.Engine, handler string) task.ID {
	r.Helper()
	var receipts []engine.Receipt
	r.again(func() (err error) {
		receipts, err = e.Submit(r.Context(), []engine.Submission{{TaskType: handler}}, false)
		return err
	})
	return receipts[0].ID
}

func (r *restored) handlerOf(e *engine.Engine, id task.ID) string {
	r.Helper()
	k, err := e.Read().FindTask(r.Context(), id)
	r.must(err)
	if k == nil {
		r.Fatalf("the task %s is gone", id)
	}
	t, err := e.Read().FindTemplateByDef(r.Context(), k.DefID)
	r.must(err)
	if t == nil {
		return "none"
	}
	return t.Steps[0].Handler
}

// A backup is swapped in under a running node. Its memory of vanished templates, routes and workers does no harm,
// although others now have their numbers.
func TestDatabaseGoesBack(t *testing.T) {
	t.Parallel()
	r := &restored{t, pgtest.Start(t, "fsync=off")}
	a := r.node()
	r.submit(a, "early")
	r.stopped(r.server.Save)
	r.submit(a, "emails")
	gone, err := a.Register(t.Context(), task.Worker{Handlers: []string{"emails"}})
	r.must(err)
	r.stopped(r.server.SwapIn)

	b := r.node()
	r.submit(b, "payments")
	paid, err := b.Register(t.Context(), task.Worker{Handlers: []string{"payments"}})
	r.must(err)
	for _, handler := range []string{"emails", "early", "payments"} {
		if got := r.handlerOf(b, r.submit(a, handler)); got != handler {
			t.Errorf("a task of %s became one of %s", handler, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, _, err := a.Poll(ctx, gone.ID, 1, 0, true); task.CodeOf(err) != task.NotFound {
		t.Errorf("the poll of a worker that is gone: %v", err)
	}
	leases, _, err := a.Poll(ctx, paid.ID, 10, 0, true)
	r.must(err)
	if len(leases) != 2 {
		t.Errorf("the worker for payments got %d steps, want 2", len(leases))
	}
	for _, l := range leases {
		if l.Template.Steps[0].Handler != "payments" {
			t.Errorf("the worker for payments got a step of %s", l.Template.Steps[0].Handler)
		}
	}
}
