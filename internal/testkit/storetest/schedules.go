package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ScheduleStore is a store that also keeps schedules.
type ScheduleStore interface {
	engine.Database
	Schedules() scheduler.Store
}

// RunSchedules runs the suite of scheduler.Store. open returns a new, empty store, and closes it when t ends.
func RunSchedules(t *testing.T, open func(t *testing.T) ScheduleStore) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(f *scheduleFixture)
	}{
		{"RoundTrip", scheduleRoundTrip},
		{"Taken", scheduleTaken},
		{"Lists", scheduleLists},
		{"WakeTimes", scheduleWakes},
		{"Dropped", scheduleDropped},
		{"Firings", firingsStored},
		{"FiringsOnce", firingsOnce},
		{"FiringsSettle", firingsSettle},
		{"FiringsTrimmed", firingsTrimmed},
		{"Skips", skipsStored},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			c.run(&scheduleFixture{fixture: newFixture(t, s), schedules: s.Schedules()})
		})
	}
}

type scheduleFixture struct {
	*fixture
	schedules scheduler.Store
}

func (f *scheduleFixture) schedule(namespace, name string) *schedule.Schedule {
	spec := (&schedule.Spec{Namespace: namespace, Name: name, Cron: "@daily", TaskType: "a"}).WithDefaults()
	return &schedule.Schedule{ID: f.store.IDs().Take(f.now.Time(), 1), Spec: spec, Version: 1, CreatedAt: f.now,
		UpdatedAt: f.now, Decided: f.now}
}

func (f *scheduleFixture) add(list ...*schedule.Schedule) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, s := range list {
			if err := f.schedules.AddSchedule(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *scheduleFixture) daily() *schedule.Schedule {
	f.Helper()
	s := f.schedule("default", "daily")
	f.add(s)
	return s
}

func (f *scheduleFixture) found(namespace, name string) *schedule.Schedule {
	f.Helper()
	got, err := f.schedules.FindSchedule(f.Context(), namespace, name)
	f.must(err)
	return got
}

func scheduleRoundTrip(f *scheduleFixture) {
	none := 0
	s := f.schedule("default", "n\u00e9\U0001F600")
	s.Spec = &schedule.Spec{Namespace: "default", Name: s.Spec.Name, Description: "d\u2028", Cron: "0 9 * * 1-5",
		Zone: "Europe/Berlin", Jitter: time.Minute, Start: f.now, End: f.now + 9, Overlap: schedule.OverlapAll,
		Missed: schedule.MissedAll, MissedLimit: 7, Grace: time.Hour, Template: "t", Version: "1",
		Context: json.RawMessage(`{"a":"\u0000 \ud83d\ude00","n":12345678901234567890}`), TimeField: "at", Priority: "high",
		Tags: []string{"x", "y"}, OrderingKey: "k", Capabilities: []string{"gpu"}, Timeout: time.Minute, MaxRetries: &none}
	s.Wake, s.Pause = f.now+5, &schedule.Pause{Actor: "ann", Reason: "r\u2028", At: f.now, Until: f.now + 3}
	s.Trouble, s.TroubleAt = "full", f.now+1
	f.add(s)
	f.equal("found", f.found("default", s.Spec.Name), s)
	f.equal("of another namespace", f.found("other", s.Spec.Name), (*schedule.Schedule)(nil))

	changed := *s
	changed.Spec = f.schedule("default", s.Spec.Name).Spec
	changed.Version, changed.UpdatedAt, changed.Decided, changed.Wake = 2, f.now+7, f.now+8, 0
	changed.Pause, changed.Trouble, changed.TroubleAt = nil, "", 0
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.schedules.SaveSchedule(ctx, tx, &changed) })
	f.equal("saved", f.found("default", s.Spec.Name), &changed)

	decided := changed
	decided.Decided, decided.Wake, decided.Pause = f.now+20, f.now+21, &schedule.Pause{Actor: "bob", At: f.now}
	decided.Trouble, decided.TroubleAt = "again", f.now+22
	ignored := decided
	ignored.Version, ignored.UpdatedAt = 9, f.now+99
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := f.schedules.SaveDecided(ctx, tx, []*schedule.Schedule{&ignored}); err != nil {
			return err
		}
		locked, err := f.schedules.Schedules(ctx, tx, []task.ID{s.ID, f.store.IDs().Take(f.now.Time(), 1)})
		f.equal("locked", locked, []*schedule.Schedule{&decided})
		f.must(err)
		named, err := f.schedules.ScheduleNamed(ctx, tx, "default", s.Spec.Name)
		f.equal("named", named, &decided)
		f.must(err)
		unknown, err := f.schedules.ScheduleNamed(ctx, tx, "default", "other")
		f.equal("unknown", unknown, (*schedule.Schedule)(nil))
		return err
	})
}

// A taken name is a conflict, and names differ by each byte.
func scheduleTaken(f *scheduleFixture) {
	f.add(f.schedule("default", "s"), f.schedule("default", "S"), f.schedule("other", "s"))
	var err error
	f.write(func(ctx context.Context, tx engine.Tx) error {
		err = f.schedules.AddSchedule(ctx, tx, f.schedule("default", "s"))
		n, countErr := f.schedules.CountSchedules(ctx, tx, "default")
		f.equal("in the namespace", n, 2)
		return countErr
	})
	f.equal("code", task.CodeOf(err), task.Conflict)
}

func scheduleLists(f *scheduleFixture) {
	// In this order in any locale.
	names := [][2]string{{"a", "z"}, {"b", "a"}, {"b", "b"}, {"b", "c"}, {"b", "d"}, {"b", "z"}, {"c", "a"}}
	var ids []task.ID
	for _, n := range []int{3, 0, 6, 1, 5, 2, 4} {
		s := f.schedule(names[n][0], names[n][1])
		f.add(s)
		ids = append(ids, s.ID)
	}
	list := func(filter scheduler.Filter) (got [][2]string) {
		f.Helper()
		page, err := f.schedules.ListSchedules(f.Context(), filter)
		f.must(err)
		for _, s := range page {
			got = append(got, [2]string{s.Spec.Namespace, s.Spec.Name})
		}
		return got
	}
	f.equal("all", list(scheduler.Filter{Limit: 9}), names)
	f.equal("first", list(scheduler.Filter{Limit: 2}), names[:2])
	f.equal("next", list(scheduler.Filter{Limit: 9, AfterNamespace: "b", AfterName: "a"}), names[2:])
	f.equal("of a namespace", list(scheduler.Filter{Namespace: "b", AfterNamespace: "b", AfterName: "b", Limit: 2}),
		names[3:5])
	any, err := f.schedules.AnySchedules(f.Context(), task.ID{}, 3)
	f.must(err)
	f.equal("by ID", any, ids[:3])
	any, err = f.schedules.AnySchedules(f.Context(), ids[2], 9)
	f.must(err)
	f.equal("the rest", any, ids[3:])
}

func scheduleWakes(f *scheduleFixture) {
	var list []*schedule.Schedule
	for i, wake := range []task.Instant{3, 0, 1, 2} {
		s := f.schedule("default", string(rune('a'+i)))
		s.Wake = wake
		list = append(list, s)
	}
	f.add(list...)
	got, err := f.schedules.WakeTimes(f.Context(), 2)
	f.must(err)
	f.equal("first", got, []scheduler.Wake{{ID: list[2].ID, At: 1}, {ID: list[3].ID, At: 2}})
	got, err = f.schedules.WakeTimes(f.Context(), 9)
	f.must(err)
	f.equal("number", len(got), 3)
}

// A schedule is deleted with its firings and skips, and no other's.
func scheduleDropped(f *scheduleFixture) {
	gone, stays := f.schedule("default", "gone"), f.schedule("default", "stays")
	f.add(gone, stays)
	for _, s := range []*schedule.Schedule{gone, stays} {
		f.fired(scheduler.Firing{Schedule: s.ID, At: 1, Kind: scheduler.KindTime, State: scheduler.Waiting})
		f.skipped(scheduler.Skip{Schedule: s.ID, Skip: schedule.Skip{Reason: schedule.SkipPaused, Last: 1, Count: 1}})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.schedules.DropSchedule(ctx, tx, gone.ID) })
	f.equal("gone", f.found("default", "gone"), (*schedule.Schedule)(nil))
	f.equal("its firings", len(f.firings(gone.ID, 9, 9))+len(f.skips(gone.ID, 9, 9)), 0)
	f.equal("the other's", len(f.firings(stays.ID, 9, 9))+len(f.skips(stays.ID, 9, 9)), 2)
	f.equal("the other", f.found("default", "stays"), stays)
}

func (f *scheduleFixture) fired(list ...scheduler.Firing) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.schedules.AddFirings(ctx, tx, list) })
}

func (f *scheduleFixture) skipped(list ...scheduler.Skip) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.schedules.AddSkips(ctx, tx, list) })
}

func (f *scheduleFixture) firings(id task.ID, before task.Instant, limit int) []scheduler.Firing {
	f.Helper()
	list, err := f.schedules.ListFirings(f.Context(), id, before, limit)
	f.must(err)
	return list
}

func (f *scheduleFixture) skips(id task.ID, before task.Instant, limit int) []scheduler.Skip {
	f.Helper()
	list, err := f.schedules.ListSkips(f.Context(), id, before, limit)
	f.must(err)
	return list
}

func firingsStored(f *scheduleFixture) {
	s, other, j := f.daily(), f.schedule("default", "other"), f.one()
	f.add(other)
	fire := func(at task.Instant, state scheduler.FiringState) scheduler.Firing {
		return scheduler.Firing{Schedule: s.ID, At: at, Kind: scheduler.KindMissed, State: state, DecidedAt: f.now}
	}
	ended, running, waiting, refused := fire(1, scheduler.Ended), fire(2, scheduler.Running), fire(3, scheduler.Waiting),
		fire(4, scheduler.Refused)
	running.Task, running.SubmittedAt, refused.Error = j.task.ID, f.now+1, "why \u2028"
	of := scheduler.Firing{Schedule: other.ID, At: 2, Kind: scheduler.KindRun, State: scheduler.Waiting, DecidedAt: f.now}
	f.fired(waiting, ended, refused, running, of)
	running.Outcome = j.task.State // that of the task
	f.equal("all", f.firings(s.ID, 9, 9), []scheduler.Firing{refused, waiting, running, ended})
	f.equal("a page", f.firings(s.ID, 4, 2), []scheduler.Firing{waiting, running})
	last, err := f.schedules.LastFirings(f.Context(), []task.ID{s.ID, other.ID, f.one().task.ID})
	f.must(err)
	f.equal("last", last, map[task.ID]*scheduler.Firing{s.ID: &refused, other.ID: &of})
	saved := waiting
	saved.State, saved.Task, saved.SubmittedAt, saved.Kind = scheduler.Running, j.task.ID, f.now+2, scheduler.KindRun
	f.write(func(ctx context.Context, tx engine.Tx) error {
		open, err := f.schedules.OpenFirings(ctx, tx, []task.ID{s.ID, other.ID})
		f.equal("open", open, []scheduler.Firing{running, waiting, of})
		f.must(err)
		between, err := f.schedules.FiredBetween(ctx, tx, []task.ID{s.ID}, 2, 3)
		slices.SortFunc(between, func(a, b scheduler.Firing) int { return int(a.At - b.At) })
		f.equal("between", between, []scheduler.Firing{running, waiting})
		f.must(err)
		return f.schedules.SaveFirings(ctx, tx, []scheduler.Firing{saved})
	})
	saved.Outcome = j.task.State
	f.equal("saved", f.firings(s.ID, 4, 1), []scheduler.Firing{saved})
	f.equal("of the other", f.firings(other.ID, 9, 9), []scheduler.Firing{of})
}

// The second firing for a time fails its transaction, which stores nothing.
func firingsOnce(f *scheduleFixture) {
	s := f.daily()
	first := scheduler.Firing{Schedule: s.ID, At: 5, Kind: scheduler.KindTime, State: scheduler.Waiting}
	f.fired(first)
	second := first
	second.At = 6
	if err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		return f.schedules.AddFirings(ctx, tx, []scheduler.Firing{second, first})
	}); err == nil {
		f.Error("a time fired twice")
	}
	f.equal("firings", f.firings(s.ID, 9, 9), []scheduler.Firing{first})
}

// A firing ends with its task, in any state, or when the task is gone; up to a limit per call.
func firingsSettle(f *scheduleFixture) {
	s := f.daily()
	jobs := f.many(3)
	gone := f.store.IDs().Take(f.now.Time(), 2)
	for i, id := range []task.ID{jobs[0].task.ID, jobs[1].task.ID, jobs[2].task.ID, gone} {
		f.fired(scheduler.Firing{Schedule: s.ID, At: task.Instant(i + 1), Kind: scheduler.KindTime,
			State: scheduler.Running, Task: id})
	}
	f.fired(scheduler.Firing{Schedule: s.ID, At: 9, Kind: scheduler.KindTime, State: scheduler.Waiting})
	f.move(jobs[0], func(s *task.Step) error { return s.Cancel(f.now) })
	f.claimStart(jobs[1])
	f.finish(jobs[1], f.now)
	settle := func(limit int) int {
		list, err := f.schedules.EndedFirings(f.Context(), limit)
		if err != nil {
			f.Fatal(err)
		}
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.schedules.SettleFirings(ctx, tx, append(list, scheduler.Firing{Schedule: s.ID, At: 3}))
		})
		return len(list)
	}
	f.equal("bounded", settle(1), 1)
	f.equal("the rest", settle(9), 2)
	f.equal("again", settle(9), 0)
	var got []string
	for _, firing := range f.firings(s.ID, 99, 99) {
		got = append(got, string(firing.State)+" "+string(firing.Outcome))
	}
	f.equal("states", got, []string{"waiting ", "ended ", "running " + string(jobs[2].task.State), "ended complete",
		"ended cancelled"})
}

// Firings beyond the latest are deleted, except open ones.
func firingsTrimmed(f *scheduleFixture) {
	s, other := f.daily(), f.schedule("default", "other")
	f.add(other)
	states := []scheduler.FiringState{scheduler.Waiting, scheduler.Ended, scheduler.Running, scheduler.Refused,
		scheduler.Ended, scheduler.Ended}
	for i, state := range states {
		for _, id := range []task.ID{s.ID, other.ID} {
			f.fired(scheduler.Firing{Schedule: id, At: task.Instant(i), Kind: scheduler.KindTime, State: state})
			f.skipped(scheduler.Skip{Schedule: id, Skip: schedule.Skip{Reason: schedule.SkipMissed, Last: task.Instant(i)}})
		}
	}
	trim := func(firings, skips int) {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.schedules.TrimFirings(ctx, tx, []task.ID{s.ID}, firings, skips)
		})
	}
	times := func(id task.ID) (at []task.Instant) {
		for _, firing := range f.firings(id, 99, 99) {
			at = append(at, firing.At)
		}
		return at
	}
	trim(6, 6)
	f.equal("all", times(s.ID), []task.Instant{5, 4, 3, 2, 1, 0})
	f.equal("all skips", len(f.skips(s.ID, 99, 99)), 6)
	trim(2, 1)
	f.equal("the latest", times(s.ID), []task.Instant{5, 4, 2, 0})
	f.equal("the latest skip", f.skips(s.ID, 99, 99)[0].Last, task.Instant(5))
	f.equal("skips", len(f.skips(s.ID, 99, 99)), 1)
	f.equal("the other's", len(times(other.ID))+len(f.skips(other.ID, 99, 99)), 12)
}

func skipsStored(f *scheduleFixture) {
	s := f.daily()
	skip := func(last task.Instant, reason string) scheduler.Skip {
		return scheduler.Skip{Schedule: s.ID, DecidedAt: f.now,
			Skip: schedule.Skip{Reason: reason, First: 1, Last: last, Count: 3}}
	}
	paused, missed := skip(2, schedule.SkipPaused), skip(4, schedule.SkipMissed)
	missed.Count, missed.Capped = 10_000, true
	f.skipped(paused, missed)
	f.skipped(paused) // decided again after a restore
	f.equal("all", f.skips(s.ID, 9, 9), []scheduler.Skip{missed, paused})
	f.equal("a page", f.skips(s.ID, 4, 9), []scheduler.Skip{paused})
	f.equal("bounded", f.skips(s.ID, 9, 1), []scheduler.Skip{missed})
}
