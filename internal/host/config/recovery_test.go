package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/settings"
)

func TestRecovery(t *testing.T) {
	t.Parallel()
	cfg := load(t, config.Sources{
		File: write(t, `
engine:
  recovery:
    base_delay: 250ms
    jitter: -1
    limits: {transient: 9, resource: -1}
    timeout_growth: always
    timeout_factor: 2
    boost_levels: 1
    retry_priority: boosted
    stagger: -1
    requeue_delay: 5s
`),
		Environ: []string{"TASKER_ENGINE_RECOVERY_LIMITS_WORKER=1", "TASKER_ENGINE_RECOVERY_TIMEOUT_CAP=2h"},
	})
	want := settings.Recovery{BaseDelay: 250 * time.Millisecond, Jitter: -1,
		Limits: settings.RecoveryLimits{Transient: 9, Resource: -1, Worker: 1}, TimeoutGrowth: "always", TimeoutFactor: 2,
		TimeoutCap: 2 * time.Hour, BoostLevels: 1, RetryPriority: settings.RetryBoosted, Stagger: -1,
		MaxStagger: 5 * time.Second, RequeueDelay: 5 * time.Second}
	if diff := cmp.Diff(want, cfg.Engine.Recovery); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecoveryProblems(t *testing.T) {
	t.Parallel()
	got := problems(t, config.Sources{File: write(t, `engine:
  recovery:
    base_delay: 31d
    jitter: 1.5
    limits: {transient: 1001, logic: -2}
    timeout_growth: sometimes
    timeout_factor: 0.5
    timeout_cap: 31d
    boost_levels: 101
    retry_priority: higher
    stagger: 2m
    max_stagger: 2h
    requeue_delay: -1
`)})
	want := []string{
		"tasker.yaml:3:5: engine.recovery.base_delay must be 1ms to 30d, or -1",
		"tasker.yaml:4:5: engine.recovery.jitter must be more than 0 and at most 1, or -1",
		"tasker.yaml:5:14: engine.recovery.limits.transient must be 0 to 1000, or -1",
		"tasker.yaml:5:31: engine.recovery.limits.logic must be 0 to 1000, or -1",
		`tasker.yaml:6:5: engine.recovery.timeout_growth must be never, resource or always, not "sometimes"`,
		"tasker.yaml:7:5: engine.recovery.timeout_factor must be 1 to 10",
		"tasker.yaml:8:5: engine.recovery.timeout_cap must be positive, and at most 30d",
		"tasker.yaml:9:5: engine.recovery.boost_levels must be 0 to 100",
		`tasker.yaml:10:5: engine.recovery.retry_priority must be original, boosted or recalculated, not "higher"`,
		"tasker.yaml:11:5: engine.recovery.stagger must be positive and at most 1m, or -1",
		"tasker.yaml:12:5: engine.recovery.max_stagger must be positive, and at most 1h",
		"tasker.yaml:13:5: engine.recovery.requeue_delay must be 0 to 1h",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
