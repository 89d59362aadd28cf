package scheduler_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/operate"
)

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("*/10 * * * *", func(s *schedule.Spec) { s.Overlap = schedule.OverlapAllow })
		by := scheduler.By{Actor: "ann", Reason: "migration"}
		if _, err := r.Pause(t.Context(), "default", "nightly", 0, by); err != nil {
			t.Fatal(err)
		}
		r.pass(25 * time.Minute)
		r.want()
		if _, err := r.Resume(t.Context(), "default", "nightly", by); err != nil {
			t.Fatal(err)
		}
		r.pass(5 * time.Minute)
		r.want("paused 01T12:10:00..01T12:20:00 2", "time 01T12:30:00 running")
		_, err := r.Resume(t.Context(), "default", "nightly", by)
		r.refused(err, task.WrongState)
		// with an end, it resumes automatically
		if _, err := r.Pause(t.Context(), "default", "nightly", task.At(r.clock().Add(15*time.Minute)), by); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			r.pass(5 * time.Minute)
		}
		r.want("paused 01T12:10:00..01T12:20:00 2", "time 01T12:30:00 running", "paused 01T12:40:00..01T12:40:00 1",
			"time 01T12:50:00 running")
		acts, err := operate.Of(r.client).Audit(t.Context(), operate.AuditFilter{Kind: "pause_schedule", Limit: 10})
		if err != nil || len(acts) != 2 || acts[0].Actor != "ann" || acts[0].Reason != "migration" {
			t.Fatalf("%+v, %v", acts, err)
		}
	})
}

func TestRunNow(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("@daily")
		run := func(o schedule.Overlap) (*scheduler.Firing, error) {
			r.at(r.clock().Add(time.Second))
			return r.Run(t.Context(), "default", "nightly", o, scheduler.By{})
		}
		first, err := run("")
		if err != nil || first.Task.IsZero() {
			t.Fatalf("%+v, %v", first, err)
		}
		_, err = run("")
		r.refused(err, task.Conflict)
		if _, err = run(schedule.OverlapAllow); err != nil {
			t.Fatal(err)
		}
		waiting, err := run(schedule.OverlapAll)
		if err != nil || waiting.State != scheduler.Waiting {
			t.Fatalf("%+v, %v", waiting, err)
		}
		_, err = run("often")
		r.refused(err, task.Invalid)
		r.wantTasks(2)
		r.work(false)
		r.pass(time.Second)
		r.wantTasks(3)
	})
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("0 * * * *", func(s *schedule.Spec) { s.Overlap = schedule.OverlapAllow })
		r.pass(time.Hour)
		fill := func(from, until time.Duration, o schedule.Overlap) (*scheduler.Backfilled, error) {
			return r.Backfill(t.Context(), "default", "nightly", scheduler.BackfillRequest{From: task.At(noon.Add(from)),
				Until: task.At(noon.Add(until)), Overlap: o}, scheduler.By{})
		}
		out, err := fill(-250*time.Hour, time.Hour, "")
		if err != nil || len(out.Times) != 252 || out.Fired != 251 || out.Known != 1 {
			t.Fatalf("%d times, %+v, %v", len(out.Times), out, err)
		}
		if out, err = fill(-250*time.Hour, time.Hour, ""); err != nil || out.Fired != 0 || out.Known != 252 {
			t.Fatalf("again: %+v, %v", out, err)
		}
		if out, err = fill(-253*time.Hour, -251*time.Hour, schedule.OverlapSkip); err != nil || out.Skipped != 3 {
			t.Fatalf("skipping: %+v, %v", out, err)
		}
		r.wantTasks(252)
		_, err = fill(-2000*time.Hour, 0, "")
		r.refused(err, task.Invalid)
		_, err = fill(0, 5*time.Hour, "")
		r.refused(err, task.Invalid)
		_, err = fill(time.Hour, 0, "")
		r.refused(err, task.Invalid)
	})
}

func TestSave(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := r.save("0 * * * *")
		if again := r.save("0 * * * *"); again.Version != first.Version {
			t.Fatalf("saved without a change: version %d", again.Version)
		}
		spec := &schedule.Spec{Namespace: "default", Name: "nightly", Cron: "*/10 * * * *", TaskType: "report"}
		_, err := r.Save(t.Context(), spec, scheduler.By{Version: 7}, false)
		r.refused(err, task.Conflict)
		if saved, err := r.Save(t.Context(), spec, scheduler.By{Version: 1}, true); err != nil || !saved.Changed() {
			t.Fatalf("%+v, %v", saved, err)
		}
		// Times of the old expression do not fire under the new one.
		r.at(noon.Add(35 * time.Minute))
		r.save("*/10 * * * *")
		r.pass(5 * time.Minute)
		r.want("time 01T12:40:00 running")
	})
}

func TestRefusedSpecs(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for _, backwards := range []string{"10-5 * * * *", "0 1-5,22-2/2 * * *", "0 0 * * 5-1"} {
			spec := &schedule.Spec{Namespace: "default", Name: "s", Cron: backwards, TaskType: "report"}
			if _, err := r.Save(t.Context(), spec, scheduler.By{}, true); task.CodeOf(err) != task.Invalid {
				t.Errorf("%s: %v", backwards, err)
			}
		}
		for _, forwards := range []string{"0 22-23,0-2 * NOV-FEB FRI-MON", "5-5 1-10/2 * * *"} {
			spec := &schedule.Spec{Namespace: "default", Name: "s", Cron: forwards, TaskType: "report"}
			if _, err := r.Save(t.Context(), spec, scheduler.By{}, true); err != nil {
				t.Errorf("%s: %v", forwards, err)
			}
		}
		for at, set := range map[string]func(s *schedule.Spec){
			"/name":           func(s *schedule.Spec) { s.Name = "a\x1b[31m" },
			"/cron":           func(s *schedule.Spec) { s.Cron = "@every 1ms" },
			"/time_zone":      func(s *schedule.Spec) { s.Zone = "../../etc/passwd" },
			"/jitter_seconds": func(s *schedule.Spec) { s.Jitter = 2 * time.Hour },
			"/end_at":         func(s *schedule.Spec) { s.Start, s.End = task.At(noon), task.At(noon.Add(-time.Hour)) },
			"/overlap":        func(s *schedule.Spec) { s.Overlap = "never" },
			"/missed":         func(s *schedule.Spec) { s.Missed = "never" },
			"/missed_limit":   func(s *schedule.Spec) { s.Missed = schedule.MissedAll },
			"/grace_seconds":  func(s *schedule.Spec) { s.Grace = 25 * time.Hour },
			"/template":       func(s *schedule.Spec) { s.Template, s.TaskType = "unknown", "" },
			"/task_type":      func(s *schedule.Spec) { s.Template = "both" },
			"/priority":       func(s *schedule.Spec) { s.Priority = "urgent" },
			"/context":        func(s *schedule.Spec) { s.Context = []byte(`"` + strings.Repeat("x", 1<<20) + `"`) },
			"/time_field":     func(s *schedule.Spec) { s.TimeField, s.Context = "at", []byte(`[]`) },
			"/tags/0":         func(s *schedule.Spec) { s.Tags = []string{""} },
			"/ordering_key":   func(s *schedule.Spec) { s.OrderingKey = strings.Repeat("k", 256) },
		} {
			spec := &schedule.Spec{Namespace: "default", Name: "s", Cron: "* * * * *", TaskType: "report"}
			set(spec)
			_, err := r.Save(t.Context(), spec, scheduler.By{}, false)
			var e *task.Error
			if task.CodeOf(err) != task.Invalid {
				t.Errorf("%s: %v", at, err)
				continue
			}
			e = err.(*task.Error)
			if len(e.Problems) != 1 || e.Problems[0].Location != at {
				t.Errorf("%s: %+v", at, e.Problems)
			}
		}
	})
}

func TestScope(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("@daily")
		secret, hash := access.Generate()
		ring, err := access.New([]access.Key{{Name: "shop", SHA256: hash, Permissions: []string{"read", "operate"},
			Namespaces: []string{"shop"}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := access.With(t.Context(), ring.Authenticate(secret))
		for name, try := range map[string]func(context.Context) error{
			"Schedule": func(ctx context.Context) error { _, err := r.Schedule(ctx, "default", "nightly"); return err },
			"History":  func(ctx context.Context) error { _, err := r.History(ctx, "default", "nightly", 0, 1); return err },
			"Pause": func(ctx context.Context) error {
				_, err := r.Pause(ctx, "default", "nightly", 0, scheduler.By{})
				return err
			},
			"Run": func(ctx context.Context) error {
				_, err := r.Run(ctx, "default", "nightly", "", scheduler.By{})
				return err
			},
			"Remove": func(ctx context.Context) error { return r.Remove(ctx, "default", "nightly", scheduler.By{}) },
			"Save": func(ctx context.Context) error {
				_, err := r.Save(ctx, &schedule.Spec{Namespace: "default", Name: "x", Cron: "@daily", TaskType: "t"},
					scheduler.By{}, false)
				return err
			},
		} {
			if err := try(ctx); task.CodeOf(err) != task.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
		if list, err := r.Schedules(ctx, scheduler.Filter{Limit: 10}); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// TestRestoredDatabase: an earlier copy continues where it was; later times are missed.
func TestRestoredDatabase(t *testing.T) {
	t.Parallel()
	file, backup := sqlitetest.File(t), filepath.Join(t.TempDir(), "backup.db")
	on := func(file string, script func(r *rig)) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, err := sqlite.Open(t.Context(), file, nil)
			if err != nil {
				t.Fatal(err)
			}
			script(newRig(t, s, settings.Config{}))
		})
	}
	on(file, func(r *rig) {
		r.save("0 * * * *", func(s *schedule.Spec) { s.Missed, s.Overlap = schedule.MissedOnce, schedule.OverlapAllow })
		r.pass(time.Hour)
	})
	saved, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(backup, saved, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	on(file, func(r *rig) {
		r.at(noon.Add(time.Hour))
		r.pass(time.Hour)
		r.pass(time.Hour)
		r.wantTasks(3)
	})
	on(backup, func(r *rig) {
		r.at(noon.Add(3*time.Hour + 30*time.Minute))
		r.fire()
		r.want("time 01T13:00:00 running", "missed 01T14:00:00..01T14:00:00 1", "missed 01T15:00:00 running")
	})
}

func TestTasksOfSchedulesAreExplained(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("0 * * * *")
		r.pass(time.Hour)
		page, err := r.client.Tasks(t.Context(), tasker.TaskFilter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		x, err := r.client.ExplainTask(t.Context(), page.Tasks[0].TaskUUID)
		if err != nil || !strings.HasPrefix(x.Origin, "The schedule nightly submitted it for ") {
			t.Fatalf("%+v, %v", x, err)
		}
	})
}
