package scheduler_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestFires(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("0 * * * *", func(s *schedule.Spec) {
			s.Context, s.TimeField, s.Tags = []byte(`{"a":1}`), "at", []string{"x"}
		})
		r.pass(59 * time.Minute)
		r.wantTasks(0)
		r.pass(time.Minute)
		r.pass(0)
		r.want("time 01T13:00:00 running")
		page, err := r.client.Tasks(t.Context(), tasker.TaskFilter{Limit: 10})
		if err != nil || len(page.Tasks) != 1 {
			t.Fatalf("%v, %v", page, err)
		}
		got, err := r.client.Task(t.Context(), page.Tasks[0].TaskUUID, 0)
		if err != nil || string(got.Context) != `{"a":1,"at":"2026-03-01T13:00:00Z"}` || got.Schedule.Name != "nightly" ||
			got.Schedule.Kind != "time" || len(got.Tags) != 1 {
			t.Fatalf("the task is %+v with %s, %v", got, got.Context, err)
		}
		r.work(false)
		r.pass(time.Hour)
		r.want("time 01T13:00:00 ended complete", "time 01T14:00:00 running")
		if got := strings.Join(r.told.list, ", "); got != "fired time 0s, fired time 0s" {
			t.Errorf("the observer was told %s", got)
		}
	})
}

// TestTimeWithoutContext: a null context is none, even if it receives the time.
func TestTimeWithoutContext(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("0 * * * *", func(s *schedule.Spec) { s.Context, s.TimeField = []byte(` null `), "at" })
		r.pass(time.Hour)
		r.want("time 01T13:00:00 running")
		page, err := r.client.Tasks(t.Context(), tasker.TaskFilter{WithContext: true})
		if err != nil || len(page.Tasks) != 1 || string(page.Tasks[0].Context) != `{"at":"2026-03-01T13:00:00Z"}` {
			t.Errorf("the task is %+v, %v", page, err)
		}
	})
}

// TestClockChanges: a firing in the gap comes once, later by the gap; one in the overlap once, the first time; an
// hourly one in both.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.at(time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC))
		r.save("30 2 * * *", func(s *schedule.Spec) { s.Zone, s.Overlap = "Europe/Berlin", schedule.OverlapAllow })
		hours := func(n int) {
			for range n * 6 {
				r.pass(10 * time.Minute)
			}
		}
		hours(24)
		r.want("time 29T01:30:00 running")
		r.at(time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC))
		r.fire()
		hours(24)
		if got := r.history(); got[len(got)-1] != "time 25T00:30:00 running" {
			t.Fatal(got)
		}
		r.save("30 * * * *", func(s *schedule.Spec) { s.Zone, s.Overlap = "Europe/Berlin", schedule.OverlapAllow })
		hours(3)
		if got := r.history(); got[len(got)-1] != "time 25T14:30:00 running" {
			t.Fatal(got)
		}
	})
}

func TestMissed(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for i, c := range []struct {
			missed schedule.Missed
			limit  int
			want   []string
		}{
			{schedule.MissedSkip, 0, []string{"missed 01T13:00:00..02T11:00:00 23", "time 02T12:00:00 running"}},
			{schedule.MissedOnce, 0, []string{"missed 01T13:00:00..02T10:00:00 22", "missed 02T11:00:00 running",
				"time 02T12:00:00 running"}},
			{schedule.MissedAll, 3, []string{"missed 01T13:00:00..02T08:00:00 20", "missed 02T09:00:00 running",
				"missed 02T10:00:00 running", "missed 02T11:00:00 running", "time 02T12:00:00 running"}},
		} {
			r.at(noon)
			r.save("0 * * * *", func(s *schedule.Spec) {
				s.Missed, s.MissedLimit, s.Overlap = c.missed, c.limit, schedule.OverlapAllow
			})
			r.pass(24 * time.Hour)
			r.pass(time.Second)
			r.want(c.want...)
			if err := r.Remove(t.Context(), "default", "nightly", scheduler.By{}); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
	})
}

// TestLongOutage: skipped times are counted up to a bound, and the latest one is made up for.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("@every 1s", func(s *schedule.Spec) {
			s.Missed, s.MissedLimit, s.Overlap = schedule.MissedAll, 250, schedule.OverlapAllow
		})
		r.pass(90 * 24 * time.Hour)
		got := r.history()
		if len(got) != 1+250+61 || got[0] != "missed 01T12:00:01..30T11:54:49 10000" {
			t.Fatalf("%d lines, %s", len(got), got[0])
		}
	})
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for overlap, c := range map[schedule.Overlap]struct {
			before, after []string
		}{
			schedule.OverlapSkip: {[]string{"time 01T12:10:00 running", "overlap 01T12:20:00..01T12:20:00 1",
				"overlap 01T12:30:00..01T12:30:00 1"}, []string{"time 01T12:10:00 ended complete",
				"overlap 01T12:20:00..01T12:20:00 1", "overlap 01T12:30:00..01T12:30:00 1"}},
			schedule.OverlapOne: {[]string{"time 01T12:10:00 running", "time 01T12:20:00 waiting",
				"overlap 01T12:30:00..01T12:30:00 1"}, []string{"time 01T12:10:00 ended complete", "time 01T12:20:00 running",
				"overlap 01T12:30:00..01T12:30:00 1"}},
			schedule.OverlapAll: {[]string{"time 01T12:10:00 running", "time 01T12:20:00 waiting",
				"time 01T12:30:00 waiting"}, []string{"time 01T12:10:00 ended complete", "time 01T12:20:00 running",
				"time 01T12:30:00 waiting"}},
			schedule.OverlapCancel: {[]string{"time 01T12:10:00 ended cancelled", "time 01T12:20:00 ended cancelled",
				"time 01T12:30:00 running"}, []string{"time 01T12:10:00 ended cancelled", "time 01T12:20:00 ended cancelled",
				"time 01T12:30:00 ended complete"}},
			schedule.OverlapAllow: {[]string{"time 01T12:10:00 running", "time 01T12:20:00 running",
				"time 01T12:30:00 running"}, []string{"time 01T12:10:00 ended complete", "time 01T12:20:00 ended complete",
				"time 01T12:30:00 ended complete"}},
		} {
			r.at(noon)
			r.save("*/10 * * * *", func(s *schedule.Spec) { s.Overlap = overlap })
			for range 3 {
				r.pass(10 * time.Minute)
			}
			r.pass(time.Second)
			r.want(c.before...)
			r.work(false)
			r.pass(time.Second)
			r.pass(time.Second)
			r.want(c.after...)
			if err := r.Remove(t.Context(), "default", "nightly", scheduler.By{}); err != nil {
				t.Fatal(err)
			}
			r.work(false)
		}
	})
}

// TestFailedTaskDoesNotBlock: for the schedule a task in error has ended.
func TestFailedTaskDoesNotBlock(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		none := 0
		r.save("*/10 * * * *", func(s *schedule.Spec) { s.Overlap, s.MaxRetries = schedule.OverlapAll, &none })
		r.pass(10 * time.Minute)
		r.pass(10 * time.Minute)
		r.work(true)
		r.pass(time.Second)
		r.want("time 01T12:10:00 ended error", "time 01T12:20:00 running")
	})
}

// TestClockGoesBack: times do not fire again.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("*/10 * * * *", func(s *schedule.Spec) { s.Overlap = schedule.OverlapAllow })
		r.pass(10 * time.Minute)
		r.pass(10 * time.Minute)
		r.wantTasks(2)
		r.at(noon.Add(-time.Hour))
		for range 8 {
			r.pass(10 * time.Minute)
		}
		r.wantTasks(2)
		r.pass(10 * time.Minute)
		r.wantTasks(3)
	})
}

// TestNodesAtOnce: concurrent nodes submit one task for each firing.
func TestNodesAtOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		nodes := []*rig{r, r, r}
		if r.reopen != nil {
			nodes = []*rig{r, r.reopen(), r.reopen()}
		}
		const schedules = 20
		for i := range schedules {
			r.save("@every 1m", func(s *schedule.Spec) {
				s.Name, s.Overlap = fmt.Sprintf("s%d", i), schedule.OverlapAllow
			})
		}
		for minute := range 5 {
			var all sync.WaitGroup
			for _, n := range nodes {
				n.at(noon.Add(time.Duration(minute+1) * time.Minute))
			}
			for _, n := range nodes {
				all.Go(func() {
					for range 3 {
						if _, _, err := n.Fire(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			r.fire()
		}
		seen := map[string]bool{}
		page, err := r.client.Tasks(t.Context(), tasker.TaskFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			seen[task.Schedule.Name+task.Schedule.Time.String()] = true
		}
		if len(page.Tasks) != 5*schedules || len(seen) != 5*schedules {
			t.Fatalf("%d tasks of %d firings, want %d", len(page.Tasks), len(seen), 5*schedules)
		}
	})
}

// TestRefusedTask: a refused task is a firing too; the schedule continues.
func TestRefusedTask(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		v1 := "name: order\nversion: \"1\"\nsteps: [{name: a, handler: h}]\n"
		v2 := "name: order\nversion: \"2\"\ninput_schema: {type: object, required: [a]}\nsteps: [{name: a, handler: h}]\n"
		r.template(v1)
		r.save("*/10 * * * *", func(s *schedule.Spec) { s.TaskType, s.Template = "", "order" })
		r.template(v2)
		r.pass(10 * time.Minute)
		r.want("time 01T12:10:00 refused")
		h, err := r.History(t.Context(), "default", "nightly", 0, 10)
		if err != nil || !strings.HasPrefix(h.Firings[0].Error, "context ") {
			t.Fatalf("%+v, %v", h, err)
		}
		// a backfill makes up for it after a repair
		r.save("*/10 * * * *", func(s *schedule.Spec) {
			s.TaskType, s.Template, s.Context = "", "order", []byte(`{"a":1}`)
		})
		out, err := r.Backfill(t.Context(), "default", "nightly", scheduler.BackfillRequest{From: task.At(noon),
			Until: task.At(r.clock())}, scheduler.By{})
		if err != nil || out.Fired != 1 || len(out.Times) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
	})
}

// TestJitter delays each firing equally on each node, and keeps the order.
func TestJitter(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("*/10 * * * *", func(s *schedule.Spec) { s.Jitter, s.Overlap = 5*time.Minute, schedule.OverlapAllow })
		for range 60 * 6 {
			r.pass(10 * time.Second)
		}
		r.wantTasks(len(r.told.list))
		late := map[string]bool{}
		for _, line := range r.told.list {
			late[line] = true
		}
		if len(r.told.list) < 5 || len(late) < 4 {
			t.Fatalf("told %v", r.told.list)
		}
	})
}

func TestStartAndEnd(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("@every 10m", func(s *schedule.Spec) {
			s.Start, s.End = task.At(noon.Add(25*time.Minute)), task.At(noon.Add(50*time.Minute))
			s.Overlap = schedule.OverlapAllow
		})
		for range 24 {
			r.pass(5 * time.Minute)
		}
		r.want("time 01T12:25:00 running", "time 01T12:35:00 running", "time 01T12:45:00 running")
	})
}
