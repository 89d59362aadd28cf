package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// maxRuns bounds the runs of a unit of work; then its caller gets the error that the database is too busy.
const maxRuns = 10

// Write implements engine.Store. Only Write runs a transaction again: after a lost race (a changed row, a deadlock, a
// serialization failure), after a connection that was dead before anything was sent, or after a refusal based on cached
// rows, which another transaction may have changed meanwhile. fn may run several times and must have no effects besides
// its transaction. It blocks up to Options.Timeout.
func (s *Store) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	lost := false
	for run := 1; ; run++ {
		relied, err := s.attempt(ctx, lost, fn)
		switch {
		case err == nil:
			return nil
		case isReplaced(err):
			s.identity.lost()
			return classify(err)
		case run == maxRuns:
			return classify(err)
		case isRace(err), relied && isRefusal(err):
			lost = true
		case !isStale(err):
			return classify(err)
		}
		if err := pause(ctx, run); err != nil {
			return classify(err)
		}
	}
}

// pause waits for a random time before another run, up to 64 ms, to separate colliding transactions; the first
// repetition runs immediately.
func pause(ctx context.Context, run int) error {
	if run == 1 {
		return nil
	}
	return clock.Sleep(ctx, rand.N(time.Millisecond<<min(run, 6)))
}

// attempt runs fn once. It reports whether fn relied on cached rows. careful makes it lock the rows that it reads.
func (s *Store) attempt(ctx context.Context, careful bool,
	fn func(context.Context, engine.Tx) error,
) (relied bool, err error) {
	c, err := s.acquire(ctx)
	if err != nil {
		return false, err
	}
	inside := nesting.Enter(ctx)
	defer inside.Leave()
	defer c.Release()
	t := s.newTx(connOf(c.Conn().PgConn(), s.known), careful)
	err = guarded(inside, t, fn)
	var version uint32
	committing := err == nil
	if committing {
		version, err = t.commit(ctx)
	}
	if err != nil {
		t.failed()
		s.rollback(ctx, t)
		for _, fn := range t.undone {
			fn(!committing || isRace(err) || isStale(err))
		}
		return t.relied(), err
	}
	t.committed(version)
	return false, nil
}

// relied reports whether the transaction returned cached rows. A refusal based on them may be wrong, so the unit runs
// once more on rows read afresh.
func (t *tx) relied() bool {
	for _, k := range t.tasks {
		if k.remembered {
			return true
		}
	}
	for _, s := range t.steps {
		if s.remembered {
			return true
		}
	}
	return false
}

// isRefusal reports whether an error is the engine's decision, and not the database's, which classify makes
// Unavailable.
func isRefusal(err error) bool {
	var e *task.Error
	return errors.As(err, &e) && e.Code != task.Unavailable
}

// guarded turns a panic into an error: the transaction must be rolled back.
func guarded(ctx context.Context, t *tx, fn func(context.Context, engine.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(ctx, t)
}

// rollback ends an unsuccessful transaction. If it cannot roll back, it closes the connection, which ends the
// transaction too.
func (s *Store) rollback(ctx context.Context, t *tx) {
	if !t.begun || t.conn.pg.IsClosed() || t.conn.pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if err := t.conn.run(ctx, []request{{sql: "ROLLBACK"}}); err != nil {
		_ = t.conn.pg.Close(ctx)
	}
}

const rollbackTimeout = 5 * time.Second

func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// isRace reports an error caused by another transaction, by SQLSTATE: serialization failure, deadlock, or our own for a
// row changed meanwhile.
func isRace(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01" || e.Code == codeChanged)
}

func isReplaced(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == codeReplaced
}

// codeChanged is the error code of tasker_expect.
const codeChanged = "TK001"

// isStale reports whether nothing can have been done on a connection: it was dead before anything was sent, or its
// prepared statements do not match the schema.
func isStale(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		// An unknown prepared statement, and a cached plan whose result type has changed.
		return e.Code == "26000" || e.Code == "0A000"
	}
	return pgconn.SafeToRetry(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// classify gives PostgreSQL's errors a code, by SQLSTATE and never by text.
func classify(err error) error {
	var e *task.Error
	var pg *pgconn.PgError
	switch {
	case err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled):
		return err
	case isRace(err):
		return &task.Error{Code: task.Unavailable, Message: "the database is too busy: others kept changing the same rows",
			Err: err}
	case errors.As(err, &pg):
		return classifyState(pg, err)
	case errors.Is(err, context.DeadlineExceeded), isConnection(err):
		return &task.Error{Code: task.Unavailable, Message: "the database does not answer", Err: err}
	default:
		return err
	}
}

// classifyState gives an error of the server its code. Conditions that time or an operator can cure are Unavailable, so
// that callers retry; the hint is for the operator.
func classifyState(pg *pgconn.PgError, err error) error {
	unavailable := func(message, hint string) error {
		return &task.Error{Code: task.Unavailable, Message: message, Hint: hint, Err: err}
	}
	switch {
	case pg.Code == codeReplaced:
		return &task.Error{Code: task.Unavailable, Message: "the database went back in time; what this node knew of it is " +
			"read again",
			Hint: "send the request again", Err: errors.Join(engine.ErrReplaced, err)}
	case pg.Code == "53100":
		return &task.Error{Code: task.Unavailable, Message: engine.ErrFull.Error(), Hint: "free space; nothing was stored",
			Err: errors.Join(engine.ErrFull, err)}
	case pg.Code == codeStatementTaken, pg.Code == "26000":
		return poolerInBetween(err)
	case pg.Code == "08P01": // a pooler has mixed up statements, or reports its own error
		return unavailable("the database does not answer (SQLSTATE 08P01)", "if there is a pooler such as PgBouncer before "+
			"PostgreSQL, read its log, and add pgbouncer=true to the DSN")
	case pg.Code == "53300":
		return unavailable("the database takes no more connections", "raise max_connections, or lower the pools of the nodes")
	case pg.Code == "25006":
		return unavailable("the database takes no writes: it is a standby, or read-only", "connect to the primary")
	case pg.Code == "42P01" || pg.Code == "3F000":
		return unavailable("the database has no Tasker schema", "run tasker migrate up")
	}
	switch pg.Code[:2] {
	case "08", "53", "57", "58", "XX", "55":
		return unavailable("the database does not answer (SQLSTATE "+pg.Code+")", "")
	case "28", "3D":
		return unavailable("the database refuses the connection: "+pg.Message, "check the DSN")
	default:
		return err
	}
}

const codeStatementTaken = "42P05"

// poolerInBetween: another client of a pooler has prepared a statement on our connection.
func poolerInBetween(err error) error {
	return &task.Error{Code: task.Unavailable, Message: "the connections are shared with other clients: there is a " +
		"pooler such as PgBouncer before PostgreSQL", Hint: "add pgbouncer=true to the DSN", Err: err}
}

// isConnection reports whether the cause is the network or an exhausted pool. Every error with a method Timeout counts,
// as in package net.
func isConnection(err error) bool {
	var connect *pgconn.ConnectError
	var net interface{ Timeout() bool }
	return errors.As(err, &connect) || errors.As(err, &net) || pgconn.SafeToRetry(err) || isCut(err)
}

// KeepSettings implements engine.SettingsKeeper. One transaction replaces all, so that no view sees half of them.
func (s *Store) KeepSettings(ctx context.Context, settings map[string]int64) error {
	return s.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return store.In(tx).KeepSettings(ctx, settings) })
}
