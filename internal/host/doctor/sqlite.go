package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

type file struct {
	patient
	path string
}

// examineSQLite examines a file that a server may have open. If a server starts meanwhile, it restarts, because it
// read the file as immutable. Invalid: the path is no regular or no SQLite file.
func examineSQLite(ctx context.Context, path string, opts Options) (*Report, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, task.Errorf(task.NotFound, "there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, task.Errorf(task.Invalid, "%s is not a file", path)
	}
	// The last connection removes the log.
	calm, err := isCalm(path)
	if err != nil {
		return nil, err
	}
	r, err := examineFile(ctx, path, calm, opts)
	if still, _ := isCalm(path); calm && !still && ctx.Err() == nil {
		return examineFile(ctx, path, false, opts) // a server has started
	}
	return r, err
}

// Without a log no process has the file open.
func isCalm(path string) (bool, error) {
	_, err := os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

func examineFile(ctx context.Context, path string, calm bool, opts Options) (*Report, error) {
	db, err := openFile(ctx, path, calm)
	if err != nil {
		return nil, task.Errorf(task.Invalid, "%s cannot be read as a SQLite file: %v", path, err)
	}
	defer db.Close()
	f := &file{path: path}
	f.patient = patient{Options: opts, db: db, begin: func(ctx context.Context) (*sql.Tx, error) {
		return db.BeginTx(ctx, nil)
	},
		clock: func(context.Context, *sql.Tx) (task.Instant, error) { return task.At(opts.Now()), nil }}
	checks, there, err := f.schema(ctx)
	if err != nil {
		return nil, err
	}
	exams := []exam{{"integrity", f.integrity}, {"journal", f.journal}, {"log", f.log}, {"free_pages", f.free}}
	if there {
		exams = append(exams, exam{"indexes", f.indexes})
		exams = append(exams, f.workExams("a server runs on this file")...)
	}
	if there && opts.Keys {
		found, err := f.examine(ctx, []exam{{"encryption", f.keys}})
		return report(path, found), err
	}
	more, err := f.examine(ctx, exams)
	if there && err == nil {
		var found []Check
		found, err = f.brokers(ctx)
		more = append(more, found...)
	}
	return report("sqlite:"+path, append(checks, more...)), err
}

// openFile opens a file read-only. Without a log the file is read as immutable, because SQLite would create a log
// of this user that may keep a server from writing.
func openFile(ctx context.Context, path string, calm bool) (*sql.DB, error) {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)", "temp_store(memory)"}}
	if calm {
		q.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n); err != nil {
		_ = db.Close() // the first failure matters
		return nil, err
	}
	return db, nil
}

func (f *file) schema(ctx context.Context) ([]Check, bool, error) {
	files, err := sqlite.Migrations()
	if err != nil {
		return nil, false, err
	}
	return schema(ctx, migration.New(f.db, files, migration.SQLite()))
}

// integrity reads the whole file and reports at most 5 problems. quick_check skips the comparison of indexes, which
// would take several times as long.
func (f *file) integrity(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	found, err := list(ctx, tx, func(rows *sql.Rows) (s string, err error) {
		return s, rows.Scan(&s)
	}, `PRAGMA quick_check(5)`)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 && found[0] == "ok" {
		return ok("quick_check finds no damage"), nil
	}
	return []Check{{Status: Fail, Seen: "the file is damaged: " + strings.Join(found, "; "),
		Do: "Stop the server, keep a copy of the file, and restore a backup, or save what can be read with .recover of the " +
			"program sqlite3."}}, nil
}

// journal reads the journal mode from the header, because SQLite does not report it for an immutable file. Byte 18
// is the documented write version, 2 for WAL.
func (f *file) journal(context.Context, *sql.Tx) ([]Check, error) {
	head := make([]byte, 20)
	r, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	const writeVersion, wal = 18, 2
	if head[writeVersion] == wal {
		return ok("journal_mode is wal"), nil
	}
	return []Check{{Status: Warn, Seen: "journal_mode is not wal, so readers and the writer wait for each other",
		Do: "Start a server on the file once; it sets wal. On a network file system SQLite cannot use it: move the file to " +
			"a local disk."}}, nil
}

// log checks the length of the write-ahead log. Under load SQLite checkpoints it often; a long log means that a
// reader prevents that.
func (f *file) log(context.Context, *sql.Tx) ([]Check, error) {
	info, err := os.Stat(f.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return ok("there is no write-ahead log, as when no process has the file open"), nil
	}
	if err != nil {
		return nil, err
	}
	// The factor allows a burst of writes: 256 MiB by default.
	if info.Size() <= max(4*f.Limits.WasteBytes, 1<<20) {
		return ok("the write-ahead log holds %s", size(info.Size())), nil
	}
	return []Check{{Status: Warn, Seen: "the write-ahead log has grown to " + size(info.Size()) +
		" and is not moved into the file",
		Do: "Some process reads the file without an end (a backup, an open sqlite3): end it. " +
			"If none does, restart the server."}}, nil
}

// Free pages are reused by later writes and cost only disk.
func (f *file) free(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	var pages, free, bytes int64
	for query, dest := range map[string]*int64{`PRAGMA page_count`: &pages, `PRAGMA freelist_count`: &free,
		`PRAGMA page_size`: &bytes} {
		if err := tx.QueryRowContext(ctx, query).Scan(dest); err != nil {
			return nil, err
		}
	}
	seen := fmt.Sprintf("%s of %s are free", size(free*bytes), size(pages*bytes))
	if free*bytes <= f.Limits.WasteBytes || free*2 <= pages {
		return ok("%s, and will be used again", seen), nil
	}
	return []Check{{Status: Warn, Seen: seen, Do: "They will be used again; to give them back to the file system, stop " +
		"the server and run VACUUM with the program sqlite3."}}, nil
}

// indexes compares the indexes with a fresh schema in memory. PostgreSQL has an embedded list instead.
func (f *file) indexes(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	files, err := sqlite.Migrations()
	if err != nil {
		return nil, err
	}
	fresh, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer fresh.Close()
	fresh.SetMaxOpenConns(1) // each connection would have its own database
	if _, err := migration.New(fresh, files, migration.SQLite()).Up(ctx); err != nil {
		return nil, fmt.Errorf("make a fresh schema: %w", err)
	}
	ideal, err := fresh.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ideal.Rollback() }() // read-only
	want, err := fileIndexes(ctx, ideal)
	if err != nil {
		return nil, err
	}
	have, err := fileIndexes(ctx, tx)
	if err != nil {
		return nil, err
	}
	return compareIndexes(want, have, func(i index) string { return i.definition + ", with the server stopped." }), nil
}

// Indexes of primary keys have no statement and cannot be dropped.
func fileIndexes(ctx context.Context, tx *sql.Tx) ([]index, error) {
	const query = `SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
  AND tbl_name LIKE 'tasker\_%' ESCAPE '\' ORDER BY name`
	return list(ctx, tx, func(rows *sql.Rows) (i index, err error) {
		err = rows.Scan(&i.name, &i.table, &i.definition)
		i.definition, i.valid = tidy(i.definition), true
		return i, err
	}, query)
}
