package local_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/operate"
)

// psql queries the database directly, without our search_path, by the clock of a rig.
type psql struct {
	t      *testing.T
	conn   *pgx.Conn
	schema string
	rig    *rig
}

// handDetected runs the staleness detector only on demand.
func handDetected() settings.Config {
	return settings.Config{StalenessDetection: settings.StalenessDetection{Enabled: settings.Off}}
}

func newPSQL(t *testing.T, cfg settings.Config) *psql {
	t.Helper()
	dsn := postgrestest.DSN(t)
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &psql{t: t, schema: d.Schema, rig: newRig(t, sameIDs{s, task.NewSource(1, 0)}, cfg)}
	config := d.Pool.ConnConfig.Copy()
	config.RuntimeParams["search_path"] = "pg_catalog"
	config.RuntimeParams["timezone"] = "Asia/Kathmandu" // nothing stored depends on the time zone
	if p.conn, err = pgx.ConnectConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	p.exec(insertCyclic, cyclic)
	return p
}

// query returns all rows; @ is the schema.
func query[T any](p *psql, sql string, args ...any) []T {
	p.t.Helper()
	p.tick()
	rows, err := p.conn.Query(p.t.Context(), strings.ReplaceAll(sql, "@", p.schema), args...)
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func (p *psql) text(sql string, args ...any) string {
	p.t.Helper()
	rows := query[struct{ Text *string }](p, sql, args...)
	if len(rows) != 1 || rows[0].Text == nil {
		return ""
	}
	return *rows[0].Text
}

func (p *psql) exec(sql string, args ...any) {
	p.t.Helper()
	p.tick()
	if _, err := p.conn.Exec(p.t.Context(), strings.ReplaceAll(sql, "@", p.schema), args...); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

// tick sets the session's clock to the rig's.
func (p *psql) tick() {
	p.t.Helper()
	now := p.rig.clock().Truncate(time.Microsecond) // as the engine does; PostgreSQL would round it
	if _, err := p.conn.Exec(p.t.Context(), `SELECT set_config('tasker.now', $1, false)`,
		now.Format(time.RFC3339Nano)); err != nil {
		p.t.Fatal(err)
	}
}

// strand executes the statements of that name.
func (p *psql) strand() {
	p.t.Helper()
	for _, statement := range strand {
		p.exec(statement)
	}
}

// dump is everything stored about tasks, one line a row, sorted, without random or order-dependent values: IDs of
// cases, numbers of rows.
func (p *psql) dump() string {
	p.t.Helper()
	var b strings.Builder
	for _, q := range []string{
		`SELECT row_to_json(t)::jsonb::text FROM @.tasker_tasks t`,
		`SELECT row_to_json(t)::jsonb::text FROM @.tasker_workflow_steps t`,
		`SELECT (row_to_json(t)::jsonb - 'id')::text FROM @.tasker_attempts t`,
		`SELECT (row_to_json(t)::jsonb - 'id')::text FROM @.tasker_task_events t`,
		`SELECT (row_to_json(t)::jsonb - 'id' - 'case_id')::text FROM @.tasker_acts t
 WHERE kind <> 'detect_staleness'`, // an operator has started the engine's detector; nobody started the function
		// A loop groups the cases that SQL opens; a case that SQL finds again stays in its group.
		`SELECT (row_to_json(t)::jsonb - 'dlq_entry_uuid' - 'task_snapshot' - 'snapshot_bytes' - 'group_id')::text
 FROM @.tasker_tasks_dlq t`,
		`SELECT (row_to_json(t)::jsonb - 'dlq_entry_uuid' - 'task_snapshot' - 'snapshot_bytes')::text FROM @.tasker_case_occurrences t`,
	} {
		// PostgreSQL's jsonb cannot hold a NUL; json and ours can.
		q = strings.ReplaceAll(q, "row_to_json(t)", `replace(row_to_json(t)::text, '\u0000', '\ufffd')`)
		for _, r := range query[struct{ Line string }](p, q+` ORDER BY 1`) {
			b.WriteString(r.Line + "\n")
		}
	}
	for _, r := range query[struct {
		Task     uuid.UUID
		Snapshot string
	}](p, `SELECT task_uuid, task_snapshot::text FROM @.tasker_tasks_dlq ORDER BY task_uuid, dlq_timestamp`) {
		fmt.Fprintf(&b, "snapshot of %s: %+v\n", r.Task, p.decode(r.Snapshot))
	}
	return b.String()
}

// decode reads a snapshot, with its documents in one form.
func (p *psql) decode(text string) operate.CaseSnapshot {
	p.t.Helper()
	var s operate.CaseSnapshot
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	s.Context, s.Template = canonical(p.t, s.Context), canonical(p.t, s.Template)
	for i := range s.Steps {
		if e := s.Steps[i].LastError; e != nil {
			e.Details = canonical(p.t, e.Details)
			e.Message = strings.ReplaceAll(e.Message, "\x00", "\uFFFD")
		}
	}
	return s
}

func canonical(t *testing.T, document json.RawMessage) json.RawMessage {
	t.Helper()
	if document == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: what the engine says (-) is not what the database says (+):\n%s", what, diff)
	}
}
