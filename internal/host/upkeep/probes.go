package upkeep

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/probe"
	"github.com/taskerhq/tasker/internal/model/task"
)

// probeBatch bounds the workers probed before their answers are stored.
const probeBatch = 256

// probes sends a health probe to every worker with a health URL, once per tick. With very many silent workers a
// round may exceed the interval; then the next one is late.
func (u *Upkeep) probes() Loop {
	cfg := u.engine.Config().WorkerProbes
	var left []*task.Worker // of the current round
	var client *probe.Client
	return Loop{Name: "probes", Every: cfg.Interval, Once: func(ctx context.Context) (n int, more bool, err error) {
		if !cfg.Enabled {
			return 0, false, nil
		}
		if client == nil {
			if client, err = probe.New(cfg.Allow, cfg.Timeout); err != nil {
				return 0, false, err
			}
		}
		if len(left) == 0 {
			if left, err = u.engine.ToProbe(ctx); err != nil {
				return 0, false, fmt.Errorf("find workers to probe: %w", err)
			}
		}
		some := left[:min(len(left), probeBatch)]
		left = left[len(some):]
		if err := u.ask(ctx, client, some); err != nil {
			left = nil
			return 0, false, err
		}
		return len(some), len(left) > 0, nil
	}}
}

func (u *Upkeep) ask(ctx context.Context, client *probe.Client, workers []*task.Worker) error {
	probes := make([]engine.Probe, len(workers))
	var g errgroup.Group
	g.SetLimit(u.engine.Config().WorkerProbes.Concurrency)
	for i, w := range workers {
		g.Go(func() error {
			probes[i] = engine.Probe{Worker: w, Fault: client.Ask(ctx, w.HealthURL)}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err() // this process stops; the workers are not to blame
	}
	turned, err := u.engine.Probed(ctx, probes)
	if err != nil {
		return fmt.Errorf("store results of probes: %w", err)
	}
	for _, w := range turned {
		if w.State == task.WorkerUnhealthy {
			u.log.Warn("worker is unhealthy and gets no steps until a probe succeeds", "worker", w.Name, "worker_id",
				w.ID.String(), "why", w.ProbeError)
		} else {
			u.log.Info("worker is healthy again", "worker", w.Name, "worker_id", w.ID.String())
		}
	}
	return nil
}
