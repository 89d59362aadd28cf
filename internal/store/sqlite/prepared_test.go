package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// TestManyQueries runs more queries than are kept prepared, concurrently and repeatedly, even after they are dropped.
func TestManyQueries(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "q.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for i := range 1200 {
				n, want := 0, i%400
				err := s.Query(t.Context(), fmt.Sprintf("SELECT %d + $1", want), []any{1}, func(r store.Row) error {
					return r.Scan(&n)
				})
				if err != nil || n != want+1 {
					t.Errorf("query %d is answered %d, %v", want, n, err)
				}
			}
		})
	}
	callers.Wait()
}
