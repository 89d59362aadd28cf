package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// A pooler in transaction mode really removes the session: nothing of it outlives its transaction.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.DSN(t)
	pooled := pgtest.PgBouncer(t, direct)
	cfg, err := pgx.ParseConfig(withoutOurs(t, pooled))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	ask(t, conn, "SELECT current_schema()", "public")
	run(t, conn, "SET search_path = pg_catalog")
	ask(t, conn, "SELECT current_schema()", "public")
	run(t, conn, "SET LOCAL search_path = pg_catalog; CREATE TEMPORARY TABLE mine (n int)")
	ask(t, conn, "SELECT to_regclass('pg_temp.mine') IS NULL", true)

	second := pgtest.Schema(t, pooled)
	if second == pooled || schemaOf(t, second) == schemaOf(t, direct) {
		t.Errorf("%s is no schema of its own", second)
	}
	if schemaOf(t, pooled) != schemaOf(t, direct) {
		t.Error("the pooler led to another schema")
	}
	ask(t, open(t, direct), "SELECT count(*) FROM pg_namespace WHERE nspname = $1", 1, schemaOf(t, second))
}
