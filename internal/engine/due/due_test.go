package due_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

type table struct {
	rows  []int
	bad   int
	now   task.Instant
	calls int
}

func (w *table) read(limit int) ([]int, error) {
	return slices.Clone(w.rows[:min(limit, len(w.rows))]), nil
}

var errBad = errors.New("bad")

func (w *table) do(_ context.Context, list []int) error {
	w.calls++
	for _, row := range list {
		if row < w.bad {
			return errBad
		}
	}
	w.rows = slices.DeleteFunc(w.rows, func(row int) bool { return slices.Contains(list, row) })
	return nil
}

func own(context.Context, int, task.Instant, error) error { return nil }

func newRows() *due.Rows[int, int] { return rowsBlamed(own) }

func rowsBlamed(by due.Blame[int]) *due.Rows[int, int] {
	return due.New("the row", func(n int) int { return n }, by)
}

func (w *table) turn(t *testing.T, r *due.Rows[int, int]) *due.Error {
	t.Helper()
	list, err := r.Read(w.now, 50, w.read)
	if err != nil {
		t.Fatal(err)
	}
	var failed *due.Error
	if err := r.Try(t.Context(), w.now, list, w.do); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return failed
}

// Failing rows at the front cost few calls.
func TestPoisonedRows(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{0, 1, 49, 50, 51, 500, 10_000} {
		w, r := &table{bad: bad, now: 1}, newRows()
		for i := range bad + 400 {
			w.rows = append(w.rows, i)
		}
		turns := 0
		for ; len(w.rows) > bad; turns++ {
			if turns > bad/50+12 {
				t.Fatalf("%d bad rows: after %d turns, %d good ones are left", bad, turns, len(w.rows)-bad)
			}
			w.turn(t, r)
		}
		if r.Resting() != bad {
			t.Fatalf("%d rows rest, want %d", r.Resting(), bad)
		}
		for i := range 400 {
			w.rows, w.now = append(w.rows, bad+1000+i), w.now.Add(time.Minute)
		}
		for range 10 {
			w.turn(t, r)
		}
		if len(w.rows) != bad {
			t.Fatalf("%d bad rows: %d new rows are left", bad, len(w.rows)-bad)
		}
	}
}

func TestRestsGrow(t *testing.T) {
	t.Parallel()
	w, r := &table{bad: 1, rows: []int{0}, now: 1}, newRows()
	var pauses []time.Duration
	for range 8 {
		failed := w.turn(t, r)
		if failed == nil {
			t.Fatal("a row that was due was not tried")
		}
		at := failed.Faults[0].At
		pauses = append(pauses, at.Sub(w.now).Round(time.Second))
		if w.now = at - 1; w.turn(t, r) != nil {
			t.Fatal("a row that rests was tried")
		}
		w.now = at
	}
	if want := []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9, 60e9}; !slices.Equal(pauses, want) {
		t.Fatalf("the pauses are %v, want %v", pauses, want)
	}
	w.bad = 0
	if w.turn(t, r) != nil || r.Resting() != 0 || len(w.rows) != 0 {
		t.Fatal("a row that was repaired was not handled")
	}
}

// Once a failed row passes, the others are tried again without a rest.
func TestCommonCause(t *testing.T) {
	t.Parallel()
	w, r := &table{bad: 1000, now: 1}, newRows()
	for i := range 30 {
		w.rows = append(w.rows, i)
	}
	w.turn(t, r)
	w.bad, w.now = 0, w.now.Add(time.Second)
	for range 4 {
		w.turn(t, r)
	}
	if len(w.rows) != 0 {
		t.Fatalf("%d rows are left", len(w.rows))
	}
}

// No row is at fault when nothing can be handled.
func TestBlame(t *testing.T) {
	t.Parallel()
	down := errors.New("the store is out of reach")
	w, reach := &table{bad: 9, now: 1}, down
	r := rowsBlamed(func(context.Context, int, task.Instant, error) error { return reach })
	err := r.Try(t.Context(), 1, []int{0, 1, 2, 3}, w.do)
	if !errors.Is(err, down) || r.Resting() != 0 || w.calls > 3 {
		t.Fatalf("answered %v after %d calls; %d rows rest", err, w.calls, r.Resting())
	}
	reach = nil
	failed := r.Try(t.Context(), 1, []int{0, 1, 20}, w.do)
	if got := (*due.Error)(nil); !errors.As(failed, &got) || !errors.Is(failed, errBad) ||
		failed.Error() != "the row 0: bad; and 1 more" {
		t.Fatalf("answered %v", failed)
	}
	// A row that others have handled is forgotten.
	if _, err := r.Read(2, 5, func(int) ([]int, error) { return []int{1}, nil }); err != nil || r.Resting() != 1 {
		t.Fatalf("%d rows rest, want 1; %v", r.Resting(), err)
	}
}
