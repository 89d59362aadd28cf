package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Backup writes a copy of the file at path to a new file, checks it and syncs it to disk, and returns its size in
// bytes. Another process may write meanwhile: the copy has the state when it began. It has no log beside it and no
// unused pages. Invalid: path is no file. Conflict: the target exists; it is never overwritten.
func Backup(ctx context.Context, path, target string) (int64, error) {
	if _, err := os.Stat(path); err != nil {
		return 0, &task.Error{Code: task.Invalid, Message: "there is no database " + path, Err: err}
	}
	target, err := filepath.Abs(target)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return 0, errors.Join(err, task.Errorf(task.Conflict, "%s exists already", target))
	}
	// The copy gets the target's name when it is complete.
	partial := target + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if err := makePrivate(partial); err != nil {
		return 0, fmt.Errorf("create %s: %w", partial, err)
	}
	size, err := backup(ctx, path, partial)
	if err == nil {
		err = os.Rename(partial, target)
	}
	if err == nil {
		return size, syncFile(filepath.Dir(target))
	}
	return 0, errors.Join(fmt.Errorf("back up %s: %w", path, err), os.Remove(partial))
}

func backup(ctx context.Context, path, partial string) (int64, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	// Not query_only, which refuses the statement. It writes nothing to this file.
	err = onFile(ctx, absolute, []string{"busy_timeout(10000)"}, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, `VACUUM INTO $1`, partial)
		return err
	})
	if err != nil {
		return 0, err
	}
	var answer string
	err = onFile(ctx, partial, readerPragmas, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `PRAGMA quick_check`).Scan(&answer)
	})
	if err == nil && answer != "ok" {
		err = fmt.Errorf("the copy is damaged: %s", answer)
	}
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(partial)
	if err != nil {
		return 0, err
	}
	return info.Size(), syncFile(partial)
}

func onFile(ctx context.Context, path string, pragmas []string, do func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", dsn(path, pragmas))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(db.PingContext(ctx), do(db), db.Close())
}
