package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// WriteExternal runs fn in a transaction that its caller has begun on its own connection, and will commit or roll back,
// with the writes of fn. If fn fails, the transaction is restored and can continue.
//
// All processes receive the events with the commit. Invalid: the transaction is not open, or on another database. The
// caller must not use host while it runs. Rows never come from the cache: the transaction may have changed them itself.
func (s *Store) WriteExternal(ctx context.Context, host *pgconn.PgConn,
	fn func(context.Context, engine.Tx) error,
) (err error) {
	if host.TxStatus() != 'T' {
		return task.Errorf(task.Invalid, "the transaction is not open: it has ended or failed, or never begun")
	}
	c := connOf(host, s.guests)
	path, err := s.enter(ctx, c)
	if err != nil {
		return classify(err)
	}
	t := s.newTx(c, false)
	// newTx may have queued the settings of a shared session, which must not enter the caller's transaction.
	t.guest, t.pending = true, nil
	inside := nesting.Enter(ctx)
	defer inside.Leave()
	if err = guarded(inside, t, fn); err == nil {
		err = s.leave(ctx, t, path)
	}
	if err != nil {
		// if even that fails, the transaction cannot be committed, which has the same effect
		_ = s.undo(ctx, c)
		return classify(err)
	}
	return nil
}

// enter makes our tables visible in the transaction, and returns the previous search path. It refuses a foreign
// database. After a failure of fn the savepoint keeps the caller's own work.
func (s *Store) enter(ctx context.Context, c *conn) (path string, err error) {
	var was store.Text
	err = c.run(ctx, []request{
		{sql: `SAVEPOINT tasker`},
		{sql: `SELECT current_setting('search_path')`, each: func(r store.Row) error { return r.Scan(&was) }},
		{sql: `SELECT set_config('search_path', $1, true)`, args: []any{quote(s.schema)}},
	})
	if err != nil {
		return "", err
	}
	var theirs store.Text
	err = c.run(ctx, []request{{sql: installationQuery, each: func(r store.Row) error { return r.Scan(&theirs) }}})
	if err != nil || string(theirs) != s.installation {
		stranger := &task.Error{Code: task.Invalid, Message: "the transaction is on another database than the client",
			Err:  err,
			Hint: "open the client with a DSN of the database that the transaction is on"}
		return "", first(s.undo(ctx, c), stranger)
	}
	return string(was), nil
}

// installationQuery returns the random name that version 1 of the schema gave to this database. It
// tells two databases with the same schema apart.
const installationQuery = `SELECT value FROM tasker_meta WHERE key = 'installation'`

// leave sends the remaining writes and restores the state before enter. It notifies with the transaction: the events
// reach all processes if and when the caller commits. It cuts the list of routes so that each notification fits; see
// maxIDs.
func (s *Store) leave(ctx context.Context, t *tx, path string) error {
	for routes := range slices.Chunk(slices.Sorted(maps.Keys(t.queued)), maxIDs) {
		b := peerMessage{Routes: routes} // without a sender: this process must receive it too
		payload, err := b.encode()
		if err != nil {
			return err
		}
		t.exec(`SELECT pg_notify($1, $2)`, s.channel, payload)
	}
	t.exec(`SELECT set_config('search_path', $1, true)`, path)
	t.exec(`RELEASE SAVEPOINT tasker`)
	_, err := t.commit(ctx)
	return err
}

// undo restores the transaction to the state before enter, also after ctx has ended.
func (s *Store) undo(ctx context.Context, c *conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if err := c.run(ctx, []request{{sql: `ROLLBACK TO SAVEPOINT tasker`}, {sql: `RELEASE SAVEPOINT tasker`}}); err != nil {
		return fmt.Errorf("roll back to the savepoint: %w", err)
	}
	return nil
}
