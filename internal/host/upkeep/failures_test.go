package upkeep_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (n *node) exhaust(count int) {
	n.t.Helper()
	w := n.register(task.Worker{})
	for range count {
		n.submit(engine.Submission{TaskType: "job", MaxRetries: new(int)})
		n.settle(n.take(w, time.Second), engine.Result{Status: engine.ResultFailed,
			Failure: &task.Failure{Code: "DOWN", Message: "no", Retryable: true}})
	}
}

// Failures are analysed once per interval in the cluster, whichever node has the turn, and a lasting alarm is
// reported once.
func TestFailuresOncePerCluster(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{DLQPatterns: settings.FailureAnalysis{AlarmAbove: 2, ReplayableAbove: 2}})
		first, err := b.FailureReport(t.Context(), "")
		if err != nil || len(first.Fingerprints) != 0 {
			t.Fatalf("the first analysis is %+v, %v", first, err)
		}
		a.exhaust(3)
		time.Sleep(59 * time.Minute)
		if r, err := b.FailureReport(t.Context(), ""); err != nil || r.At != first.At {
			t.Errorf("before its time there was another: %+v, %v", r, err)
		}
		time.Sleep(3 * time.Minute)
		r, err := b.FailureReport(t.Context(), "")
		if err != nil || len(r.Fingerprints) != 1 || !r.Fingerprints[0].New || r.Replayable != 3 || len(r.Alarms) != 3 {
			t.Fatalf("the report is %+v, %v", r, err)
		}
		if other, err := b.FailureReport(t.Context(), "other"); err != nil ||
			len(other.Fingerprints)+len(other.Alarms)+other.Replayable > 0 {
			t.Errorf("another namespace sees %+v, %v", other, err)
		}
		d.turnOf("patterns").setAway(true) // it is cut off; the other continues
		time.Sleep(3 * time.Hour)
		live := a
		if a.store.reach() != nil {
			live = b
		}
		if r, err = live.FailureReport(t.Context(), ""); err != nil || r.Fingerprints[0].New || len(r.Alarms) != 2 ||
			live.Now().Sub(r.At) > time.Hour+2*time.Minute {
			t.Errorf("hours later the report is %+v, %v", r, err)
		}
		a.store.setAway(false)
		b.store.setAway(false)
		a.stop()
		b.stop()
		logs := a.log.String() + b.log.String()
		for _, told := range []string{"new failure pattern in the DLQ: max_retries_exceeded, DOWN in default (3)",
			"3 tasks moved to the DLQ for max_retries_exceeded", "3 retryable tasks in DLQ, consider bulk replay"} {
			if n := strings.Count(logs, told); n != 1 {
				t.Errorf("%q was told %d times:\n%s", told, n, logs)
			}
		}
	})
}
