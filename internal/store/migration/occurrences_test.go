package migration_test

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/store/migration"
)

// convertedCase is a case before and after the migration that took what the engine notes
// out of the metadata.
type convertedCase struct {
	id, task, metadata, notes string
	recovery, replays, kept   string // JSON; "" is NULL
	noted                     int
}

// TestStoredCasesAreConverted: what cases knew of recoveries and replays, and their notes,
// are found where they are kept now.
func TestStoredCasesAreConverted(t *testing.T) {
	t.Parallel()
	const complete = `{"at":"2026-03-01T12:00:00Z","state":"complete","by":"ada","how":"replay"}`
	cases := []convertedCase{
		{id: "1", task: "11", metadata: `{"recovered":` + complete +
			`,"replayed":{"count":2,"at":"2026-03-01T12:00:00Z","by":"ada"},"root":"x"}`, notes: "pool too small",
			recovery: complete, replays: `{"count":2,"at":"2026-03-01T12:00:00Z","by":"ada"}`, kept: `{"root":"x"}`, noted: 1},
		{id: "2", task: "12",
			metadata: `{"recovered":{"at":"2026-03-01T12:00:00Z","state":"cancelled","by":"bob","how":"cancel"}}`},
		{id: "3", task: "13", metadata: `{"root":"y"}`, kept: `{"root":"y"}`},
		{id: "4", task: "14"},
	}
	engines(t, func(t *testing.T, p place) {
		files := shipped(t, p.shipped)
		before := slices.IndexFunc(files, func(f migration.File) bool {
			return strings.HasSuffix(f.Name, "_occurrences.sql")
		})
		up(t, p.migrator(t, dirOf(files[:before])))
		db := p.open(t)
		for _, c := range cases {
			c.insert(t, db, p)
		}
		up(t, p.migrator(t, dirOf(files)))
		for _, c := range cases {
			c.check(t, db, p)
		}
	})
}

// key is an ID as the engine of a place keeps it.
func (p place) key(n string) string {
	if strings.HasPrefix(p.dsn, "sqlite:") {
		return n
	}
	return "'00000000-0000-7000-8000-0000000000" + n[len(n)-1:] + n[:1] + "'"
}

func (c convertedCase) insert(t *testing.T, db *sql.DB, p place) {
	t.Helper()
	literal := func(s string) string {
		if s == "" {
			return "NULL"
		}
		return "'" + s + "'"
	}
	_, err := db.ExecContext(t.Context(),
		`INSERT INTO tasker_tasks_dlq (dlq_entry_uuid, task_uuid, def_id, original_state, dlq_reason, dlq_timestamp, task_snapshot,
 resolution_status, resolution_notes, resolved_at, resolved_by, metadata, created_at, updated_at) VALUES (`+p.key(c.id)+`, `+p.key(c.task)+`, 1,
 'steps_in_process', 'manual_dlq', 5, '{"n":1}', 'manually_resolved', `+literal(c.notes)+`, 9, 'ada', `+literal(c.metadata)+`, 5, 9)`)
	if err != nil {
		t.Fatal(err)
	}
}

func (c convertedCase) check(t *testing.T, db *sql.DB, p place) {
	t.Helper()
	var recovery, replays, metadata sql.NullString
	var cause string
	var occurrences, at, size, notes int
	err := db.QueryRowContext(t.Context(),
		`SELECT recovery, replays, metadata, cause, occurrences, occurred_at, snapshot_bytes, note_count
 FROM tasker_tasks_dlq WHERE dlq_entry_uuid = `+p.key(c.id)).Scan(&recovery, &replays, &metadata, &cause, &occurrences, &at, &size, &notes)
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]string{"recovery": {recovery.String, c.recovery},
		"replays": {replays.String, c.replays}, "metadata": {metadata.String, c.kept}} {
		if !sameJSON(t, pair[0], pair[1]) {
			t.Errorf("the %s of case %s is %s, want %s", what, c.id, pair[0], pair[1])
		}
	}
	if cause != "manual" || occurrences != 1 || at != 5 || size != 7 || notes != c.noted {
		t.Errorf("case %s is %s, %d times, at %d, %d bytes, %d notes", c.id, cause, occurrences, at, size, notes)
	}
	if c.noted == 0 {
		return
	}
	var author, body string
	err = db.QueryRowContext(t.Context(),
		`SELECT at, author, body FROM tasker_case_notes WHERE no = 1 AND dlq_entry_uuid = `+p.key(c.id)).Scan(&at, &author,
		&body)
	if err != nil || at != 9 || author != "ada" || body != c.notes {
		t.Errorf("the note of case %s is %q by %s at %d, %v", c.id, body, author, at, err)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	canonical := func(s string) string {
		if s == "" {
			return ""
		}
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatalf("%v: %s", err, s)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return canonical(a) == canonical(b)
}
