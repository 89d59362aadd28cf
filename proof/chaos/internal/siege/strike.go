package siege

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/fault"
)

// log is the events by kind of fault.
type log struct {
	times map[string][]recovery
	kills int
	begun time.Time
	took  time.Duration
	// settling is the time after the last fault until everything was settled.
	settling time.Duration
}

// strike applies faults in sequence. The first round is complete, so each kind strikes at least once; later rounds end
// after enough load and kills.
func (r *run) strike(ctx context.Context) error {
	rng := r.rand(4)
	r.log.times, r.log.begun = map[string][]recovery{}, time.Now()
	defer func() { r.log.took = time.Since(r.log.begun) }()
	enough := func() bool { return time.Since(r.log.begun) >= r.options.Load && r.log.kills >= r.options.Kills }
	for n, first := 1, true; first || !enough(); first = false {
		for _, f := range fault.Round(rng, r.options.Redis) {
			if !first && enough() {
				return nil
			}
			if err := clock.Sleep(ctx, 100*time.Millisecond+time.Duration(rng.Int64N(int64(700*time.Millisecond)))); err != nil {
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

// once applies one fault, heals it, and waits for the recovery. It heals even if ctx ended, so that the cluster can be
// closed. The inquiry of blind nodes ends before the healing.
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
	paused := clock.Sleep(ctx, hold)
	asked.Wait()
	healed, err := w.Heal(context.WithoutCancel(ctx))
	if paused != nil {
		return context.Cause(ctx)
	}
	var back recovery
	if err == nil {
		r.log.kills += w.Kills
		back, err = r.recover(ctx, w.Nodes, healed)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.notes.add("no recovery", "%s: %v", f.Name, err)
		}
		return err
	}
	r.log.times[f.Name] = append(r.log.times[f.Name], back)
	what := f.Name
	if w.What != "" {
		what += " (" + w.What + ")"
	}
	_, err = fmt.Fprintf(r.options.Out, "%3d. %s %s: lasted %s; then a task was accepted after %s, complete after %s, "+
		"known to be after %s\n", n, began.UTC().Format("15:04:05.000"), what, round(healed.Sub(began)),
		round(back.accepted), round(back.complete), round(back.told))
	return err
}
