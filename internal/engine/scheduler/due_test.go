package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

func (r *rig) fired(name string) int {
	r.t.Helper()
	h, err := r.History(r.t.Context(), "default", name, 0, 2000)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(h.Firings)
}

// TestMoreDueThanOneCall: after an outage more tasks are due than one call may have. All are submitted once.
func TestMoreDueThanOneCall(t *testing.T) {
	t.Parallel()
	for _, items := range []int{1, 7, 100} {
		var c settings.Config
		c.Limits.BatchItems = items
		onEveryDatabaseWith(t, c, func(t *testing.T, r *rig) {
			const schedules, times = 11, 30
			for i := range schedules {
				r.save("* * * * *", func(s *schedule.Spec) {
					s.Name, s.Missed, s.MissedLimit, s.Overlap = fmt.Sprint("s", i), schedule.MissedAll, 100, schedule.OverlapAllow
				})
			}
			r.pass(times * time.Minute)
			for i := range schedules {
				if n := r.fired(fmt.Sprint("s", i)); n != times {
					t.Errorf("%d items in one call: schedule %d fired %d times, want %d", items, i, n, times)
				}
			}
			r.wantTasks(schedules * times)
		})
	}
}

// TestCancelsMoreThanOneCall: a firing replaces more tasks than one call may cancel.
func TestCancelsMoreThanOneCall(t *testing.T) {
	t.Parallel()
	var c settings.Config
	c.Limits.BatchItems = 10
	onEveryDatabaseWith(t, c, func(t *testing.T, r *rig) {
		r.save("* * * * *", func(s *schedule.Spec) { s.Name, s.Overlap = "a", schedule.OverlapAllow })
		for range 35 {
			r.pass(time.Minute)
		}
		r.save("* * * * *", func(s *schedule.Spec) { s.Name, s.Overlap = "a", schedule.OverlapCancel })
		r.save("* * * * *", func(s *schedule.Spec) { s.Name, s.Overlap = "innocent", schedule.OverlapAllow })
		r.pass(time.Minute)
		if a, b := r.fired("a"), r.fired("innocent"); a != 36 || b != 1 {
			t.Fatalf("they fired %d and %d times, want 36 and 1", a, b)
		}
		cancelled := 0
		for _, line := range r.tasks() {
			if strings.HasSuffix(line, " cancelled") {
				cancelled++
			}
		}
		if cancelled != 35 {
			t.Fatalf("%d tasks were cancelled, want 35: %v", cancelled, r.tasks())
		}
	})
}

type poisonedDB struct {
	*sqlite.Store

	rows *poisonedRows
}

func (d *poisonedDB) Schedules() scheduler.Store { return d.rows }

type poisonedRows struct {
	scheduler.Store
	mu   sync.Mutex
	bad  map[task.ID]bool
	more []scheduler.Wake // bad, and due first

	stuck task.ID // whose firings cannot end
}

func (s *poisonedRows) WakeTimes(ctx context.Context, limit int) ([]scheduler.Wake, error) {
	list, err := s.Store.WakeTimes(ctx, limit)
	list = append(slices.Clone(s.more), list...)
	return list[:min(limit, len(list))], err
}

var errPoison = errors.New("the row cannot be read")

func (s *poisonedRows) Schedules(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*schedule.Schedule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if s.bad[id] {
			return nil, errPoison
		}
	}
	return s.Store.Schedules(ctx, tx, ids)
}

func (s *poisonedRows) SettleFirings(ctx context.Context, tx engine.Tx, list []scheduler.Firing) error {
	for _, f := range list {
		if f.Schedule == s.stuck {
			return errPoison
		}
	}
	return s.Store.SettleFirings(ctx, tx, list)
}

// TestPoisonedFirings: a firing whose end cannot be stored blocks nothing else.
func TestPoisonedFirings(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	db := &poisonedDB{s, &poisonedRows{Store: s.Schedules()}}
	r := newRig(t, db, settings.Config{})
	for _, name := range []string{"bad", "good"} {
		of := r.save("* * * * *", func(s *schedule.Spec) { s.Name = name })
		if name == "bad" {
			db.rows.stuck = of.ID
		}
	}
	r.pass(time.Minute)
	for range 2 {
		r.work(false)
	}
	r.at(r.clock().Add(time.Minute))
	for more := true; more; {
		if _, more, err = r.Fire(t.Context()); err != nil && !due.OnlyRows(err) {
			t.Fatal(err)
		}
	}
	if bad, good := r.fired("bad"), r.fired("good"); bad != 2 || good != 2 {
		t.Errorf("they fired %d and %d times, want 2", bad, good)
	}
	ended := func() int {
		list, err := db.rows.EndedFirings(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := ended(); n != 1 {
		t.Errorf("%d firings are to be ended, want 1", n)
	}
	db.rows.stuck = task.ID{}
	r.pass(time.Minute)
	if n := ended(); n != 0 {
		t.Errorf("after the cure %d firings are to be ended", n)
	}
}

// TestPoisonedSchedules: unreadable schedules that are due first block no other, and rest longer each time.
func TestPoisonedSchedules(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{1, 120, 10_000} {
		s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		db := &poisonedDB{s, &poisonedRows{Store: s.Schedules(), bad: map[task.ID]bool{}}}
		r := newRig(t, db, settings.Config{})
		for i := range max(0, bad-100) {
			id := task.ID{15: byte(i), 14: byte(i >> 8), 0: 1}
			db.rows.bad[id], db.rows.more = true, append(db.rows.more, scheduler.Wake{ID: id, At: 1})
		}
		for i := range min(bad, 100) {
			db.rows.bad[r.save("* * * * *", func(s *schedule.Spec) { s.Name = fmt.Sprint("bad", i) }).ID] = true
		}
		for _, name := range []string{"a", "b"} {
			r.save("* * * * *", func(s *schedule.Spec) { s.Name, s.Overlap = name, schedule.OverlapAllow })
		}
		named, rounds := 0, 5
		if bad > 1000 {
			rounds = 1
		}
		for range rounds {
			r.at(r.clock().Add(time.Minute))
			for more := true; more; {
				var failed *due.Error
				var err error
				if _, more, err = r.Fire(t.Context()); err != nil && !errors.As(err, &failed) {
					t.Fatal(err)
				}
				if failed != nil {
					named += len(failed.Faults)
				}
			}
		}
		if a, b := r.fired("a"), r.fired("b"); a != rounds || b != rounds {
			t.Errorf("%d poisoned: the others fired %d and %d times, want %d", bad, a, b, rounds)
		}
		if named < bad {
			t.Errorf("%d of %d poisoned schedules were named", named, bad)
		}
		clear(db.rows.bad)
		db.rows.more = nil // the cause is gone
		r.at(r.clock().Add(time.Minute))
		for range 30 {
			r.fire()
		}
		if n := r.fired("bad0"); n == 0 {
			t.Error("a schedule that was repaired does not fire")
		}
	}
}

// TestScheduleWithoutKey: a node that cannot decrypt a schedule's context uses up no times.
func TestScheduleWithoutKey(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := &unopenedRows{Store: s.Schedules(), sealed: true}
	r := newRig(t, &unopenedDB{s, rows}, settings.Config{})
	r.save("0 * * * *", func(s *schedule.Spec) { s.Context = []byte(`{"card":1}`) })
	r.at(r.clock().Add(time.Hour))
	_, _, err = r.Fire(t.Context())
	if failed := (*due.Error)(nil); !errors.As(err, &failed) ||
		!strings.Contains(err.Error(), "cannot be decrypted here") {
		t.Fatalf("answered %v", err)
	}
	of, err := r.Schedule(t.Context(), "default", "nightly")
	if err != nil || !strings.Contains(of.Trouble, "cannot be decrypted here") {
		t.Fatalf("the trouble is %+v, %v", of, err)
	}
	rows.sealed = false
	r.pass(time.Second)
	r.want("time 01T13:00:00 running")
}

type unopenedDB struct {
	*sqlite.Store

	rows *unopenedRows
}

func (d *unopenedDB) Schedules() scheduler.Store { return d.rows }

type unopenedRows struct {
	scheduler.Store
	sealed bool
}

func (s *unopenedRows) Schedules(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*schedule.Schedule, error) {
	list, err := s.Store.Schedules(ctx, tx, ids)
	for _, of := range list {
		if s.sealed {
			of.Spec.Context = task.Unopened("no key k1", of.Spec.Context)
		}
	}
	return list, err
}
