package migration

import (
	"context"
	"database/sql"
	"time"

	"github.com/pressly/goose/v3/database"
)

// The tables in which a database remembers its migrations. The first is goose's.
const (
	versionTable  = "tasker_migrations"
	checksumTable = "tasker_migration_checksums"
)

// book is goose's table of versions together with the table of checksums: a migration, its
// version and its checksum are stored in one transaction.
type book struct {
	database.Store
	dialect Dialect
	files   []File
	now     func() time.Time
}

// CreateVersionTable implements database.Store.
func (b *book) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	if err := b.Store.CreateVersionTable(ctx, db); err != nil {
		return err
	}
	return b.dialect.createChecksums(ctx, db)
}

// Insert implements database.Store. Its key makes sure that of two processes that
// apply the same migration at the same time, whatever became of the lock, only
// one succeeds.
// goose calls it in the transaction of the migration, so both are stored with its effects or not at all.
func (b *book) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	if err := b.Store.Insert(ctx, db, req); err != nil {
		return err
	}
	if req.Version == 0 {
		return nil // goose's mark of an empty list
	}
	return b.dialect.insertChecksum(ctx, db, b.files[req.Version-1], b.now().UnixMicro())
}

// TableExists implements database.StoreExtender.
func (b *book) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	return b.dialect.hasTable(ctx, db, versionTable)
}

// createChecksums creates the table of checksums.
func (d Dialect) createChecksums(ctx context.Context, db database.DBTxConn) error {
	create := `CREATE TABLE ` + d.table(checksumTable) + ` (
 version    bigint PRIMARY KEY,
 file       text   NOT NULL,
 sha256     text   NOT NULL,
 applied_at bigint NOT NULL)`
	_, err := db.ExecContext(ctx, create)
	return err
}

// insertChecksum stores the checksum of a migration. at is in microseconds since 1970, 0 if
// unknown.
func (d Dialect) insertChecksum(ctx context.Context, db database.DBTxConn, f File, at int64) error {
	insert := `INSERT INTO ` + d.table(checksumTable) + ` (version, file, sha256, applied_at) VALUES ($1, $2, $3, $4)`
	_, err := db.ExecContext(ctx, insert, f.Version, f.Name, f.SHA256, at)
	return err
}

// applied returns the migrations that the database has, by version; an empty map for a database
// without Tasker's tables.
// A database of an early version has no table of checksums; its files then count as unchanged.
func (m *Migrator) applied(ctx context.Context) (map[int64]record, error) {
	have := map[int64]record{}
	if ok, err := m.dialect.hasTable(ctx, m.db, versionTable); err != nil || !ok {
		return have, err
	}
	find := `SELECT version_id, '', '', 0 FROM ` + m.dialect.table(versionTable) + ` WHERE version_id > 0`
	kept, err := m.dialect.hasTable(ctx, m.db, checksumTable)
	if err != nil {
		return nil, err
	}
	if kept {
		find = `SELECT v.version_id, coalesce(c.file, ''), coalesce(c.sha256, ''), coalesce(c.applied_at, 0) FROM ` +
			m.dialect.table(versionTable) + ` v
 LEFT JOIN ` + m.dialect.table(checksumTable) + ` c ON c.version = v.version_id WHERE v.version_id > 0`
	}
	rows, err := m.db.QueryContext(ctx, find)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v, at int64
		var r record
		if err := rows.Scan(&v, &r.file, &r.sha256, &at); err != nil {
			return nil, err
		}
		if at > 0 {
			r.appliedAt = time.UnixMicro(at).UTC()
		}
		have[v] = r
	}
	return have, rows.Err()
}

// adopt stores the checksums of migrations that were applied before checksums existed, so that
// later changes of their files are detected.
func (m *Migrator) adopt(ctx context.Context, list []Status) error {
	ours, err := m.dialect.hasTable(ctx, m.db, versionTable)
	if err != nil || !ours {
		return err // goose will create both
	}
	kept, err := m.dialect.hasTable(ctx, m.db, checksumTable)
	if err != nil {
		return err
	}
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if !kept {
		if err := m.dialect.createChecksums(ctx, tx); err != nil {
			return err
		}
	}
	for _, s := range list {
		if s.State != Applied || s.signed {
			continue
		}
		if err := m.dialect.insertChecksum(ctx, tx, s.File, 0); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// exists reports whether a query of one number returns more than 0.
func exists(ctx context.Context, db querier, query string, args ...any) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n > 0, err
}

// querier is a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
