package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// keyWait bounds an impatient transaction's wait for locked keys: enough for a commit; a caller's own transaction may
// stay open for minutes.
const keyWait = "5ms"

// TakeKeys implements engine.KeyStore. One statement takes all keys in one order, so that two transactions never
// deadlock. Patient waits for the other transaction; otherwise a locked key gives engine.ErrKeyLocked after keyWait.
// The answers are in the order of the asks.
func (*Store) TakeKeys(ctx context.Context, within engine.Tx, asks []engine.KeyAsk, now, expires task.Instant,
	patient bool,
) ([]engine.KeyAnswer, error) {
	t := in(within)
	var free map[engine.KeyName]bool
	var err error
	if patient {
		var bind request
		free, bind = t.bindFree(asks, now, expires)
		err = t.send(ctx, bind)
	} else {
		free, err = t.bindFreeAtOnce(ctx, asks, now, expires)
	}
	if err != nil {
		return nil, err
	}
	answers := make([]engine.KeyAnswer, len(asks))
	if len(free) == len(asks) {
		return answers, nil
	}
	bound, err := t.bindings(ctx, asks)
	if err != nil {
		return nil, err
	}
	for i, a := range asks {
		if !free[a.Name] {
			answers[i] = engine.KeyAnswer{Bound: bound[a.Name], Taken: true}
		}
	}
	return answers, nil
}

// bindFreeAtOnce is bindFree that returns engine.ErrKeyLocked instead of waiting.
func (t *tx) bindFreeAtOnce(ctx context.Context, asks []engine.KeyAsk, now,
	expires task.Instant,
) (map[engine.KeyName]bool, error) {
	free, bind := t.bindFree(asks, now, expires)
	err := t.atOnce(ctx, func() error {
		t.later(bind)
		return nil
	})
	return free, err
}

// atOnce runs fn, which takes locks, without waiting. If one is not free after keyWait, the transaction is as before
// and the error is engine.ErrKeyLocked. The savepoint keeps earlier work, which a lock time-out would end.
func (t *tx) atOnce(ctx context.Context, fn func() error) error {
	t.wrote = true
	t.later(request{sql: `SAVEPOINT tasker_keys`})
	t.later(request{sql: `SET LOCAL lock_timeout = '` + keyWait + `'`})
	err := fn()
	if err == nil {
		// In the same pipeline: preparing a later statement must not be under keyWait.
		t.later(request{sql: `SET LOCAL lock_timeout TO DEFAULT`})
		err = t.send(ctx, request{sql: `RELEASE SAVEPOINT tasker_keys`})
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == codeLocked {
		// as text: a failed transaction accepts no other statement
		if err := t.conn.pg.Exec(ctx, `ROLLBACK TO SAVEPOINT tasker_keys`).Close(); err != nil {
			return err
		}
		t.later(request{sql: `RELEASE SAVEPOINT tasker_keys`})
		return engine.ErrKeyLocked
	}
	return err
}

// codeLocked is the SQLSTATE of a lock that was not granted in time.
const codeLocked = "55P03"

// bindFree returns the statement that binds the free keys, and their set, which is filled when the statement is run. An
// expired binding counts as free. The statement waits for a transaction that has just bound a key.
func (t *tx) bindFree(asks []engine.KeyAsk, now, expires task.Instant) (map[engine.KeyName]bool, request) {
	const query = `INSERT INTO tasker_idempotency_keys AS k (namespace, key, task_id, hash, expires_at)
 SELECT a.namespace, a.key, a.task, a.hash, $5
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[]) AS a(namespace, key, task, hash)
 ORDER BY a.namespace, a.key
 ON CONFLICT (namespace, key) DO UPDATE SET task_id = excluded.task_id, hash = excluded.hash,
  expires_at = excluded.expires_at
 WHERE k.expires_at <= $6 RETURNING k.namespace, k.key`
	namespaces, keys := keyColumns(asks)
	ids, hashes := make([]task.ID, len(asks)), make([]string, len(asks))
	for i, a := range asks {
		ids[i], hashes[i] = a.To.Task, a.To.Hash
	}
	t.wrote = true
	free := make(map[engine.KeyName]bool, len(asks))
	args := []any{namespaces, keys, ids, hashes, int64(expires), int64(now)}
	return free, request{sql: query, args: args, each: func(r store.Row) error {
		var n engine.KeyName
		err := r.Scan((*store.Text)(&n.Namespace), (*store.Text)(&n.Key))
		free[n] = true
		return err
	}}
}

// bindings returns the bindings of keys, zero for a key deleted meanwhile.
func (t *tx) bindings(ctx context.Context, asks []engine.KeyAsk) (map[engine.KeyName]engine.Binding, error) {
	const query = `SELECT k.namespace, k.key, k.task_id, k.hash FROM unnest($1::text[], $2::text[]) AS a(namespace, key)
 JOIN tasker_idempotency_keys k ON k.namespace = a.namespace AND k.key = a.key`
	namespaces, keys := keyColumns(asks)
	bound := make(map[engine.KeyName]engine.Binding, len(asks))
	err := t.ask(ctx, query, []any{namespaces, keys}, func(r store.Row) error {
		var n engine.KeyName
		var b engine.Binding
		err := r.Scan((*store.Text)(&n.Namespace), (*store.Text)(&n.Key), &scanID{&b.Task}, (*store.Text)(&b.Hash))
		bound[n] = b
		return err
	})
	return bound, err
}

func keyColumns(asks []engine.KeyAsk) (namespaces, keys []string) {
	for _, a := range asks {
		namespaces, keys = append(namespaces, a.Name.Namespace), append(keys, a.Name.Key)
	}
	return namespaces, keys
}

// WithoutWaiting implements engine.UniqueStore.
func (*Store) WithoutWaiting(ctx context.Context, within engine.Tx, fn func() error) error {
	return in(within).atOnce(ctx, fn)
}
