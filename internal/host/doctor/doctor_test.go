package doctor_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/worker/protocol"
)

func parse(t *testing.T, dsn string) config.DSN {
	t.Helper()
	at, err := config.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func examine(t *testing.T, dsn string, opts doctor.Options) *doctor.Report {
	t.Helper()
	r, err := doctor.Examine(t.Context(), parse(t, dsn), opts)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.Checks {
		if c.Name == "" || c.Seen == "" || (c.Do == "") != (c.Status == doctor.OK) {
			t.Errorf("an incomplete check: %+v", c)
		}
		if i > 0 && c.Status == doctor.Fail && r.Checks[i-1].Status != doctor.Fail {
			t.Errorf("%s fails and does not come first", c.Name)
		}
	}
	return r
}

func wantCheck(t *testing.T, r *doctor.Report, name string, status doctor.Status, text string) {
	t.Helper()
	if !slices.ContainsFunc(r.Checks, func(c doctor.Check) bool {
		return c.Name == name && c.Status == status && strings.Contains(c.Seen, text)
	}) {
		t.Errorf("no check %s is %s and says %q:\n%s", name, status, text, show(r))
	}
}

func show(r *doctor.Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		b.WriteString(string(c.Status) + " " + c.Name + ": " + c.Seen + "\n   " + c.Do + "\n")
	}
	return b.String()
}

// fill leaves a leased step, one that waits for a time, and two ready ones, one on a route without a worker.
func fill(t *testing.T, dsn string) {
	t.Helper()
	b, err := node.Open(t.Context(), dsn, node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := tasker.NewClient(b)
	w, err := protocol.Of(c).RegisterWorker(t.Context(), protocol.WorkerRegistration{Name: "w", Handlers: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	for _, req := range []tasker.TaskRequest{{TaskType: "a"}, {TaskType: "a"}, {TaskType: "a", RunAt: &later},
		{TaskType: "b", Namespace: "other", RequiredCapabilities: []string{"gpu"}}} {
		if _, err := c.Submit(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := protocol.Of(c).Poll(t.Context(), protocol.PollRequest{WorkerID: w.WorkerID, Start: true})
	if err != nil || len(resp.Steps) != 1 {
		t.Fatalf("the poll brought %+v, %v", resp, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	var db *sql.DB
	if file, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		var err error
		if db, err = sql.Open("sqlite", file); err != nil {
			t.Fatal(err)
		}
	} else {
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		db = stdlib.OpenDB(*d.Pool.ConnConfig)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// execute uses separate connections: PostgreSQL counts rows when a session ends.
func execute(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	db := connect(t, dsn)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

type broken struct {
	name       string
	statements []string
	check      string
	status     doctor.Status
	says       string
	limits     doctor.Limits
}

var theWork = []broken{
	{name: "StuckLease", statements: []string{`UPDATE tasker_workflow_steps SET key = 1000000 WHERE queue = -2`},
		check: "leases", status: doctor.Fail, says: "1 leases have expired"},
	{name: "OverdueTimer", statements: []string{`UPDATE tasker_workflow_steps SET key = 1000000 WHERE queue = -1`},
		check: "timers", status: doctor.Fail, says: "1 steps wait for a time that has passed"},
	{name: "MissedDeadline", statements: []string{`UPDATE tasker_tasks SET deadline_at = 1000000`}, check: "deadlines",
		status: doctor.Fail, says: "4 tasks are past their deadline"},
	{name: "NobodyServes", statements: []string{`UPDATE tasker_workflow_steps SET ready_at = 1000000`}, check: "routes",
		status: doctor.Warn, says: "1 ready steps wait for handler b of namespace other with gpu"},
	{name: "WorkersGone", statements: []string{`UPDATE tasker_workflow_steps SET ready_at = 1000000`,
		`UPDATE tasker_workers SET last_heartbeat = 1000000`},
		check: "routes", status: doctor.Warn, says: "1 ready steps wait for handler a of namespace default"},
	{name: "NoQueueIndex", statements: []string{`DROP INDEX tasker_workflow_steps_queue`}, check: "indexes",
		status: doctor.Fail, says: "index tasker_workflow_steps_queue is missing"},
	{name: "OtherIndex", statements: []string{`DROP INDEX tasker_attempts_by_task`,
		`CREATE INDEX tasker_attempts_by_task ON tasker_attempts (step_id)`},
		check: "indexes", status: doctor.Warn, says: "index tasker_attempts_by_task is another: CREATE INDEX"},
	{name: "IndexTooMany", statements: []string{`CREATE INDEX my_own ON tasker_tasks (state)`}, check: "indexes",
		status: doctor.Warn, says: "index my_own on tasker_tasks is not Tasker's"},
	{name: "NewerSchema",
		statements: []string{`INSERT INTO tasker_migrations (version, file, sha256, applied_at) VALUES (9999, '9999_x.sql', 'x', 1)`},
		check:      "schema", status: doctor.Fail, says: "newer tasker"},
	{name: "ChangedMigration", statements: []string{`UPDATE tasker_migrations SET sha256 = 'x'`}, check: "schema",
		status: doctor.Fail, says: "another 0001"},
	{name: "OrphanedTasks", statements: []string{`DELETE FROM tasker_templates WHERE name = 'a'`},
		check: "orphans", status: doctor.Fail, says: "tasks are of templates that do not exist"},
	{name: "OrphanedSteps", statements: []string{`DELETE FROM tasker_routes WHERE handler = 'a'`},
		check: "orphans", status: doctor.Fail, says: "steps are ready on routes that do not exist"},
	{name: "ForgottenPause", statements: []string{`INSERT INTO tasker_pauses (kind, namespace, name, capabilities, actor,
  reason, paused_at, until_at, ended_at, ended_by, end_reason) VALUES ('handler', 'default', 'a', '', 'ann', '', 1000000,
  0, 0, '', '')`}, check: "pauses", status: doctor.Warn, says: `handler "a" in namespace "default" has been paused for`},
	{name: "OpenOutage", statements: []string{`INSERT INTO tasker_outages (outage_id, route_id, namespace, closed_at, body)
  SELECT id, 1, 'default', 0, '{"handler":"a","title":"down","opened_at":1000000}' FROM tasker_tasks LIMIT 1`},
		check: "outages", status: doctor.Warn, says: `handler "a" in namespace "default" has had an outage for`},
	{name: "SteppedOver", statements: []string{`INSERT INTO tasker_meta (key, value) VALUES ('stepped_over:timers',
  '{"at":9000000000000000,"rows":2,"first":"the timer of step 7: full"}'),
 ('stepped_over:leases', '{"at":1000000,"rows":1,"first":"old"}')`}, check: "stepped", status: doctor.Warn,
		says: `the loop "timers" stepped over 2 rows`},
	{name: "CannotLook", statements: []string{`ALTER TABLE tasker_routes RENAME TO elsewhere`}, check: "routes",
		status: doctor.Warn, says: "could not be looked at"},
}

func wantRefusal(t *testing.T, dsn string, code task.Code, text string) {
	t.Helper()
	_, err := doctor.Examine(t.Context(), parse(t, dsn), doctor.Options{Timeout: 5 * time.Second})
	if task.CodeOf(err) != code || !strings.Contains(err.Error(), text) {
		t.Errorf("the examination ends with %s: %v; want %s: %s", task.CodeOf(err), err, code, text)
	}
}

func TestMemoryCannotBeExamined(t *testing.T) {
	t.Parallel()
	wantRefusal(t, "memory:", task.Invalid, "lives in one process")
}
