package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TakeKeys binds idempotency keys, for an engine with a single writer, which has no other transaction to wait for; see
// engine.KeyStore. The answers are in the order of the asks.
func (SQL) TakeKeys(ctx context.Context, tx engine.Tx, asks []engine.KeyAsk, now, expires task.Instant,
	_ bool,
) ([]engine.KeyAnswer, error) {
	s := In(tx)
	answers := make([]engine.KeyAnswer, len(asks))
	for i, a := range asks {
		var err error
		if answers[i], err = s.takeKey(ctx, a, now, expires); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// takeKey binds one key, or returns its valid binding. An expired binding counts as none. The zero answer means that
// the key is bound to the asking task.
func (s SQL) takeKey(ctx context.Context, a engine.KeyAsk, now,
	expires task.Instant,
) (answer engine.KeyAnswer, err error) {
	// one statement decides: the insert wins, or replaces an expired binding
	const take = `INSERT INTO tasker_idempotency_keys (namespace, key, task_id, hash, expires_at)
  VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (namespace, key) DO UPDATE SET task_id = excluded.task_id, hash = excluded.hash,
  expires_at = excluded.expires_at
 WHERE tasker_idempotency_keys.expires_at <= $6`
	n, err := s.Exec(ctx, take, a.Name.Namespace, a.Name.Key, s.id(a.To.Task), a.To.Hash, int64(expires), int64(now))
	if err != nil || n > 0 {
		return answer, err
	}
	const find = `SELECT task_id, hash FROM tasker_idempotency_keys WHERE namespace = $1 AND key = $2`
	answer.Taken = true
	answer.Bound, err = first(ctx, s, func(row Row) (b engine.Binding, err error) {
		err = row.Scan(s.ScanID(&b.Task), (*Text)(&b.Hash))
		return b, err
	}, find, a.Name.Namespace, a.Name.Key)
	return answer, err
}

// BindKey replaces any binding of an idempotency key; see engine.KeyStore. The caller has decided that the old one is
// void.
func (SQL) BindKey(ctx context.Context, tx engine.Tx, name engine.KeyName, to engine.Binding,
	expires task.Instant,
) error {
	s := In(tx)
	const bind = `INSERT INTO tasker_idempotency_keys (namespace, key, task_id, hash, expires_at)
  VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (namespace, key) DO UPDATE SET task_id = excluded.task_id, hash = excluded.hash,
  expires_at = excluded.expires_at`
	err := s.Send(ctx, bind, name.Namespace, name.Key, s.id(to.Task), to.Hash, int64(expires))
	return err
}

// keysAtOnce bounds the keys in one statement, however many items a batch has.
const keysAtOnce = 500

// BoundTasks returns the tasks of valid bindings; see engine.KeyStore. It reads outside of any transaction: a binding
// may change after it.
func (s SQL) BoundTasks(ctx context.Context, names []engine.KeyName,
	now task.Instant,
) (map[engine.KeyName]task.ID, error) {
	keys := map[string][]string{}
	for _, n := range names {
		keys[n.Namespace] = append(keys[n.Namespace], n.Key)
	}
	out := map[engine.KeyName]task.ID{}
	for namespace, all := range keys {
		for some := range slices.Chunk(all, keysAtOnce) {
			if err := s.boundTasks(ctx, namespace, some, now, out); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (s SQL) boundTasks(ctx context.Context, namespace string, keys []string, now task.Instant,
	out map[engine.KeyName]task.ID,
) error {
	w := where{}
	w.add("namespace = ?", namespace)
	w.add("expires_at > ?", int64(now))
	w.add("key IN " + list(&w, keys, func(k string) any { return k }))
	return s.Query(ctx, "SELECT key, task_id FROM tasker_idempotency_keys"+w.text(), w.args, func(row Row) error {
		n, id := engine.KeyName{Namespace: namespace}, task.ID{}
		if err := row.Scan((*Text)(&n.Key), s.ScanID(&id)); err != nil {
			return err
		}
		out[n] = id
		return nil
	})
}
