// Package due reads rows that are due, the first ones first, and steps over those that fail: a row that fails rests for
// a second, then for two, up to a minute, and holds up no other. What rests is known to this process alone, so that
// another one, which may have the key or the version that this one lacks, tries it too.
package due

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// firstRest and longestRest bound how long a row rests that has failed.
	firstRest, longestRest = time.Second, time.Minute
	// MaxResting bounds the rows that rest. One that fails beyond them is tried again at once, as long as there are.
	MaxResting = 50_000
	// retryShare is the part of a batch that rows may take which have failed before: one in so many.
	retryShare = 5
)

// Fault is a row that has failed.
type Fault struct {
	Row   string
	Err   error
	Tries int
	At    task.Instant // when it is tried again
}

// Error are rows that have failed while the others were handled.
type Error struct {
	What   string // they are
	Faults []Fault
}

// Error implements error.
func (e *Error) Error() string {
	f := e.Faults[0]
	text := fmt.Sprintf("%s %s: %v", e.What, f.Row, f.Err)
	if n := len(e.Faults) - 1; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// Unwrap returns why each row has failed.
func (e *Error) Unwrap() []error {
	list := make([]error, len(e.Faults))
	for i, f := range e.Faults {
		list[i] = f.Err
	}
	return list
}

// rest is a row that has failed.
type rest struct {
	tries int
	at    task.Instant // the end of the rest
}

// Rows remember which rows of one kind have failed. They are safe for concurrent use.
type Rows[T any, K comparable] struct {
	what  string
	key   func(T) K
	blame Blame[T]

	mu      sync.Mutex
	resting map[K]rest
}

// Blame is asked about a row that has failed alone, at a time and with an error. It returns nil if the row is at fault,
// and an error if nothing can be handled now.
type Blame[T any] func(ctx context.Context, row T, now task.Instant, why error) error

// New returns Rows of which none has failed. what names one of them in errors.
func New[T any, K comparable](what string, key func(T) K, blame Blame[T]) *Rows[T, K] {
	return &Rows[T, K]{what: what, key: key, blame: blame, resting: map[K]rest{}}
}

// Read returns up to n rows to be tried now, in the order in which read returns those that are due. It asks read for so
// many more as rest, so that these never hide the others. Of the rows that have failed before it returns few.
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
	if len(list) < limit { // these are all: what rests and is not due any more is gone, or others have handled it
		maps.DeleteFunc(r.resting, func(k K, _ rest) bool { return !seen[k] })
	}
	return out, nil
}

// Try handles rows with do: together those that have not failed before; in ever smaller parts those that have, and any
// batch that fails. A row that fails alone and is at fault rests; if it is not at fault, Try ends. The other rows are
// handled in any case, and an *Error names those that were not.
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
			half := len(list) / 2
			if err := part(list[:half]); err != nil {
				return err
			}
			return part(list[half:])
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

// fault lets a row rest that has failed alone, unless nothing can be handled now.
func (r *Rows[T, K]) fault(ctx context.Context, now task.Instant, row T, why error, failed *Error) error {
	if out := r.blame(ctx, row, now, why); out != nil {
		return out
	}
	failed.Faults = append(failed.Faults, r.Failed(row, now, why))
	return nil
}

// OnlyRows reports whether an error tells of rows that were stepped over, and of nothing else: the loop continues.
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

// split separates the rows that have failed before.
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

// Rests reports whether a row has failed and is not to be tried yet.
func (r *Rows[T, K]) Rests(k K, now task.Instant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resting[k].at > now
}

// Tidy forgets rows that were to be tried again long ago: others have handled them. It is for rows that Read does not
// read.
func (r *Rows[T, K]) Tidy(now task.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.resting, func(_ K, f rest) bool { return f.at.Add(10*longestRest) < now })
}

// Passed forgets that a row has failed.
func (r *Rows[T, K]) Passed(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.resting, k)
}

// passed is Passed for rows that were handled. If one of them had failed, the cause may be gone that the others have in
// common, such as a full disk: they are tried again at once.
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

// Resting returns the number of rows that have failed and were not handled since.
func (r *Rows[T, K]) Resting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.resting)
}
