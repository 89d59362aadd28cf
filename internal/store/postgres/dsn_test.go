package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func parse(t *testing.T, dsn string) postgres.DSN {
	t.Helper()
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseDSN(t *testing.T) {
	t.Parallel()
	t.Run("Schema", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "postgres://bob:pw@db:5433/tasker?schema=Mine_1&pool_max_conns=7")
		cc := d.Pool.ConnConfig
		if d.Schema != "Mine_1" || cc.RuntimeParams["search_path"] != `"Mine_1"` || d.PgBouncer {
			t.Errorf("read %v with parameters %v", d, cc.RuntimeParams)
		}
		if _, sent := cc.RuntimeParams["schema"]; sent {
			t.Error("schema would be sent to the server")
		}
		if cc.Password != "pw" || d.Pool.MaxConns != 7 || cc.ConnectTimeout != 3*time.Second ||
			cc.RuntimeParams["application_name"] != "tasker" {
			t.Errorf("pool is %d, time-out %s, parameters %v", d.Pool.MaxConns, cc.ConnectTimeout, cc.RuntimeParams)
		}
	})
	t.Run("PgBouncer", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "postgres://bob@db/tasker?pgbouncer=true&schema=mine&application_name=a&connect_timeout=9")
		cc := d.Pool.ConnConfig
		if !d.PgBouncer || d.Schema != "mine" || cc.DefaultQueryExecMode != pgx.QueryExecModeCacheDescribe {
			t.Errorf("read %v with mode %v", d, cc.DefaultQueryExecMode)
		}
		for _, name := range []string{"search_path", "schema", "pgbouncer"} {
			if value, sent := cc.RuntimeParams[name]; sent {
				t.Errorf("PgBouncer would be sent %s=%s", name, value)
			}
		}
		if cc.RuntimeParams["application_name"] != "a" || cc.ConnectTimeout != 9*time.Second {
			t.Errorf("parameters are %v, time-out %s", cc.RuntimeParams, cc.ConnectTimeout)
		}
	})
	t.Run("KeywordsAndValues", func(t *testing.T) {
		t.Parallel()
		d := parse(t, "host=db user=bob password='p w' dbname=tasker schema=mine pgbouncer=false")
		if d.Schema != "mine" || d.PgBouncer || d.Pool.ConnConfig.Password != "p w" {
			t.Errorf("read %v", d)
		}
	})
}

func TestParseDSNRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"postgres://bob:hunter2@db:port/tasker":                              "cannot be read",
		"postgres://bob:hunter2%zz@db/tasker":                                "cannot be read",
		"postgres://bob:hunt/er2@db/tasker":                                  "cannot be read",
		"host=db password=x hunter2 user=bob":                                "cannot be read",
		"password='hunter2":                                                  "cannot be read",
		"postgres://bob:hunter2@db/tasker?pool_max_conns=0":                  "pool_max_conns",
		"postgres://bob:hunter2@db/tasker?sslmode=maybe":                     "sslmode is invalid",
		"postgres://bob:hunter2@db/tasker?pgbouncer=perhaps":                 "must be true or false",
		"postgres://bob:hunter2@db/tasker?schema=":                           "a schema is named by",
		"postgres://bob:hunter2@db/tasker?schema=pg_mine":                    "a schema is named by",
		`postgres://bob:hunter2@db/tasker?schema=a%22;drop+table+x`:          "a schema is named by",
		"postgres://bob:hunter2@db/tasker?schema=" + strings.Repeat("a", 64): "a schema is named by",
		"postgres://bob:hunter2@db/tasker?schema=a&search_path=b":            "both schema and search_path",
		"postgres://bob:hunter2@db/tasker?pgbouncer=true&search_path=b":      "cannot set search_path",
	}
	for dsn, want := range tests {
		_, err := postgres.ParseDSN(dsn)
		if task.CodeOf(err) != task.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDSN(%q) returned %v, want %q", dsn, err, want)
			continue
		}
		for _, secret := range []string{"hunter2", "er2", "hunt"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("ParseDSN(%q) shows the password: %v", dsn, err)
			}
		}
	}
}

func TestDSNHidesItsPassword(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"postgres://bob:hunter2@db:5433/tasker?sslmode=disable&schema=mine&pgbouncer=1": "postgres://bob@db:5433/tasker?pgbouncer=true&schema=mine",
		"postgres://db/tasker?user=bob&password=hunter2":                                "postgres://bob@db:5432/tasker",
		"host=/run/pg user=bob password=hunter2 dbname=tasker port=5432":                "postgres://bob@/tasker?host=%2Frun%2Fpg",
	}
	for dsn, want := range tests {
		d := parse(t, dsn)
		for _, format := range []string{"%v", "%s", "%+v", "%#v"} {
			if got := fmt.Sprintf(format, d); got != want {
				t.Errorf("%s of %q is %q, want %q", format, dsn, got, want)
			}
		}
	}
	if got := fmt.Sprint(postgres.DSN{}); got != "postgres:" {
		t.Errorf("the zero DSN is %q", got)
	}
}

func TestWithPoolSize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dsn  string
		size int
		want int32 // 0: pgx's default
	}{
		{"postgres://db/tasker", 9, 9},
		{"postgres://db/tasker?schema=a", 9, 9},
		{"host=db", 9, 9},
		{"postgres://db/tasker?pool_max_conns=3", 9, 3},
		{"postgres://db/tasker", 0, 0},
	}
	for _, tt := range tests {
		want := tt.want
		if want == 0 {
			want = parse(t, tt.dsn).Pool.MaxConns
		}
		if got := parse(t, postgres.WithPoolSize(tt.dsn, tt.size)).Pool.MaxConns; got != want {
			t.Errorf("%q with %d has %d connections, want %d", tt.dsn, tt.size, got, want)
		}
	}
}

// A session that cannot store every text, or reads literals differently, is refused with a hint.
func TestUnusableSessions(t *testing.T) {
	t.Parallel()
	for parameter, want := range map[string]string{"client_encoding=LATIN1": "remove client_encoding from the DSN",
		"standard_conforming_strings=off": "remove that setting"} {
		_, err := postgres.Open(t.Context(), pgtest.DSN(t)+"&"+parameter, nil)
		var e *task.Error
		if !errors.As(err, &e) || e.Code != task.Invalid || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: %v", parameter, err)
		}
	}
}
