package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// The short wait for a locked key does not extend to later statements: an insert waits for a locked table.
func TestOnlyKeysAreImpatient(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	s := open(t, dsn)
	parsed := parse(t, dsn)
	other, err := pgx.ConnectConfig(t.Context(), parsed.Pool.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }()
	ask := func(query string) (n int) {
		if err := other.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	table := pgx.Identifier{parsed.Schema, "tasker_tasks"}.Sanitize()
	if _, err := other.Exec(t.Context(), `BEGIN; LOCK TABLE `+table+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		k, step := job(s, 7)
		now := task.At(time.Now())
		key := engine.KeyAsk{Name: engine.KeyName{Namespace: "default", Key: "k"}, To: engine.Binding{Task: k.ID, Hash: "h"}}
		done <- s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			if _, err := s.TakeKeys(ctx, tx, []engine.KeyAsk{key}, now, now.Add(time.Hour), false); err != nil {
				return err
			}
			return tx.InsertTasks(ctx, []*task.Task{k}, []*task.Step{step})
		})
	}()
	waits := `SELECT count(*)::int FROM pg_locks WHERE relation = '` + table + `'::regclass AND NOT granted`
	for ask(waits) == 0 {
		select {
		case err := <-done:
			t.Fatalf("the insert did not wait for the table: %v", err)
		default:
		}
	}
	ask(`SELECT 1 FROM pg_sleep(0.05)`) // ten times the wait for a key
	if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the insert failed: %v", err)
	}
}
