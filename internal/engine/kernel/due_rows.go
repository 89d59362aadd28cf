package kernel

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

type DueIDs = due.Rows[task.ID, task.ID]

func RowsOf[T any, K comparable](e *Kernel, what string, key func(T) K) *due.Rows[T, K] {
	return due.New(what, key, func(ctx context.Context, _ T, _ task.Instant, why error) error {
		return Storable(ctx, e.Store, why)
	})
}

func IDRows(e *Kernel, what string) *DueIDs {
	return RowsOf(e, what, func(id task.ID) task.ID { return id })
}

type dueRows struct {
	turns   *due.Rows[Waiting, task.ID]
	claims  *due.Rows[readyStep, readyStep]
	timers  *DueIDs
	leases  *DueIDs
	parked  *DueIDs
	passing *DueIDs
	workers *due.Rows[*task.Worker, task.ID]
	holds   *due.Rows[Hold, task.ID]
	kept    *due.Rows[Hold, task.ID] // to write to the store
	bursts  *due.Rows[countedBurst, burstKey]
	pauses  *due.Rows[task.PauseTarget, task.PauseTarget]
}

func newDueRows(e *Kernel) dueRows {
	ids := func(what string) *DueIDs { return IDRows(e, what) }
	return dueRows{
		turns:   RowsOf(e, "the turn of task", func(w Waiting) task.ID { return w.Task }),
		claims:  RowsOf(e, claimWhat, func(s readyStep) readyStep { return s }),
		timers:  ids("the timer of step"),
		leases:  ids("the lease of step"),
		parked:  ids("the parked step"),
		passing: ids("the limit of step"),
		workers: RowsOf(e, "the dead worker", func(w *task.Worker) task.ID { return w.ID }),
		holds:   RowsOf(e, "the lease of step", func(h Hold) task.ID { return h.Step }),
		kept:    RowsOf(e, "the lease of step", func(h Hold) task.ID { return h.Step }),
		bursts:  RowsOf(e, "the failures on route", func(c countedBurst) burstKey { return burstKey{c.RouteID, c.Group} }),
		pauses:  RowsOf(e, "the end of", func(t task.PauseTarget) task.PauseTarget { return t }),
	}
}

// DueLoop handles a batch of due rows in one transaction. If that fails, and while rows rest, it finds rows without
// locks and handles them in parts.
type DueLoop[T any] struct {
	E    *Kernel
	Verb string
	Rows *DueIDs
	// take returns up to limit due rows, locked.
	Take func(u *Unit, limit int) ([]T, error)
	// find returns the IDs of up to limit due rows; lock locks those that still are due.
	Find   func(ctx context.Context, limit int) ([]task.ID, error)
	Lock   func(u *Unit, ids []task.ID) ([]T, error)
	Handle func(u *Unit, rows []T) error
}

// Run returns how many rows it has looked at. A *due.Error names skipped rows.
func (l *DueLoop[T]) Run(ctx context.Context, limit int) (n int, err error) {
	if l.Rows.Resting() == 0 {
		err = l.E.Write(ctx, l.Verb, func(u *Unit) error {
			list, err := l.Take(u, limit)
			if err != nil {
				return err
			}
			n = len(list)
			return l.Handle(u, list)
		})
		if err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	now := l.E.Now()
	ids, finding := l.Rows.Read(now, limit, func(limit int) ([]task.ID, error) { return l.Find(ctx, limit) })
	if finding != nil {
		return 0, errors.Join(err, finding)
	}
	if len(ids) == 0 {
		return 0, err
	}
	err = l.Rows.Try(ctx, now, ids, func(ctx context.Context, some []task.ID) error {
		return l.E.Write(ctx, l.Verb, func(u *Unit) error {
			list, err := l.Lock(u, some)
			if err != nil {
				return err
			}
			return l.Handle(u, list)
		})
	})
	return len(ids), err
}

func (e *Kernel) stepLoop(verb string, queue int64, rows *DueIDs, handle func(u *Unit, works []Work) error,
) *DueLoop[Work] {
	return &DueLoop[Work]{E: e, Verb: verb, Rows: rows, Handle: handle,
		Take: func(u *Unit, limit int) ([]Work, error) {
			works, err := u.Tx.Due(u.Ctx, queue, u.Now, limit)
			return u.Rows.intern(works), err
		},
		Find: func(ctx context.Context, limit int) ([]task.ID, error) {
			now := e.Now()
			steps, err := e.Places.ReadyAfter(ctx, queue, math.MinInt64, task.ID{}, limit)
			var ids []task.ID
			for _, s := range steps {
				if dueIn(queue, s, now) {
					ids = append(ids, s.ID)
				}
			}
			return ids, err
		},
		Lock: func(u *Unit, ids []task.ID) ([]Work, error) {
			works, err := u.Rows.Load(ids)
			return slices.DeleteFunc(works, func(w Work) bool {
				return w.Step == nil || !dueIn(queue, w.Step, u.Now)
			}), err
		}}
}

func dueIn(queue int64, s *task.Step, now task.Instant) bool {
	return s.Queue == queue && (s.Parked() || s.Key <= int64(now))
}

// Storable returns nil if anything can be stored: then a row that failed alone is at fault.
func Storable(ctx context.Context, db Writer, why error) error {
	if err := db.Write(ctx, func(context.Context, Tx) error { return nil }); err != nil {
		return errors.Join(why, err)
	}
	return nil
}

// Repeat skips failing rows, which the upkeep loop reports.
func Repeat(once func(context.Context) (int, bool, error)) error {
	for more := true; more; {
		var err error
		_, more, err = once(context.Background())
		if err != nil && !due.OnlyRows(err) {
			return err
		}
	}
	return nil
}

// RowAtFault reports whether a transaction of several callers failed because of one of them: the store works, and
// nothing was committed.
func (e *Kernel) RowAtFault(why error) bool {
	if task.CodeOf(why) == task.Unavailable || errors.Is(why, context.Canceled) || errors.Is(why, ErrReplaced) {
		return false
	}
	return Storable(context.Background(), e.Store, why) == nil
}
