package proof

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/chaos/internal/cluster"
	"github.com/taskerhq/tasker/chaos/internal/fault"
)

// log is what happened, by kind of fault.
type log struct {
	kinds []string
	times map[string]*times
	kills int
	begun time.Time
	took  time.Duration
}

// times are the recoveries from one kind of fault: from its end to the first task
// that every node accepted which had suffered, and to its completion.
type times struct{ accepted, complete []time.Duration }

// strike lets faults strike one after the other.
func (r *run) strike(ctx context.Context) error {
	rng := r.rand(4)
	r.log.times, r.log.begun = map[string]*times{}, time.Now()
	defer func() { r.log.took = time.Since(r.log.begun) }()
	enough := func() bool { return time.Since(r.log.begun) >= r.options.Load && r.log.kills >= r.options.Kills }
	for n, first := 1, true; first || !enough(); first = false {
		for _, f := range fault.Round(rng) {
			if !first && enough() {
				return nil
			}
			// Some load in between: nothing else is waited for.
			if err := cluster.Pause(ctx, 100*time.Millisecond+time.Duration(rng.Int64N(int64(700*time.Millisecond)))); err != nil {
				return context.Cause(ctx)
			}
			if err := r.once(ctx, n, &f); err != nil {
				return fmt.Errorf("fault %d, %s: %w", n, f.Name, err)
			}
			n++
		}
	}
	return nil
}

// once lets one fault strike, heals it, and waits for the recovery.
func (r *run) once(ctx context.Context, n int, f *fault.Fault) error {
	w, hold, err := f.Strike(ctx, r.scene)
	if err != nil {
		return err
	}
	began := time.Now()
	var asked sync.WaitGroup
	if w.Blind {
		asked.Go(func() { r.inquiry.blind(ctx, w.Nodes, f.Name) })
	}
	paused := cluster.Pause(ctx, hold)
	asked.Wait()
	healed, err := w.Heal(context.WithoutCancel(ctx))
	if paused != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	r.log.kills += w.Kills
	accepted, complete, err := r.recover(ctx, w.Nodes, healed)
	if err != nil {
		return err
	}
	t := r.log.times[f.Name]
	if t == nil {
		t = &times{}
		r.log.times[f.Name] = t
		r.log.kinds = append(r.log.kinds, f.Name)
	}
	t.accepted, t.complete = append(t.accepted, accepted), append(t.complete, complete)
	_, err = fmt.Fprintf(r.options.Out, "%3d. %s (%s): lasted %s; then a task accepted after %s, complete after %s\n",
		n, f.Name, w.What, round(healed.Sub(began)), round(accepted), round(complete))
	return err
}

// recover waits until each of the nodes has accepted a task, and it is complete.
// It returns how long the slowest node took for either.
func (r *run) recover(ctx context.Context, nodes []*cluster.Node, healed time.Time) (accepted, complete time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, recoveryLimit)
	defer cancel()
	first, last := make([]time.Duration, len(nodes)), make([]time.Duration, len(nodes))
	var all errgroup.Group
	for i, n := range nodes {
		p := r.probers[n.Index]
		all.Go(func() error {
			err := p.Probe(ctx, func() { first[i] = time.Since(healed) })
			last[i] = time.Since(healed)
			if err != nil {
				return fmt.Errorf("node %d did not recover within %s: %w", n.Index, round(last[i]), err)
			}
			return nil
		})
	}
	err = all.Wait()
	return max(slices.Max(first), 0), slices.Max(last), err
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
