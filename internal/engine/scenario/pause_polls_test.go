package scenario_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

var jobs = task.PauseTarget{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "job"}

// A poll that waits when its route is paused gets nothing of it, by hand-off or claim, and wakes with the end of the
// pause. Other routes are served meanwhile.
func TestPauseBesidePolls(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.submit(job)
		w := b.register(task.Worker{})
		b.want(<-b.poll(b.ctx, w, 1, 0), 1, 0) // the route is known, and empty
		poll := b.poll(b.ctx, w, 5, time.Minute)
		_, _, err := b.engine.Pause(b.ctx, engine.PauseRequest{Target: jobs, Actor: "ann"})
		b.must(err)
		b.submit(job)
		time.Sleep(10 * time.Second)
		other := job
		other.TaskType = "other"
		b.submit(other)
		p := <-poll
		b.want(p, 1, 10*time.Second)
		if got := p.leases[0].Template.Name; got != "other" {
			t.Errorf("the poll got a step of %s", got)
		}

		poll = b.poll(b.ctx, w, 5, time.Minute)
		time.Sleep(10 * time.Second)
		_, err = b.engine.ResumePaused(b.ctx, jobs, "ann", "")
		b.must(err)
		b.want(<-poll, 1, 10*time.Second)
	})
}

// Another node follows a pause and its end, with messages and without them.
func TestNodesFollowPauses(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	for name, way := range map[string]struct {
		dsn  string
		poll time.Duration
	}{
		"ByMessage": {dsn, time.Hour},
		"ByPolling": {pgtest.Schema(t, pgtest.PgBouncer(t, pgtest.DSN(t))), 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := startNode(t, way.dsn, way.poll), startNode(t, way.dsn, way.poll)
			pollElsewhere(t, b, a)
			w, err := b.Register(t.Context(), task.Worker{})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				followPause(t, a, b, w.ID)
			}
		})
	}
}

func followPause(t *testing.T, a, b *engine.Engine, worker task.ID) {
	t.Helper()
	ctx := t.Context()
	if _, _, err := a.Pause(ctx, engine.PauseRequest{Target: jobs, Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); b.ClosedRoutes() == 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > patient {
			t.Fatal("the other node does not follow the pause")
		}
	}
	for _, e := range []*engine.Engine{a, b} {
		if _, err := e.Submit(ctx, []engine.Submission{job, job}, false); err != nil {
			t.Fatal(err)
		}
		if leases, _, err := b.Poll(ctx, worker, 9, 20*time.Millisecond, true); err != nil || len(leases) > 0 {
			t.Fatalf("a poll got %d steps of what is paused, error %v", len(leases), err)
		}
	}
	got := make(chan int, 1)
	go func() {
		leases, _, err := b.Poll(ctx, worker, 9, patient, true)
		if err != nil {
			t.Error(err)
		}
		got <- len(leases)
	}()
	began := time.Now()
	if _, err := a.ResumePaused(ctx, jobs, "ann", ""); err != nil {
		t.Fatal(err)
	}
	if n := <-got; n == 0 || time.Since(began) > patient/2 {
		t.Errorf("after the resume a poll got %d steps, %s later", n, time.Since(began))
	}
	for {
		leases, _, err := b.Poll(ctx, worker, 9, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(leases) == 0 {
			return
		}
	}
}

// Nodes follow a database restored to before a pause or its resume: the first look drops the memory of another past.
func TestPausesOfARestoredDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	e := startNode(t, dsn, time.Hour)
	parsed, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := pgx.ConnectConfig(t.Context(), parsed.Pool.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	run := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := db.Exec(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	if _, err := e.Submit(t.Context(), []engine.Submission{job}, false); err != nil {
		t.Fatal(err)
	}
	for _, restored := range [][2][]string{
		{{`CREATE TABLE p AS SELECT * FROM tasker_pauses`, `CREATE TABLE n AS SELECT * FROM tasker_meta`}, nil},
		{nil, {`DELETE FROM tasker_pauses`, `DELETE FROM tasker_meta WHERE key = 'pauses_version'`}},
	} {
		if _, _, err := e.Pause(t.Context(), engine.PauseRequest{Target: jobs, Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		run(restored[0]...)
		want := 0
		if restored[0] != nil {
			if _, err := e.ResumePaused(t.Context(), jobs, "ann", ""); err != nil {
				t.Fatal(err)
			}
			want = 1
			run(`DELETE FROM tasker_pauses`, `INSERT INTO tasker_pauses SELECT * FROM p`,
				`DELETE FROM tasker_meta WHERE key = 'pauses_version'`,
				`INSERT INTO tasker_meta SELECT * FROM n WHERE key = 'pauses_version'`)
		}
		run(restored[1]...)
		if err := e.RefreshPauses(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := e.ClosedRoutes(); got != want {
			t.Errorf("%d routes are closed, want %d", got, want)
		}
	}
}
