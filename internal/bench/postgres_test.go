package bench_test

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/internal/bench"
	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/pgtest"
)

// The test binary is also the program that serves.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(cli.Main("test"))
	}
	os.Exit(m.Run())
}

func TestNodes(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: pgtest.DSN(t), Via: bench.ViaHTTP, Nodes: 3, Executable: executable(t),
		Tasks: 300, Workers: 7, Producers: 5})
	if err != nil {
		t.Fatal(err)
	}
	// insert, bulk insert and end to end, and what warms up
	if l := r.Ledger; l == nil || l.Submitted < 3*300 || l.Settled != l.Submitted || l.Leases < l.Settled {
		t.Errorf("the ledger: %+v", l)
	}
	if r.EndToEnd == nil || r.EndToEnd.PerSecond <= 0 {
		t.Errorf("end to end: %+v", r.EndToEnd)
	}
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPinned(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: pgtest.DSN(t), Mode: bench.Pinned, Tasks: 1000, Workers: 10, Producers: 4})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Pinned
	if p == nil || p.EndToEnd == nil || len(p.PerSecond) != 10 || p.First <= 0 || p.Last <= 0 || p.Ratio <= 0 {
		t.Fatalf("%+v", p)
	}
	if p.HeldBack < 10 {
		t.Errorf("the horizon was held back by %d transactions: did anybody hold it?", p.HeldBack)
	}
}

func TestCasesOnPostgres(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: pgtest.DSN(t), Mode: bench.Cases, Tasks: 2000})
	if err != nil {
		t.Fatal(err)
	}
	checkCases(t, r.Cases)
}

// What is generated has to be what finished tasks look like, or the lists that are
// measured are not those of a long history.
func TestHistory(t *testing.T) {
	t.Parallel()
	const finished, queued = 1500, 2000
	dsn := pgtest.DSN(t)
	r, err := bench.Run(t.Context(), bench.Options{DB: dsn, Mode: bench.Depth, Tasks: queued, Finished: finished})
	if err != nil {
		t.Fatal(err)
	}
	if r.Depth == nil || r.Depth.Finished != finished || r.Depth.ClaimOne == nil {
		t.Errorf("%+v", r.Depth)
	}
	client, err := embedded.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	filter := tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskComplete}}
	n, last := 0, time.Now()
	for {
		page, err := client.Tasks(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			if n++; task.CreatedAt.After(last) {
				t.Fatalf("task %s is not older than the one before", task.TaskUUID)
			}
			last = task.CreatedAt
		}
		if len(page.Tasks) > 0 {
			checkCopy(t, client, page.Tasks[0])
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	if n != finished {
		t.Errorf("%d tasks are complete, not %d", n, finished)
	}
	if age := time.Since(last); age < 23*time.Hour || age > 25*time.Hour {
		t.Errorf("the oldest is %v old: the history should go back a day", age)
	}
}

func checkCopy(t *testing.T, client *tasker.Client, task tasker.Task) {
	t.Helper()
	steps, err := client.Steps(t.Context(), task.TaskUUID)
	if err != nil || len(steps) != 1 || steps[0].State != tasker.StepComplete {
		t.Errorf("steps of %s: %+v, %v", task.TaskUUID, steps, err)
	}
	if sec, nsec := task.TaskUUID.Time().UnixTime(); time.Unix(sec, nsec).Sub(task.CreatedAt).Abs() > time.Second {
		t.Errorf("task %s is of %v by its ID and of %v by its row", task.TaskUUID, time.Unix(sec, nsec), task.CreatedAt)
	}
}

// A measurement does not touch what is in a database, and leaves nothing in it.
func TestSchemaOfItsOwn(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t, "fsync=off").DSN()
	r, err := bench.Run(t.Context(), bench.Options{DB: dsn, Tasks: 20, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r.DB != dsn {
		t.Errorf("the report names %s, not the database that was given", r.DB)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var tables int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relname LIKE 'tasker%'`).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables and indexes are left: %v", tables, err)
	}
}
