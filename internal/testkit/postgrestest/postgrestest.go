// Package postgrestest gives tests PostgreSQL schemas that have their tables already.
//
// To create some 150 tables and indexes and to drop them again takes longer than most tests. A schema that a test has
// used is emptied, the log of acts as well, which takes a fraction of that, and the next test has it. Package migration
// tests how a schema is made; a test that changes tables, or looks at how they grow, asks package pgtest for an
// empty schema.
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

// DSN returns a DSN of a schema with the tables of a new installation and no rows but those that it begins with. Nobody
// may use it any more when t ends. The ID of its installation is that of earlier tests.
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
