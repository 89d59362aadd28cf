package node

import (
	"context"

	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// Backup copies a SQLite file, even while it is open, and returns the size of the copy in bytes. CodeInvalid: the
// DSN names no file. CodeConflict: the target exists.
func Backup(ctx context.Context, dsn, target string) (int64, error) {
	kind, what, err := locate(dsn)
	if err != nil {
		return 0, local.ToError(err)
	}
	switch kind {
	case inMemory:
		err = task.Errorf(task.Invalid, "a store in memory has no file to copy")
	case onServer:
		err = &task.Error{Code: task.Invalid, Message: "backup copies files of SQLite only",
			Hint: "use the tools of PostgreSQL: pg_dump --format=custom, or base backups with a WAL archive"}
	default:
		var size int64
		if size, err = sqlite.Backup(ctx, what, target); err == nil {
			return size, nil
		}
	}
	return 0, local.ToError(err)
}
