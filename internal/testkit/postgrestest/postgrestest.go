// Package postgrestest gives tests migrated PostgreSQL schemas.
//
// Creating and dropping some 150 tables and indexes takes longer than most tests. Emptying a used schema, including the
// log of acts, takes a fraction of that, and the next test gets it. Package migration tests the migrations; a test that
// changes tables, or their growth, uses an empty schema of package pgtest.
package postgrestest

import (
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

var pool struct {
	sync.Mutex
	free []*schema
}

// DSN returns a DSN of a schema with the tables and rows of a new installation. It must be unused when t ends. Tests
// share the ID of the installation.
func DSN(t testing.TB) string {
	t.Helper()
	return borrow(t).dsn
}

// Through is DSN through a pooler: pooled is a DSN of pgtest.PgBouncer before the shared server.
func Through(t testing.TB, pooled string) string {
	t.Helper()
	return pgtest.WithSchema(pooled, borrow(t).name)
}

func borrow(t testing.TB) *schema {
	t.Helper()
	s := take(t)
	t.Cleanup(func() {
		switch clean, err := s.empty(); {
		case err != nil:
			t.Errorf("empty a schema for the next test: %v (does somebody still use it?)", err)
		case clean:
			pool.Lock()
			defer pool.Unlock()
			pool.free = append(pool.free, s)
		}
	})
	return s
}

func take(t testing.TB) *schema {
	t.Helper()
	server := pgtest.Shared(t)
	pool.Lock()
	defer pool.Unlock()
	if last := len(pool.free) - 1; last >= 0 {
		s := pool.free[last]
		pool.free = pool.free[:last]
		return s
	}
	s, err := create(server)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
