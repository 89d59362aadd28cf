package migration

import (
	"context"
	"database/sql"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// versionTable is the table in which a database remembers its versions.
const versionTable = "tasker_migrations"

// record is one applied version, as the database knows it.
type record struct {
	file, sha256 string
	appliedAt    time.Time
}

// createTable creates the table of versions, in the transaction of version 1.
func (d Dialect) createTable(ctx context.Context, tx *sql.Tx) error {
	create := `CREATE TABLE ` + d.table() + ` (
    version    bigint PRIMARY KEY,
    file       text   NOT NULL,
    sha256     text   NOT NULL,
    applied_at bigint NOT NULL
)`
	_, err := tx.ExecContext(ctx, create)
	return err
}

// insert records a version in its own transaction. The key makes sure that of two processes that apply the same
// version at the same time, whatever became of the lock, only one succeeds.
func (d Dialect) insert(ctx context.Context, tx *sql.Tx, f File) error {
	insert := `INSERT INTO ` + d.table() + ` (version, file, sha256, applied_at) VALUES ($1, $2, $3, $4)`
	_, err := tx.ExecContext(ctx, insert, f.Version, f.Name, f.SHA256, time.Now().UnixMicro())
	return err
}

// applied returns the versions that the database has; an empty map for a database without Tasker's tables. The error
// is a Conflict if there are such tables, and no record of their version.
func (m *Migrator) applied(ctx context.Context) (map[int64]record, error) {
	var tables, known int
	if err := m.db.QueryRowContext(ctx, m.dialect.count, m.dialect.args...).Scan(&tables, &known); err != nil {
		return nil, err
	}
	have := map[int64]record{}
	if tables == 0 {
		return have, nil
	}
	if known > 0 {
		if err := m.read(ctx, have); err != nil {
			return nil, err
		}
	}
	if len(have) == 0 {
		return nil, errUnrecorded
	}
	return have, nil
}

// errUnrecorded is the error of a database whose tables are of no known version: a guess could migrate half of it.
var errUnrecorded = &task.Error{Code: task.Conflict,
	Message: "the database has tables of Tasker, and no record of their version: it was made by a build from before " +
		"version 0.1.0, or by hand",
	Hint: "nothing was changed. Start with a new database, or restore a backup of this version; what you need of the " +
		"old one, export with the build that made it (tasker letter export, tasker audit archive)"}

// read adds the recorded versions to have.
func (m *Migrator) read(ctx context.Context, have map[int64]record) error {
	rows, err := m.db.QueryContext(ctx, `SELECT version, file, sha256, applied_at FROM `+m.dialect.table())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var v, at int64
		var r record
		if err := rows.Scan(&v, &r.file, &r.sha256, &at); err != nil {
			return err
		}
		r.appliedAt = time.UnixMicro(at).UTC()
		have[v] = r
	}
	return rows.Err()
}
