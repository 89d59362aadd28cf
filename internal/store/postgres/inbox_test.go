package postgres_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

func BenchmarkLetters(b *testing.B) {
	s, err := postgres.Open(b.Context(), postgrestest.DSN(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	storetest.BenchmarkLetters(b, s)
}

func TestInboxRaces(t *testing.T) {
	t.Parallel()
	storetest.RunInboxRaces(t, func(t *testing.T) (a, b storetest.InboxStore) {
		dsn := postgrestest.DSN(t)
		return open(t, dsn), open(t, dsn)
	})
}

func BenchmarkGroups(b *testing.B) {
	s, err := postgres.Open(b.Context(), postgrestest.DSN(b), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	storetest.BenchmarkGroups(b, s)
}
