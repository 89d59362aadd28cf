package engine

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

type dueIDs = due.Rows[task.ID, task.ID]

func rowsOf[T any, K comparable](e *Engine, what string, key func(T) K) *due.Rows[T, K] {
	return due.New(what, key, func(ctx context.Context, _ T, _ task.Instant, why error) error {
		return Storable(ctx, e.store, why)
	})
}

type dueRows struct {
	fanOuts   *due.Rows[*task.FanOut, task.ID]
	signals   *due.Rows[task.Signal, task.SignalName]
	waits     *due.Rows[SignalMatch, task.ID]
	turns     *due.Rows[Waiting, task.ID]
	claims    *due.Rows[readyStep, readyStep]
	timers    *dueIDs
	leases    *dueIDs
	deadlines *dueIDs
	parked    *dueIDs
	passing   *dueIDs
	cases     *dueIDs
	unserved  *due.Rows[*task.Step, task.ID]
	left      []*task.Step // the failed ones of unserved
	workers   *due.Rows[*task.Worker, task.ID]
	holds     *due.Rows[Hold, task.ID]
	kept      *due.Rows[Hold, task.ID] // to write to the store
	bursts    *due.Rows[countedBurst, burstKey]
	retention *due.Rows[string, string]
	pauses    *due.Rows[task.PauseTarget, task.PauseTarget]
}

func newDueRows(e *Engine) dueRows {
	ids := func(what string) *dueIDs { return rowsOf(e, what, func(id task.ID) task.ID { return id }) }
	return dueRows{
		fanOuts:   rowsOf(e, "the child tasks of step", func(f *task.FanOut) task.ID { return f.Step }),
		signals:   rowsOf(e, "the signal", func(s task.Signal) task.SignalName { return s.SignalName }),
		waits:     rowsOf(e, "the signal for step", func(m SignalMatch) task.ID { return m.Step }),
		turns:     rowsOf(e, "the turn of task", func(w Waiting) task.ID { return w.Task }),
		claims:    rowsOf(e, claimWhat, func(s readyStep) readyStep { return s }),
		timers:    ids("the timer of step"),
		leases:    ids("the lease of step"),
		deadlines: ids("the deadline of task"),
		parked:    ids("the parked step"),
		passing:   ids("the limit of step"),
		cases:     ids("the old cases of task"),
		unserved:  due.New("the unserved step", func(s *task.Step) task.ID { return s.ID }, e.leaveUnserved),
		workers:   rowsOf(e, "the dead worker", func(w *task.Worker) task.ID { return w.ID }),
		holds:     rowsOf(e, "the lease of step", func(h Hold) task.ID { return h.Step }),
		kept:      rowsOf(e, "the lease of step", func(h Hold) task.ID { return h.Step }),
		bursts:    rowsOf(e, "the failures on route", func(c countedBurst) burstKey { return burstKey{c.RouteID, c.Group} }),
		pauses:    rowsOf(e, "the end of", func(t task.PauseTarget) task.PauseTarget { return t }),
		retention: rowsOf(e, "the retention of", func(kind string) string { return kind }),
	}
}

// dueLoop handles a batch of due rows in one transaction. If that fails, and while rows rest, it finds rows without
// locks and handles them in parts.
type dueLoop[T any] struct {
	e    *Engine
	verb string
	rows *dueIDs
	// take returns up to limit due rows, locked.
	take func(u *unit, limit int) ([]T, error)
	// find returns the IDs of up to limit due rows; lock locks those that still are due.
	find   func(ctx context.Context, limit int) ([]task.ID, error)
	lock   func(u *unit, ids []task.ID) ([]T, error)
	handle func(u *unit, rows []T) error
}

// run returns how many rows it has looked at. A *due.Error names skipped rows.
func (l *dueLoop[T]) run(ctx context.Context, limit int) (n int, err error) {
	if l.rows.Resting() == 0 {
		err = l.e.write(ctx, l.verb, func(u *unit) error {
			list, err := l.take(u, limit)
			if err != nil {
				return err
			}
			n = len(list)
			return l.handle(u, list)
		})
		if err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	now := l.e.Now()
	ids, finding := l.rows.Read(now, limit, func(limit int) ([]task.ID, error) { return l.find(ctx, limit) })
	if finding != nil {
		return 0, errors.Join(err, finding)
	}
	if len(ids) == 0 {
		return 0, err
	}
	err = l.rows.Try(ctx, now, ids, func(ctx context.Context, some []task.ID) error {
		return l.e.write(ctx, l.verb, func(u *unit) error {
			list, err := l.lock(u, some)
			if err != nil {
				return err
			}
			return l.handle(u, list)
		})
	})
	return len(ids), err
}

func (e *Engine) stepLoop(verb string, queue int64, rows *dueIDs, handle func(u *unit, works []Work) error,
) *dueLoop[Work] {
	return &dueLoop[Work]{e: e, verb: verb, rows: rows, handle: handle,
		take: func(u *unit, limit int) ([]Work, error) {
			works, err := u.tx.Due(u.ctx, queue, u.now, limit)
			return u.rows.intern(works), err
		},
		find: func(ctx context.Context, limit int) ([]task.ID, error) {
			now := e.Now()
			steps, err := e.queuePlaces.ReadyAfter(ctx, queue, math.MinInt64, task.ID{}, limit)
			var ids []task.ID
			for _, s := range steps {
				if dueIn(queue, s, now) {
					ids = append(ids, s.ID)
				}
			}
			return ids, err
		},
		lock: func(u *unit, ids []task.ID) ([]Work, error) {
			works, err := u.rows.load(ids)
			return slices.DeleteFunc(works, func(w Work) bool {
				return w.Step == nil || !dueIn(queue, w.Step, u.now)
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

// repeat skips failing rows, which the upkeep loop reports.
func repeat(once func(context.Context) (int, bool, error)) error {
	for more := true; more; {
		var err error
		_, more, err = once(context.Background())
		if err != nil && !due.OnlyRows(err) {
			return err
		}
	}
	return nil
}
