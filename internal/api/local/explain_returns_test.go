package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestExplainReturns: an explanation counts the lost workers of a step, or its returns.
func TestExplainReturns(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		id := r.submit(t, tasker.TaskRequest{TaskType: "h", TimeoutSeconds: 3600})
		says := func(want string) {
			t.Helper()
			got := r.explained(t, id)
			if want == "" && (strings.Contains(got, "in a row")) || !strings.Contains(got, want) {
				t.Errorf("explained as\n%s\nwant %q", got, want)
			}
		}
		lose := func() {
			t.Helper()
			r.take(t, true)
			r.wait(t, 2*time.Minute)
		}
		lose()
		says("")
		lose()
		says("Before, 2 workers in a row were lost with this step.")
		lose()
		says("failed at 2026-03-01 12:06:00Z: 3 workers in a row were lost with this step: no heartbeat for")
		if got := r.explained(t, id); strings.Count(got, "in a row") != 1 {
			t.Errorf("it says twice what happened:\n%s", got)
		}
		r.wait(t, time.Hour)
		for range 9 {
			r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultSnoozed})
		}
		says("It came back 12 times in a row without an end: its workers snoozed or released it, or were lost.")
		r.report(t, r.take(t, true), failed("no", false))
		r.wait(t, time.Hour)
		says("")
	})
}
