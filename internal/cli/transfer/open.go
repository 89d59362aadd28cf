package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// openSource opens an up-to-date source, which a copy must not change, and locks it against servers until close.
// NotFound: no such file.
func openSource(ctx context.Context, at config.DSN) (*database, error) {
	path, err := locate(at)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return openPostgres(ctx, at.Source(), migration.Never)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, task.Errorf(task.NotFound, "there is no file %s", path)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, task.Errorf(task.Invalid, "%s is a directory", path)
	}
	return openSQLite(ctx, path, sqlite.Options{Migrate: migration.Never}, "query_only(1)")
}

// locate returns the path of a SQLite file, "" for PostgreSQL. Invalid: a database in memory, unreachable by other
// processes.
func locate(at config.DSN) (string, error) {
	switch at.Engine {
	case "postgres":
		return "", nil
	case "sqlite":
		return filepath.Abs(at.Path)
	}
	return "", task.Errorf(task.Invalid, "%s is gone with its process, so there is nothing to copy", at)
}

// openTarget opens, creates or migrates the target. A SQLite file needs a seed that rebuilds all IDs of the source;
// without one it fails before writing. It runs inside the source's snapshot, which supplies the IDs. Invalid:
// source and target are one file. Conflict: an existing file has another seed.
func openTarget(ctx context.Context, at config.DSN, source *database) (*database, error) {
	path, err := locate(at)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return openPostgres(ctx, at.Source(), migration.Auto)
	case "sqlite:"+path == source.where:
		return nil, task.Errorf(task.Invalid, "source and target are the same file")
	}
	wanted, err := seedsFor(ctx, source)
	if err != nil {
		return nil, err
	}
	d, err := openSQLite(ctx, path, sqlite.Options{Seed: wanted.pick()}, "synchronous(full)")
	if err != nil {
		return nil, err
	}
	if kept := d.dialect.(*lite).seed; !wanted.allow(kept) {
		return nil,
			errors.Join(&task.Error{Code: task.Conflict, Message: "the file " + path + " rebuilds its IDs from another seed " +
				"than the source's IDs were made from",
				Hint: "copy into a file that does not exist yet"}, d.close())
	}
	return d, nil
}

// seedsFor returns the possible seeds for the source's IDs. For PostgreSQL it reads every ID. Without IDs every
// seed fits.
func seedsFor(ctx context.Context, source *database) (*seeds, error) {
	if l, ok := source.dialect.(*lite); ok {
		return &seeds{seen: true, left: []uint64{l.seed}}, nil
	}
	tables, err := source.catalog(ctx, source.reads)
	if err != nil {
		return nil, err
	}
	s := &seeds{}
	for i := range tables {
		if err := s.addTable(ctx, source, &tables[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addTable fails with the first ID that leaves no seed.
func (s *seeds) addTable(ctx context.Context, source *database, t *table) error {
	narrow, ok := onlyIDs(t)
	if !ok {
		return nil
	}
	return source.each(ctx, &narrow, func(r row) error {
		for i, c := range narrow.columns {
			if c.kind != ids || r[i].null {
				continue
			}
			id, err := task.ParseID(r[i].text)
			if err != nil {
				return err
			}
			if !s.add(id) {
				return foreignID(r[i].text)
			}
		}
		return nil
	})
}

// onlyIDs reduces a table to its key and IDs, because reading other columns would double the time of a copy.
func onlyIDs(t *table) (narrow table, has bool) {
	narrow = table{name: t.name, key: make([]int, len(t.key))}
	for i, c := range t.columns {
		place := slices.Index(t.key, i)
		if c.kind != ids && place < 0 {
			continue
		}
		if place >= 0 {
			narrow.key[place] = len(narrow.columns)
		}
		has = has || c.kind == ids
		narrow.columns = append(narrow.columns, c)
	}
	return narrow, has
}

// openSQLite keeps servers out: opening the store takes its lock.
func openSQLite(ctx context.Context, path string, opts sqlite.Options, pragma string) (*database, error) {
	lock, err := sqlite.Open(ctx, path, &opts)
	if err != nil {
		return nil, err
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "foreign_keys(off)", "temp_store(memory)", pragma}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l := &lite{db: db, ids: lock.IDs()}
	d := &database{dialect: l, where: "sqlite:" + path, closers: []func() error{db.Close, lock.Close}}
	err = d.snapshot(ctx, func() error {
		l.seed, err = seedOf(ctx, d.reads)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// openPostgres opens an up-to-date schema, or migrates it if mode allows. It fails while a server uses it.
func openPostgres(ctx context.Context, dsn string, mode migration.Mode) (*database, error) {
	at, err := postgres.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	m, closeMigrator, err := postgres.Migrator(at)
	if err != nil {
		return nil, err
	}
	err = errors.Join(m.Ensure(ctx, mode), closeMigrator())
	if err != nil {
		return nil, err
	}
	p := &pg{db: stdlib.OpenDB(*at.Pool.ConnConfig)}
	if at.PgBouncer {
		p.schema = at.Schema
	}
	d := &database{dialect: p, where: at.String(), closers: []func() error{p.db.Close}}
	err = d.snapshot(ctx, func() error { return idle(ctx, d) })
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// idle fails while a server uses the database. A server renews its turns every few seconds; a killed one counts
// until its turn expires.
func idle(ctx context.Context, d *database) error {
	n, err := aliveNodes(ctx, d.reads)
	if err != nil || n == 0 {
		return err
	}
	return &task.Error{Code: task.Unavailable, Message: fmt.Sprintf("%d tasker processes use %s", n, d.where),
		Hint: "stop them; one that was killed counts for some seconds more"}
}
