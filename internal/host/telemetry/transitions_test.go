package telemetry_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// newTransitions logs each transition. logged returns the new lines without the level, and with IDs as the words of
// named.
func newTransitions(t *testing.T, of engine.Options) (r *rig, logged func(named map[task.ID]string) string) {
	t.Helper()
	var lines strings.Builder
	log := slog.New(
		telemetry.LogHandler(slog.NewTextHandler(&lines,
			&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
					return slog.Attr{}
				}
				return a
			}})))
	of.Transitions = true
	return newRigWith(t, telemetry.Options{Logger: log}, of), func(named map[task.ID]string) string {
		text := lines.String()
		lines.Reset()
		for id, name := range named {
			text = strings.ReplaceAll(text, id.String(), name)
		}
		return text
	}
}

func TestTransitionsAreLogged(t *testing.T) {
	t.Parallel()
	r, logged := newTransitions(t, engine.Options{Config: settings.Config{Cases: settings.Cases{Enabled: settings.Off}}})
	id := r.submit(engine.Submission{TaskType: "mail", Meta: task.Meta{TraceParent: sampled, Initiator: "ann"}})[0].ID
	r.now = r.now.Add(time.Second)
	l := r.claim()
	r.settle(l, engine.ResultFailed, &task.Failure{Message: "secret", Retryable: true})
	r.now = r.now.Add(time.Hour)
	_, err := r.FireTimers(t.Context(), 10)
	r.must(err)
	leases, _, err := r.Poll(t.Context(), r.worker.ID, 1, 0, false)
	r.must(err)
	r.settle(leases[0], engine.ResultCompleted, nil)
	const of, who = " namespace=default name=mail", " user=ann" + ids
	const ofTask, ofStep = `msg="task transition" task=TASK` + of,
		`msg="step transition" task=TASK step=STEP` + of + " step_name=mail"
	want := []string{
		ofStep + " to=enqueued verb=submit priority=medium age_seconds=0 retry_count=0" + who,
		ofTask + " to=steps_in_process verb=submit priority=medium age_seconds=0" + who,
		ofStep + " from=enqueued to=in_progress verb=claim worker=w priority=medium age_seconds=1 retry_count=0" + who,
		ofStep + " from=in_progress to=waiting_for_retry verb=settle worker=w priority=medium age_seconds=1 retry_count=0" +
			who,
		ofTask + " from=steps_in_process to=waiting_for_retry verb=settle priority=medium age_seconds=1" + who,
		ofStep + " from=waiting_for_retry to=enqueued verb=timers priority=medium age_seconds=3601 retry_count=0" + who,
		ofTask + " from=waiting_for_retry to=steps_in_process verb=timers priority=medium age_seconds=3601" + who,
		ofStep + " from=enqueued to=assigned verb=claim worker=w priority=medium age_seconds=3601 retry_count=0" + who,
		ofStep + " from=assigned to=in_progress verb=settle worker=w priority=medium age_seconds=3601 retry_count=1" + who,
		ofStep + " from=in_progress to=complete verb=settle worker=w priority=medium age_seconds=3601 retry_count=1" + who,
		ofTask + " from=steps_in_process to=complete verb=settle priority=medium age_seconds=3601" + who,
	}
	got := logged(map[task.ID]string{id: "TASK", l.Step.ID: "STEP"})
	if got != strings.Join(want, "\n")+"\n" {
		t.Errorf("the log is\n%swant\n%s", got, strings.Join(want, "\n"))
	}
	if strings.Contains(got, "secret") {
		t.Error("the log has the worker's words")
	}
}

// TestTransitionsInTheDispatcher: the store does not have what the dispatcher hands out and begins.
func TestTransitionsInTheDispatcher(t *testing.T) {
	t.Parallel()
	r, logged := newTransitions(t, engine.Options{Dispatcher: memory.NewServer().Open()})
	r.must(r.MaintainDispatch(t.Context()))
	id := r.submit(engine.Submission{TaskType: "mail", Meta: task.Meta{Initiator: "ann"}})[0].ID
	logged(nil)
	leases, _, err := r.Poll(t.Context(), r.worker.ID, 1, 0, false)
	r.must(err)
	if len(leases) != 1 {
		t.Fatalf("the worker got %d steps", len(leases))
	}
	ref := engine.LeaseRef{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Worker: r.worker.No}
	for range 2 { // the second repeats nothing
		_, err = r.Start(t.Context(), []engine.LeaseRef{ref})
		r.must(err)
		r.now = r.now.Add(time.Second)
	}
	const of = `msg="step transition" task=TASK step=STEP namespace=default name=mail step_name=mail`
	want := of + " from=enqueued to=assigned verb=claim worker=w priority=medium age_seconds=0 retry_count=0 user=ann\n" +
		of + " from=assigned to=in_progress verb=start worker=w priority=medium age_seconds=0 retry_count=0 user=ann\n"
	if got := logged(map[task.ID]string{id: "TASK", ref.Step: "STEP"}); got != want {
		t.Errorf("the log is\n%swant\n%s", got, want)
	}
}

func TestTransitionsAreOff(t *testing.T) {
	t.Parallel()
	log, lines := newLog()
	r := newRig(t, telemetry.Options{Logger: log})
	r.submit(engine.Submission{TaskType: "mail"})
	r.settle(r.claim(), engine.ResultCompleted, nil)
	if lines.Len() > 0 {
		t.Errorf("the log is %s", lines)
	}
}
