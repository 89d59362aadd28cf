// Package due reads due rows and skips those that fail: such a row rests, from a second up to a minute, and blocks no
// other. Resting rows are known to one process only, because another one may have the key or the version that this
// one lacks.
package due

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// firstRest and longestRest bound the rest of a failed row.
	firstRest, longestRest = time.Second, time.Minute
	// MaxResting bounds the resting rows; beyond it a failing row is tried again without a rest.
	MaxResting = 50_000
	// parts is the number of parts of a failing batch: four find one row as fast as two, and many faster.
	parts = 4
	// retryShare limits rows that failed before to one in so many places of a batch.
	retryShare = 5
)

// Fault is a row that has failed.
type Fault struct {
	Row   string
	Err   error
	Tries int
	At    task.Instant // of the next try
}

// Error is the rows that failed while the others were handled.
type Error struct {
	What   string // the kind of rows
	Faults []Fault
}

// Error describes the first fault.
func (e *Error) Error() string {
	f := e.Faults[0]
	text := fmt.Sprintf("%s %s: %v", e.What, f.Row, f.Err)
	if n := len(e.Faults) - 1; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// Unwrap returns the error of each row.
func (e *Error) Unwrap() []error {
	list := make([]error, len(e.Faults))
	for i, f := range e.Faults {
		list[i] = f.Err
	}
	return list
}

type rest struct {
	tries int
	at    task.Instant // the end of the rest
}

// Rows remembers the failed rows of one kind. It is safe for concurrent use.
type Rows[T any, K comparable] struct {
	what  string
	key   func(T) K
	blame Blame[T]

	mu      sync.Mutex
	resting map[K]rest
}

// Blame judges a row that failed alone: nil if it is at fault, an error if nothing can be handled now.
type Blame[T any] func(ctx context.Context, row T, now task.Instant, why error) error

// New returns Rows without failures. what names one row in errors.
func New[T any, K comparable](what string, key func(T) K, blame Blame[T]) *Rows[T, K] {
	return &Rows[T, K]{what: what, key: key, blame: blame, resting: map[K]rest{}}
}

// Read returns up to n rows to try now, in the order of read. It reads as many more as rest, so that these never hide
// others, and returns few rows that failed before.
func (r *Rows[T, K]) Read(now task.Instant, n int, read func(limit int) ([]T, error)) ([]T, error) {
	r.mu.Lock()
	limit := n + len(r.resting)
	r.mu.Unlock()
	list, err := read(limit)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	again := max(n/retryShare, 1)
	seen := make(map[K]bool, len(r.resting))
	var out []T
	for _, row := range list {
		f, failed := r.resting[r.key(row)]
		if failed {
			seen[r.key(row)] = true
		}
		if len(out) == n || failed && (f.at > now || again == 0) {
			continue
		}
		if failed {
			again--
		}
		out = append(out, row)
	}
	if len(list) < limit { // all due rows: others have handled a resting row that is missing
		maps.DeleteFunc(r.resting, func(k K, _ rest) bool { return !seen[k] })
	}
	return out, nil
}

// Try handles new rows together, and failed rows and batches in ever smaller parts. A row that fails alone rests if
// it is at fault; otherwise Try ends. An *Error names the failed rows.
func (r *Rows[T, K]) Try(ctx context.Context, now task.Instant, rows []T, do func(context.Context, []T) error) error {
	failed := &Error{What: r.what}
	var part func(list []T) error
	part = func(list []T) error {
		if len(list) == 0 {
			return nil
		}
		err := do(ctx, list)
		switch {
		case err == nil:
			r.passed(list, now)
			return nil
		case ctx.Err() != nil:
			return err
		case len(list) > 1:
			for some := range slices.Chunk(list, (len(list)+parts-1)/parts) {
				if err := part(some); err != nil {
					return err
				}
			}
			return nil
		}
		return r.fault(ctx, now, list[0], err, failed)
	}
	well, again := r.split(rows)
	if err := part(well); err != nil {
		return err
	}
	for _, row := range again {
		if err := part([]T{row}); err != nil {
			return err
		}
	}
	return failed.orNil()
}

// Each is Try for rows that are handled one by one.
func (r *Rows[T, K]) Each(ctx context.Context, now task.Instant, rows []T, do func(context.Context, T) error) error {
	failed := &Error{What: r.what}
	for _, row := range rows {
		err := do(ctx, row)
		switch {
		case err == nil:
			r.passed([]T{row}, now)
			continue
		case ctx.Err() != nil:
			return err
		}
		if err := r.fault(ctx, now, row, err, failed); err != nil {
			return err
		}
	}
	return failed.orNil()
}

func (r *Rows[T, K]) fault(ctx context.Context, now task.Instant, row T, why error, failed *Error) error {
	if out := r.blame(ctx, row, now, why); out != nil {
		return out
	}
	failed.Faults = append(failed.Faults, r.Failed(row, now, why))
	return nil
}

// OnlyRows reports whether an error only names skipped rows, so that the loop continues.
func OnlyRows(err error) bool {
	var failed *Error
	return errors.As(err, &failed)
}

func (e *Error) orNil() error {
	if len(e.Faults) == 0 {
		return nil
	}
	return e
}

func (r *Rows[T, K]) split(rows []T) (well, again []T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range rows {
		if _, failed := r.resting[r.key(row)]; failed {
			again = append(again, row)
		} else {
			well = append(well, row)
		}
	}
	return well, again
}

// Failed lets a row rest, longer each time.
func (r *Rows[T, K]) Failed(row T, now task.Instant, err error) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.key(row)
	f, known := r.resting[k]
	pause := task.Retry{Backoff: task.BackoffExponential, Base: firstRest, Max: longestRest}
	f.tries++
	f.at = now.Add(pause.Delay(f.tries, 0, 0))
	if known || len(r.resting) < MaxResting {
		r.resting[k] = f
	}
	return Fault{Row: fmt.Sprint(k), Err: err, Tries: f.tries, At: f.at}
}

// Has reports whether a row has failed and was not handled since.
func (r *Rows[T, K]) Has(k K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := r.resting[k]
	return failed
}

// Rests reports whether a row has failed and must not be tried yet.
func (r *Rows[T, K]) Rests(k K, now task.Instant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resting[k].at > now
}

// Tidy forgets rows whose rest ended long ago. It is for rows that Read does not read.
func (r *Rows[T, K]) Tidy(now task.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.resting, func(_ K, f rest) bool { return f.at.Add(10*longestRest) < now })
}

// Pick returns the first rows, up to n that have not failed, and up to again of those that have failed and rest no
// more.
func (r *Rows[T, K]) Pick(now task.Instant, rows []T, n, again int) (well, failed []T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range rows {
		f, known := r.resting[r.key(row)]
		switch {
		case !known && len(well) < n:
			well = append(well, row)
		case known && f.at <= now && len(failed) < again:
			failed = append(failed, row)
		}
	}
	return well, failed
}

// Next returns when the first of the matching failed rows may be tried, or 0 without any.
func (r *Rows[T, K]) Next(match func(K) bool) (at task.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, f := range r.resting {
		if (at == 0 || f.at < at) && match(k) {
			at = max(f.at, 1)
		}
	}
	return at
}

// Forget forgets the failures of the matching rows, which others have handled.
func (r *Rows[T, K]) Forget(match func(K) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.resting, func(k K, _ rest) bool { return match(k) })
}

// Passed forgets the failure of a row.
func (r *Rows[T, K]) Passed(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.resting, k)
}

// passed lets the other rows be tried again without a rest, because a common cause such as a full disk may be gone.
func (r *Rows[T, K]) passed(rows []T, now task.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	recovered := false
	for _, row := range rows {
		if _, failed := r.resting[r.key(row)]; failed {
			recovered = true
			delete(r.resting, r.key(row))
		}
	}
	if !recovered {
		return
	}
	for k, f := range r.resting {
		f.at = min(f.at, now)
		r.resting[k] = f
	}
}

// Resting returns the number of rows that failed and were not handled since.
func (r *Rows[T, K]) Resting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.resting)
}
