package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// State is the state of a migration between this binary and a database.
type State string

// The states. Only the first two let a database be used or migrated.
const (
	Applied State = "applied" // the database has it, as it is in this binary
	Pending State = "pending" // it would be applied next
	Changed State = "changed" // the database has it, and the file was another then
	Skipped State = "skipped" // the database has later ones, but not this
	Unknown State = "unknown" // the database has it, and this binary does not
)

// Status is one migration in one database.
type Status struct {
	File
	State     State
	AppliedAt time.Time // zero when it is not applied
}

// compare compares the list of this binary with that of the database. It returns one Status per file, then one per
// migration that only the database has.
func compare(files []File, have map[int64]record) []Status {
	var newest int64
	for v := range have {
		newest = max(newest, v)
	}
	out := make([]Status, 0, len(files))
	for _, f := range files {
		s := Status{File: f, State: Pending}
		switch r, ok := have[f.Version]; {
		case ok && r.sha256 != f.SHA256:
			s.State, s.AppliedAt = Changed, r.appliedAt
		case ok:
			s.State, s.AppliedAt = Applied, r.appliedAt
		case f.Version < newest:
			s.State = Skipped
		}
		out = append(out, s)
	}
	for _, v := range slices.Sorted(maps.Keys(have)) {
		if v > int64(len(files)) {
			r := have[v]
			out = append(out, Status{File: File{Version: v, Name: r.file, SHA256: r.sha256}, State: Unknown,
				AppliedAt: r.appliedAt})
		}
	}
	return out
}

// Check refuses a database that this binary must not change. The error is a *task.Error of code Conflict that
// names the file and the remedy.
func Check(list []Status) error {
	for _, s := range list {
		e := &task.Error{Code: task.Conflict}
		switch s.State {
		case Unknown:
			e.Message = fmt.Sprintf("the database was migrated by a newer tasker: it has %s, and this binary does not", s.Name)
			e.Hint = "use the newer binary; a schema does not go back"
		case Changed:
			e.Message = fmt.Sprintf("the database was migrated with another %s than this binary has", s.Name)
			e.Hint = "use the binary that migrated it, or one of a later release; a released migration never changes"
		case Skipped:
			e.Message = fmt.Sprintf("the database lacks %s, though it has later migrations", s.Name)
			e.Hint =
				"somebody edited tasker_migrations; restore the row if the schema has the change, or restore the database " +
					"from a backup"
		default:
			continue
		}
		return e
	}
	return nil
}

// PendingFiles returns those that would be applied next, in order.
// They have no gap among them: a missing one below an applied one is Skipped.
func PendingFiles(list []Status) []File {
	var out []File
	for _, s := range list {
		if s.State == Pending {
			out = append(out, s.File)
		}
	}
	return out
}

// Status compares the database with this binary. It changes nothing, not even
// where no table exists yet.
// It takes no lock, so a migration in progress may show in part.
func (m *Migrator) Status(ctx context.Context) ([]Status, error) {
	if m.dialect.check != nil {
		if err := m.dialect.check(ctx, m.db); err != nil {
			return nil, err
		}
	}
	have, err := m.applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("read schema version: %w", err)
	}
	return compare(m.files, have), nil
}
