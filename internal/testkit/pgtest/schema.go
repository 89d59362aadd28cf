package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Variable names the shared server, by the DSN of a role that may create schemas.
const Variable = "TASKER_TEST_POSTGRES"

// DSN returns a DSN of a fresh, empty schema on the shared server. The schema is dropped when t ends, so no transaction
// may hold it then.
func DSN(t testing.TB) string {
	t.Helper()
	return Schema(t, Shared(t))
}

// Shared returns a DSN of the server that tests share. It names no schema.
func Shared(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv(Variable); dsn != "" {
		return dsn
	}
	s, err := shared()
	testserver.OrSkip(t, err)
	return s.DSN()
}

// Schema returns a DSN of a fresh, empty schema on the server of a DSN, which may be one of Start or of PgBouncer. The
// schema is dropped when t ends, so the server must run then.
func Schema(t testing.TB, dsn string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	if err := execute(dsn, "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(dsn, "SET LOCAL lock_timeout = '20s'; DROP SCHEMA "+name+" CASCADE"); err != nil {
			t.Errorf("%v (does somebody still use it?)", err)
		}
	})
	return WithSchema(dsn, name)
}

// WithSchema returns the DSN of a schema on the server of a DSN.
func WithSchema(dsn, name string) string { return with(dsn, "schema", name) }

// shared is the server of this process, started at first use. It is stopped when the process is gone, so no test closes
// it.
var shared = sync.OnceValues(LaunchShared)

func execute(dsn, statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
	defer cancel()
	conn, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statements); err != nil {
		return fmt.Errorf("execute %q: %w", statements, err)
	}
	return nil
}

func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.New("parse the DSN of the test server: it is no URL")
	}
	q := u.Query()
	for name := range q {
		if name == "schema" || name == "pgbouncer" || strings.HasPrefix(name, "pool_") {
			q.Del(name) // not the server's
		}
	}
	u.RawQuery = q.Encode()
	cfg, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fmt.Errorf("parse the DSN of the test server: %w", err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the test server: %w", err)
	}
	return conn, nil
}

func with(dsn, name, value string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn // connect has said so
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
