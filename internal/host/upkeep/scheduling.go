package upkeep

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

func (u *Upkeep) promotion() Loop {
	every := u.engine.Config().Scheduling.PromotionInterval
	var found []engine.PromotionRange // the rest of the last search
	return Loop{Name: "promotion", Every: every, Keep: every + 5*time.Second, Polite: true,
		Once: func(ctx context.Context) (n int, more bool, err error) {
			if len(found) == 0 {
				if found, err = u.engine.Overdue(ctx); err != nil || len(found) == 0 {
					return 0, false, err
				}
			}
			if n, more, err = u.engine.Promote(ctx, found[0]); err != nil {
				return 0, false, err
			}
			if !more {
				found = found[1:]
			}
			return n, len(found) > 0, nil
		}}
}

// rekeying gives waiting steps the keys of a changed order.
func (u *Upkeep) rekeying() Loop {
	total := 0
	return Loop{Name: "rekeying", Every: u.engine.Config().UpkeepInterval, Polite: true,
		Once: func(ctx context.Context) (int, bool, error) {
			n, more, err := u.engine.Rekey(ctx, batch)
			if total += n; err == nil && total%(100*batch) < n {
				u.log.Info("moving waiting steps to their places in the new order", "looked_at", total)
			}
			return n, more, err
		}}
}

// rekey runs rekeying while there is work; usually it uses neither store nor turn.
func (u *Upkeep) rekey(ctx context.Context, r *Runner) error {
	l := &running{Loop: u.rekeying()}
	defer r.giveUp(ctx, l)
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	for {
		if pending, err := u.engine.Rekeying(ctx); err == nil && pending {
			r.drain(ctx, l)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noticeOrder logs a change of the order, and warns if it is not the configured one.
func (u *Upkeep) noticeOrder() {
	order := u.engine.Order()
	was := u.noticed.Swap(&order)
	if was != nil && was.Equal(order) {
		return
	}
	args := []any{"mode", order.Mode, "max_wait", order.MaxWait, "aging_weight", order.AgingWeight}
	switch {
	case !u.engine.OwnOrder():
		u.log.Warn("the scheduling of the cluster differs from the configuration of this node; following the cluster",
			args...)
	case was != nil:
		u.log.Info("the scheduling of the cluster has changed", args...)
	}
}
