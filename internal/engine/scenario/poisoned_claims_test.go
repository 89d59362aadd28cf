package scenario_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// counted counts transactions.
type counted struct {
	engine.Database
	writes atomic.Int64
}

func (c *counted) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	c.writes.Add(1)
	return c.Database.Write(ctx, fn)
}

// refuseLeases lets the database refuse leases of steps of the highest priority.
var refuseLeases = map[string][]string{
	"sqlite": {`CREATE TRIGGER refusing BEFORE UPDATE ON tasker_workflow_steps
 WHEN NEW.priority = 99 AND NEW.queue = -2 BEGIN SELECT RAISE(ABORT, 'refused here'); END`},
	"postgres": {`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused here'; END $$`,
		`CREATE TRIGGER refusing BEFORE UPDATE ON tasker_workflow_steps FOR EACH ROW
 WHEN (NEW.priority = 99 AND NEW.queue = -2) EXECUTE FUNCTION refuse()`},
}

// manyRefused takes some seconds on each.
var manyRefused = map[string]int{"sqlite": 10_000, "postgres": 1000}

// Steps whose leases a database refuses delay no other step of their queue, however many they are, and each poll costs
// a bounded number of transactions.
func TestPoisonedClaims(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		for _, bad := range []int{1, 100, manyRefused[k.name]} {
			if refuseLeases[k.name] == nil || bad > 100 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprint(k.name, bad), func(t *testing.T) {
				t.Parallel()
				s, _ := k.open(t)
				claimPoisoned(t, k.name, &counted{Database: s}, bad)
			})
		}
	}
}

func claimPoisoned(t *testing.T, kind string, s *counted, bad int) {
	e, err := engine.New(t.Context(), s, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := func(statements ...string) {
		t.Helper()
		if err := s.Database.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			for _, text := range statements {
				if _, err := store.In(tx).Exec(ctx, text); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	change(refuseLeases[kind]...)
	submit := func(n int, priority string) {
		t.Helper()
		for ; n > 0; n -= 1000 {
			batch := make([]engine.Submission, min(n, 1000))
			for i := range batch {
				batch[i] = job
				batch[i].Priority = priority
			}
			if _, err := e.Submit(t.Context(), batch, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	submit(bad, "99")
	submit(2, "")
	w, err := e.Register(t.Context(), task.Worker{})
	if err != nil {
		t.Fatal(err)
	}
	poll := func(most int64) (n int) {
		t.Helper()
		before := s.writes.Load()
		leases, _, err := e.Poll(t.Context(), w.ID, 10, 0, true)
		if wrote := s.writes.Load() - before; err != nil || wrote > most {
			t.Fatalf("a poll took %d transactions, %v; want at most %d", wrote, err, most)
		}
		return len(leases)
	}
	got := 0
	for polls := 0; got < 2; polls++ {
		if polls > bad/1000+5 {
			t.Fatalf("after %d polls %d of 2 healthy steps are handed out", polls, got)
		}
		got += poll(4000)
	}
	text, err := s.NoteStore().FindNote(t.Context(), engine.SteppedNote+"claim")
	if err != nil || !strings.Contains(text, "refused here") {
		t.Errorf("the note is %q, %v", text, err)
	}
	submit(1, "")
	if n := poll(20); n != 1 {
		t.Errorf("beside the steps that rest, %d of 1 step are handed out", n)
	}
	on := ""
	if kind == "postgres" {
		on = " ON tasker_workflow_steps"
	}
	change("DROP TRIGGER refusing" + on)
}
