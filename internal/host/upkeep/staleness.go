package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// staleness sets tasks to error that stay too long in one state. Without detection it only maintains the set of
// possibly stale tasks, for fast lists.
func (u *Upkeep) staleness() Loop {
	cfg := u.engine.Config().StalenessDetection
	return Loop{Name: "staleness", Every: cfg.DetectionInterval, Keep: cfg.DetectionInterval + time.Minute, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			if done, err := u.engine.Survey(ctx); err != nil || !done || cfg.Enabled != settings.On {
				return 0, err == nil && !done, err
			}
			if u.engine.Arriving() {
				return 0, false, nil // after an outage waiting tasks go first
			}
			found, err := u.engine.DetectStaleness(ctx, cfg.BatchSize, cfg.DryRun)
			moved := u.report(found)
			// no immediate retry of failures, which would delay all others
			return moved, moved > 0 && len(found) == cfg.BatchSize, err
		}}
}

// report logs the detector's results, and returns the number of tasks set to error.
func (u *Upkeep) report(found []engine.Detected) int {
	moved := 0
	for _, d := range found {
		args := []any{"task", d.Task, "namespace", d.Template.Namespace, "name", d.Template.Name, "state", d.State,
			"in_state", d.InState.Round(time.Second), "threshold", d.Threshold, "action", d.Action}
		if d.TraceParent != "" {
			args = append(args, "traceparent", d.TraceParent)
		}
		switch {
		case d.Errored:
			moved++
			u.log.Warn("stale task set to error", args...)
		case d.Err != nil:
			u.log.Error("cannot set a stale task to error; retrying", append(args, "error", d.Err)...)
		default:
			u.log.Info("task is stale", args...)
		}
	}
	return moved
}

const unservedInterval = 30 * time.Second

// unserved opens cases for tasks without a worker. The tasks continue when a worker comes.
func (u *Upkeep) unserved() Loop {
	return Loop{Name: "unserved", Every: unservedInterval, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			limit := u.engine.Config().StalenessDetection.BatchSize
			n, err := u.engine.FindUnserved(ctx, limit)
			return n, n == limit, err
		}}
}
