package bench_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// The test binary is also the server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(cli.Main("test"))
	}
	os.Exit(m.Run())
}

func TestNodes(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: pgtest.DSN(t), Via: bench.ViaHTTP, Nodes: 3,
		Executable: executable(t),
		Tasks:      300, Workers: 7, Producers: 5})
	if err != nil {
		t.Fatal(err)
	}
	// insert, bulk insert, end to end, and the warm-up
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

// A measurement leaves a database as it was.
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
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relname LIKE 'tasker%'`).Scan(
		&tables); err != nil || tables != 0 {
		t.Errorf("%d tables and indexes are left: %v", tables, err)
	}
}
