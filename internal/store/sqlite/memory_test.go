package sqlite_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/nesting"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

func openMemory(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.OpenMemory(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// A database in memory behaves like a file, except that readers wait for open transactions; see TestMemoryTakesTurns.
func TestMemoryConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the suite runs on a file")
	}
	storetest.Run(t, func(t *testing.T) engine.Database { return openMemory(t) },
		"Transactions/InvisibleUntilCommitted", "Transactions/OthersNotNested")
}

// A database in memory is never busy, a reader sees no part of a transaction, and a read within a transaction, with its
// context, is refused and does not wait.
func TestMemoryTakesTurns(t *testing.T) {
	t.Parallel()
	s, other := openMemory(t), openMemory(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if err := s.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
					if err := s.NoteStore().Note(ctx, tx, "key", "value"); err != nil {
						return err
					}
					if _, err := s.NoteStore().FindNote(ctx, "key"); !errors.Is(err, nesting.Err) {
						t.Errorf("a read in a transaction: %v, want %v", err, nesting.Err)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 200 {
				if _, _, err := s.ListTasks(ctx, engine.TaskFilter{Limit: 10}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := make(chan string, 1)
	failed := errors.New("no")
	if err := s.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := s.NoteStore().Note(ctx, tx, "key", "half"); err != nil {
			return err
		}
		go func() {
			got, _ := s.NoteStore().FindNote(context.Background(), "key")
			seen <- got
		}()
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("Write returned %v", err)
	}
	if got := <-seen; got != "value" {
		t.Errorf("a reader saw %q of a transaction that was rolled back", got)
	}
	if got, err := s.NoteStore().FindNote(ctx, "key"); err != nil || got != "value" {
		t.Errorf("the note is %q, %v", got, err)
	}
	if got, err := other.NoteStore().FindNote(ctx, "key"); err != nil || got != "" {
		t.Errorf("another database in memory has the note %q, %v", got, err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.NoteStore().FindNote(ctx, "key"); task.CodeOf(err) != task.Unavailable {
		t.Errorf("a closed database answers %v", err)
	}
}
