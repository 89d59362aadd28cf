package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// classify gives SQLite's errors an error code of the engine, by result code and never by text, which is not part of
// SQLite's interface. Unknown errors become internal errors.
func classify(err error) error {
	var e *sqlite.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, sql.ErrConnDone):
		return err
	case !errors.As(err, &e):
		return err
	}
	// The low byte is the primary result code.
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL:
		return &task.Error{Code: task.Unavailable, Message: "the disk is full", Hint: "free space; nothing was stored",
			Err: errors.Join(engine.ErrFull, err)}
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_NOMEM:
		return &task.Error{Code: task.Unavailable, Message: "the database does not answer", Err: err}
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return &task.Error{Code: task.Unavailable, Message: "the database file is damaged, or is not one", Err: err}
	default:
		return err
	}
}

// classify is the same for a query, which may arrive after Close: a closed pool has no result code.
func (s *Store) classify(err error) error {
	if err != nil && s.closed.Load() {
		return &task.Error{Code: task.Unavailable, Message: "the store is closed", Err: err}
	}
	return classify(err)
}

func joinErrors(errs []error) error { return classify(errors.Join(errs...)) }
