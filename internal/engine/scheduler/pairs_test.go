package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (r *rig) submit() uuid.UUID {
	r.t.Helper()
	got, err := r.client.Submit(r.t.Context(), tasker.TaskRequest{Name: "sync"})
	if err != nil {
		r.t.Fatal(err)
	}
	return got.TaskUUID
}

func (r *rig) state(id uuid.UUID) string {
	r.t.Helper()
	got, err := r.client.Task(r.t.Context(), id, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(got.State)
}

func ofSync(overlap schedule.Overlap) func(s *schedule.Spec) {
	return func(s *schedule.Spec) { s.TaskType, s.Template, s.Overlap = "", "sync", overlap }
}

// TestUniqueTemplate: a firing whose unique key another task has gets no task. The schedule does not wait for that
// task or cancel it, fires again after its end, and a backfill makes up for refused firings.
func TestUniqueTemplate(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.template("name: sync\nversion: \"1\"\nunique: {by: template}\nsteps: [{name: a, handler: h}]\n")
		for _, overlap := range []schedule.Overlap{schedule.OverlapCancel, schedule.OverlapOne} {
			r.at(noon)
			other := r.submit()
			r.save("*/10 * * * *", ofSync(overlap))
			r.pass(10 * time.Minute)
			r.pass(10 * time.Minute)
			r.want("time 01T12:10:00 refused", "time 01T12:20:00 refused")
			_, err := r.Run(t.Context(), "default", "nightly", "", scheduler.By{})
			r.refused(err, task.Conflict)
			h, err := r.History(t.Context(), "default", "nightly", 0, 10)
			if err != nil || !strings.Contains(h.Firings[0].Error, other.String()) || !h.Firings[0].Task.IsZero() {
				t.Fatalf("%+v, %v", h, err)
			}
			if state := r.state(other); state != "steps_in_process" {
				t.Fatalf("the other task is %s", state)
			}
			r.work(false)
			r.pass(10 * time.Minute)
			r.want("time 01T12:10:00 refused", "time 01T12:20:00 refused", "time 01T12:30:00 running")
			r.work(false)
			r.pass(time.Second)
			// Only one refused firing at a time gets the key.
			out, err := r.Backfill(t.Context(), "default", "nightly", scheduler.BackfillRequest{From: task.At(noon),
				Until: task.At(r.clock()), Overlap: schedule.OverlapAllow}, scheduler.By{})
			if err != nil || len(out.Times) != 4 || out.Fired != 1 || out.Refused != 2 || out.Known != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
			if err := r.Remove(t.Context(), "default", "nightly", scheduler.By{}); err != nil {
				t.Fatal(err)
			}
			r.work(false)
		}
	})
}

// TestUniqueTemplateReplaces: with the rule replace the last firing's task stays, even with several in one call.
func TestUniqueTemplateReplaces(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.template("name: sync\nversion: \"1\"\nunique: {by: template, on_conflict: replace}\n" +
			"steps: [{name: a, handler: h}]\n")
		r.save("*/10 * * * *", ofSync(schedule.OverlapAllow))
		r.pass(10 * time.Minute)
		r.pass(10 * time.Minute)
		r.pass(time.Second)
		r.want("time 01T12:10:00 ended cancelled", "time 01T12:20:00 running")
		out, err := r.Backfill(t.Context(), "default", "nightly", scheduler.BackfillRequest{
			From: task.At(noon.Add(-time.Hour)), Until: task.At(noon.Add(-time.Minute))}, scheduler.By{})
		if err != nil || out.Fired != 1 || out.Refused != 5 {
			t.Fatalf("%+v, %v", out, err)
		}
		r.pass(time.Second)
		got := r.history()
		if got[5] != "backfill 01T11:50:00 running" || got[7] != "time 01T12:20:00 ended cancelled" {
			t.Fatalf("the history is %v", got)
		}
	})
}

// TestPausedNamespace: a pause holds back tasks, not firings.
func TestPausedNamespace(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.template("name: sync\nversion: \"1\"\nsteps: [{name: a, handler: h}]\n")
		for _, target := range []flow.Target{{Kind: flow.Namespace, Namespace: "default"},
			{Kind: flow.Template, Namespace: "default", Template: "sync"}} {
			r.at(noon)
			if _, err := flow.Of(r.client).Pause(t.Context(), flow.PauseRequest{Target: target}); err != nil {
				t.Fatal(err)
			}
			r.save("*/10 * * * *", ofSync(schedule.OverlapOne))
			for range 3 {
				r.pass(10 * time.Minute)
				r.work(false)
			}
			r.want("time 01T12:10:00 running", "time 01T12:20:00 waiting", "overlap 01T12:30:00..01T12:30:00 1")
			if _, err := flow.Of(r.client).ResumePaused(t.Context(), flow.ResumePausedRequest{Target: target}); err != nil {
				t.Fatal(err)
			}
			if err := r.node.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.work(false)
			r.pass(time.Second)
			r.work(false)
			r.pass(time.Second)
			r.want("time 01T12:10:00 ended complete", "time 01T12:20:00 ended complete",
				"overlap 01T12:30:00..01T12:30:00 1")
			if err := r.Remove(t.Context(), "default", "nightly", scheduler.By{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestBackPressure: a firing refused by back-pressure is neither lost nor doubled; others fire. After the grace it
// was missed.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	c := settings.Config{Backpressure: settings.Backpressure{Scope: settings.AllScope, Soft: 3, HighOnly: -1,
		AllowListOnly: -1}}
	onEveryDatabaseWith(t, c, func(t *testing.T, r *rig) {
		r.template("name: sync\nversion: \"1\"\nsteps: [{name: a, handler: h}]\n")
		r.save("*/10 * * * *", ofSync(schedule.OverlapAllow))
		r.save("*/10 * * * *", ofSync(schedule.OverlapAllow), func(s *schedule.Spec) {
			s.Name, s.Priority = "urgent", "high"
		})
		for range 3 {
			r.submit()
		}
		r.pass(10 * time.Minute)
		r.want()
		of, err := r.Schedule(t.Context(), "default", "nightly")
		if err != nil || of.Trouble == "" || of.Wake != task.At(r.clock().Add(5*time.Second)) {
			t.Fatalf("%+v, %v", of, err)
		}
		if h, err := r.History(t.Context(), "default", "urgent", 0, 10); err != nil || len(h.Firings) != 1 {
			t.Fatalf("%+v, %v", h, err)
		}
		r.pass(5 * time.Second)
		r.want()
		r.work(false)
		r.passUntilFired("nightly")
		r.want("time 01T12:10:00 running")
		if of, err = r.Schedule(t.Context(), "default", "nightly"); err != nil || of.Trouble != "" {
			t.Fatalf("%+v, %v", of, err)
		}
		for range 2 {
			r.submit()
		}
		r.at(noon.Add(20 * time.Minute))
		for range 14 {
			r.pass(5 * time.Second)
		}
		r.work(false)
		r.pass(5 * time.Second)
		r.want("time 01T12:10:00 ended complete", "missed 01T12:20:00..01T12:20:00 1")
	})
}
