package siege

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/crashtest/load"
)

// recovery is the time from the end of a fault until everything worked; the slowest affected node counts.
type recovery struct {
	accepted time.Duration // until a task was accepted
	complete time.Duration // until a worker had carried it out
	told     time.Duration // until a waiting caller learned of it
}

// max takes the longer time of each kind: the three may come from different nodes.
func (a recovery) max(b recovery) recovery {
	return recovery{max(a.accepted, b.accepted), max(a.complete, b.complete), max(a.told, b.told)}
}

// recover waits until each of the nodes has accepted a task, and it is complete.
func (r *run) recover(ctx context.Context, nodes []*cluster.Node, healed time.Time) (recovery, error) {
	ctx, cancel := context.WithTimeout(ctx, recoveryLimit)
	defer cancel()
	each := make([]recovery, len(nodes))
	var all errgroup.Group
	for i, n := range nodes {
		all.Go(func() (err error) {
			if each[i], err = r.probe(ctx, r.probers[n.Index], healed); err != nil {
				err = fmt.Errorf("node %d did not recover within %s: %w", n.Index, round(time.Since(healed)), err)
			}
			return err
		})
	}
	err := all.Wait()
	var slowest recovery
	for _, one := range each {
		slowest = slowest.max(one)
	}
	return slowest, err
}

// probe submits a task to a node and follows it by frequent reads, which measure its completion, and concurrently by a
// wait, which measures the answer to a waiting caller.
func (r *run) probe(ctx context.Context, p *load.Producer, healed time.Time) (back recovery, err error) {
	id, err := p.One(ctx)
	if err != nil {
		return back, err
	}
	back.accepted = time.Since(healed)
	follow := func(wait, pause time.Duration) (time.Duration, error) {
		for {
			t, err := p.Client.Task(ctx, id, wait)
			switch {
			case load.Lost(err):
				err = r.retry(ctx, err)
			case err == nil && t.State.Settled():
				return time.Since(healed), nil
			case err == nil:
				err = clock.Sleep(ctx, pause)
			}
			if err != nil {
				return 0, fmt.Errorf("follow task %s: %w", id, err)
			}
		}
	}
	var both errgroup.Group
	both.Go(func() (err error) {
		back.complete, err = follow(0, 10*time.Millisecond)
		return err
	})
	both.Go(func() (err error) {
		back.told, err = follow(20*time.Second, 0)
		return err
	})
	return back, both.Wait()
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
