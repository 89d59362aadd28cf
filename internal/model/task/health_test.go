package task_test

import (
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	now := task.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ago := func(d time.Duration) task.Instant { return now.Add(-d) }
	fresh := ago(time.Second)
	for name, c := range map[string]struct {
		facts   task.HealthFacts
		want    task.WorkerHealth
		reasons []string
	}{
		"New": {task.HealthFacts{LastHeartbeat: fresh}, task.HealthHealthy, nil},
		"Almost": {task.HealthFacts{LastHeartbeat: ago(29 * time.Second), Failures: 2, Depth: 49, Ended: 100, Failed: 29},
			task.HealthHealthy, nil},
		"Silent": {task.HealthFacts{LastHeartbeat: ago(30 * time.Second)}, task.HealthUnhealthy,
			[]string{"its last heartbeat is 30s old"}},
		"Fails": {task.HealthFacts{LastHeartbeat: fresh, Failures: 3}, task.HealthDegraded,
			[]string{"its last 3 attempts failed"}},
		"Fails9": {task.HealthFacts{LastHeartbeat: fresh, Failures: 9}, task.HealthDegraded,
			[]string{"its last 9 attempts failed"}},
		"Fails10": {task.HealthFacts{LastHeartbeat: fresh, Failures: 10}, task.HealthUnhealthy,
			[]string{"its last 10 attempts failed"}},
		"Deep": {task.HealthFacts{LastHeartbeat: fresh, Depth: 50}, task.HealthDegraded,
			[]string{"50 assigned steps wait to be started"}},
		"Deep99": {task.HealthFacts{LastHeartbeat: fresh, Depth: 99}, task.HealthDegraded,
			[]string{"99 assigned steps wait to be started"}},
		"Deep100": {task.HealthFacts{LastHeartbeat: fresh, Depth: 100}, task.HealthUnhealthy,
			[]string{"100 assigned steps wait to be started"}},
		"Rate": {task.HealthFacts{LastHeartbeat: fresh, Ended: 10, Failed: 3}, task.HealthDegraded,
			[]string{"3 of its last 10 attempts failed"}},
		"Rate69": {task.HealthFacts{LastHeartbeat: fresh, Ended: 100, Failed: 69}, task.HealthDegraded,
			[]string{"69 of its last 100 attempts failed"}},
		"Rate70": {task.HealthFacts{LastHeartbeat: fresh, Ended: 100, Failed: 70}, task.HealthUnhealthy,
			[]string{"70 of its last 100 attempts failed"}},
		"TooFewForARate": {task.HealthFacts{LastHeartbeat: fresh, Ended: 4, Failed: 2}, task.HealthHealthy, nil},
		"TheWorstCounts": {task.HealthFacts{LastHeartbeat: fresh, Failures: 4, Depth: 100, Ended: 10, Failed: 4},
			task.HealthUnhealthy, []string{"its last 4 attempts failed", "100 assigned steps wait to be started",
				"4 of its last 10 attempts failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, reasons := task.HealthRule{}.WithDefaults().Health(c.facts, now)
			if got != c.want || !slices.Equal(reasons, c.reasons) {
				t.Errorf("got %s, %q; want %s, %q", got, reasons, c.want, c.reasons)
			}
		})
	}
}
