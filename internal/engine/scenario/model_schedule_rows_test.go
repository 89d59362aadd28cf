package scenario_test

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	spec "github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// rowsOfSchedules is the reference for schedules; the store in memory has none.
type rowsOfSchedules struct {
	engine.Database
	content scheduleContent
}

// scheduleContent is copied whenever it changes.
type scheduleContent struct {
	schedules map[task.ID]spec.Schedule
	firings   map[firingOf]scheduler.Firing
	skips     []scheduler.Skip
}

type firingOf struct {
	schedule task.ID
	at       task.Instant
}

func newRowsOfSchedules(db engine.Database) *rowsOfSchedules {
	return &rowsOfSchedules{db, scheduleContent{map[task.ID]spec.Schedule{}, map[firingOf]scheduler.Firing{}, nil}}
}

// Write undoes the changes of a transaction that fails or runs again.
func (r *rowsOfSchedules) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	before := r.content
	err := r.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		r.content = scheduleContent{maps.Clone(before.schedules), maps.Clone(before.firings), slices.Clone(before.skips)}
		return fn(ctx, tx)
	})
	if err != nil {
		r.content = before
	}
	return err
}

func (r *rowsOfSchedules) Schedules() scheduler.Store { return scheduleMemory{r} }

type scheduleMemory struct{ *rowsOfSchedules }

func copied(s spec.Schedule) *spec.Schedule {
	of := *s.Spec
	s.Spec = &of
	return &s
}

func (r scheduleMemory) Schedules(_ context.Context, _ engine.Tx, ids []task.ID) (list []*spec.Schedule, _ error) {
	for _, id := range slices.SortedFunc(slices.Values(ids), func(a, b task.ID) int {
		return bytes.Compare(a[:], b[:])
	}) {
		if s, ok := r.content.schedules[id]; ok {
			list = append(list, copied(s))
		}
	}
	return list, nil
}

func (r scheduleMemory) ScheduleNamed(ctx context.Context, _ engine.Tx, namespace, name string) (*spec.Schedule,
	error,
) {
	return r.FindSchedule(ctx, namespace, name)
}

func (r scheduleMemory) FindSchedule(_ context.Context, namespace, name string) (*spec.Schedule, error) {
	for _, s := range r.content.schedules {
		if s.Spec.Namespace == namespace && s.Spec.Name == name {
			return copied(s), nil
		}
	}
	return nil, nil
}

func (r scheduleMemory) AddSchedule(ctx context.Context, tx engine.Tx, s *spec.Schedule) error {
	return r.SaveSchedule(ctx, tx, s)
}

func (r scheduleMemory) SaveSchedule(_ context.Context, _ engine.Tx, s *spec.Schedule) error {
	r.content.schedules[s.ID] = *copied(*s)
	return nil
}

func (r scheduleMemory) SaveDecided(ctx context.Context, tx engine.Tx, list []*spec.Schedule) error {
	for _, s := range list {
		have := r.content.schedules[s.ID]
		have.Decided, have.Wake, have.Pause, have.Trouble, have.TroubleAt = s.Decided, s.Wake, s.Pause, s.Trouble, s.TroubleAt
		r.content.schedules[s.ID] = have
	}
	return nil
}

func (r scheduleMemory) DropSchedule(_ context.Context, _ engine.Tx, id task.ID) error {
	delete(r.content.schedules, id)
	maps.DeleteFunc(r.content.firings, func(of firingOf, _ scheduler.Firing) bool { return of.schedule == id })
	r.content.skips = slices.DeleteFunc(r.content.skips, func(s scheduler.Skip) bool { return s.Schedule == id })
	return nil
}

func (r scheduleMemory) CountSchedules(context.Context, engine.Tx, string) (int, error) {
	return len(r.content.schedules), nil
}

func (r scheduleMemory) AddFirings(ctx context.Context, tx engine.Tx, list []scheduler.Firing) error {
	return r.SaveFirings(ctx, tx, list)
}

func (r scheduleMemory) SaveFirings(_ context.Context, _ engine.Tx, list []scheduler.Firing) error {
	for _, f := range list {
		if have, ok := r.content.firings[firingOf{f.Schedule, f.At}]; ok {
			f.DecidedAt = have.DecidedAt
		}
		f.Outcome = ""
		r.content.firings[firingOf{f.Schedule, f.At}] = f
	}
	return nil
}

func (r scheduleMemory) AddSkips(_ context.Context, _ engine.Tx, list []scheduler.Skip) error {
	r.content.skips = append(r.content.skips, list...)
	return nil
}

// those returns the matching firings by schedule and time; without a transaction, the committed ones.
func (r scheduleMemory) those(ctx context.Context, tx engine.Tx, fits func(scheduler.Firing) bool) (
	list []scheduler.Firing, err error,
) {
	for _, f := range r.content.firings {
		if fits(f) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b scheduler.Firing) int {
		return cmp.Or(bytes.Compare(a.Schedule[:], b.Schedule[:]), cmp.Compare(a.At, b.At))
	})
	for i := range list {
		if list[i].Task.IsZero() {
			continue
		}
		var t *task.Task
		if tx == nil {
			t, err = r.FindTask(ctx, list[i].Task)
		} else {
			t, err = tx.Task(ctx, list[i].Task)
		}
		if err != nil {
			return nil, err
		}
		if t != nil {
			list[i].Outcome = t.State
		}
	}
	return list, nil
}

func (r scheduleMemory) OpenFirings(ctx context.Context, tx engine.Tx, ids []task.ID) ([]scheduler.Firing, error) {
	return r.those(ctx, tx, func(f scheduler.Firing) bool {
		return slices.Contains(ids, f.Schedule) && (f.State == scheduler.Waiting || f.State == scheduler.Running)
	})
}

func (r scheduleMemory) FiredBetween(ctx context.Context, tx engine.Tx, ids []task.ID, first, last task.Instant) (
	[]scheduler.Firing, error,
) {
	return r.those(ctx, tx, func(f scheduler.Firing) bool {
		return slices.Contains(ids, f.Schedule) && first <= f.At && f.At <= last
	})
}

func (r scheduleMemory) EndedFirings(ctx context.Context, limit int) ([]scheduler.Firing, error) {
	list, err := r.those(ctx, nil, func(f scheduler.Firing) bool { return f.State == scheduler.Running })
	list = slices.DeleteFunc(list, func(f scheduler.Firing) bool { return f.Outcome != "" && !f.Outcome.Settled() })
	return list[:min(len(list), limit)], err
}

func (r scheduleMemory) SettleFirings(ctx context.Context, tx engine.Tx, list []scheduler.Firing) error {
	for _, f := range list {
		now, err := r.those(ctx, tx, func(of scheduler.Firing) bool { return of.Schedule == f.Schedule && of.At == f.At })
		if err != nil {
			return err
		}
		for _, f := range now {
			if f.State == scheduler.Running && (f.Outcome == "" || f.Outcome.Settled()) {
				f.State = scheduler.Ended
				r.content.firings[firingOf{f.Schedule, f.At}] = f
			}
		}
	}
	return nil
}

func (scheduleMemory) TrimFirings(context.Context, engine.Tx, []task.ID, int, int) error { return nil }

func (r scheduleMemory) ListSchedules(_ context.Context, f scheduler.Filter) (list []*spec.Schedule, _ error) {
	for _, s := range r.content.schedules {
		list = append(list, copied(s))
	}
	slices.SortFunc(list, func(a, b *spec.Schedule) int { return cmp.Compare(a.Spec.Name, b.Spec.Name) })
	return list[:min(len(list), f.Limit)], nil
}

func (r scheduleMemory) WakeTimes(_ context.Context, limit int) (list []scheduler.Wake, _ error) {
	for id, s := range r.content.schedules {
		if s.Wake > 0 {
			list = append(list, scheduler.Wake{ID: id, At: s.Wake})
		}
	}
	slices.SortFunc(list, func(a, b scheduler.Wake) int {
		return cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return list[:min(len(list), limit)], nil
}

func (scheduleMemory) AnySchedules(context.Context, task.ID, int) ([]task.ID, error) { return nil, nil }

func (r scheduleMemory) LastFirings(ctx context.Context, ids []task.ID) (map[task.ID]*scheduler.Firing, error) {
	list, err := r.those(ctx, nil, func(f scheduler.Firing) bool { return slices.Contains(ids, f.Schedule) })
	last := map[task.ID]*scheduler.Firing{}
	for i := range list {
		last[list[i].Schedule] = &list[i]
	}
	return last, err
}

func (r scheduleMemory) ListFirings(ctx context.Context, id task.ID, before task.Instant, limit int) (
	[]scheduler.Firing, error,
) {
	list, err := r.those(ctx, nil, func(f scheduler.Firing) bool { return f.Schedule == id && f.At < before })
	slices.Reverse(list)
	return list[:min(len(list), limit)], err
}

func (r scheduleMemory) ListSkips(_ context.Context, id task.ID, before task.Instant, limit int) ([]scheduler.Skip,
	error,
) {
	list := slices.DeleteFunc(slices.Clone(r.content.skips), func(s scheduler.Skip) bool {
		return s.Schedule != id || s.Last >= before
	})
	slices.SortFunc(list, func(a, b scheduler.Skip) int { return cmp.Compare(b.Last, a.Last) })
	return list[:min(len(list), limit)], nil
}
