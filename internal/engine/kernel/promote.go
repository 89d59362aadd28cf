package kernel

import (
	"context"
	"fmt"
	"math"

	"github.com/taskerhq/tasker/internal/model/task"
)

// PromotionRange is a snapshot of a part of a route's queue whose steps need another key. Promote takes those still
// there.
type PromotionRange struct {
	route int64
	after Position
	upTo  int64
	batch int
}

// Overdue returns the ranges of steps to promote. A queue's bands are ordered by wait, so it reads only the first
// step of each.
func (e *Kernel) Overdue(ctx context.Context) ([]PromotionRange, error) {
	routes, err := e.occupiedRoutes(ctx)
	if err != nil {
		return nil, err
	}
	order, now := e.Order(), e.Now()
	var found []PromotionRange
	for _, r := range routes {
		list, err := e.overdueOn(ctx, r, order, now)
		if err != nil {
			return nil, fmt.Errorf("look for steps that have waited too long: %w", err)
		}
		found = append(found, list...)
	}
	return found, nil
}

// Without a cluster occupiedRoutes returns all: a look in this process is cheap.
func (e *Kernel) occupiedRoutes(ctx context.Context) ([]int64, error) {
	routes, err := e.Store.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	var occupied []int64
	ids := make([]int64, len(routes))
	for i, r := range routes {
		ids[i] = r.ID
	}
	if e.Cluster == nil || len(ids) == 0 {
		return ids, nil
	}
	some, err := e.Cluster.Occupied(ctx, ids, 1)
	if err != nil {
		return nil, fmt.Errorf("look for ready steps: %w", err)
	}
	for _, id := range ids {
		if some[id] > 0 {
			occupied = append(occupied, id)
		}
	}
	return occupied, nil
}

// overdueOn goes down from the highest level, and reads one step per level in use.
func (e *Kernel) overdueOn(ctx context.Context, route int64, order task.Scheduling,
	now task.Instant,
) ([]PromotionRange, error) {
	if order.Mode == task.Aging {
		// The cap is part of the keys. Without this, a step with an older order's key would stay behind forever.
		foreign := task.StrictKey(task.MaxPriority-1, 0)
		head, err := e.Places.First(ctx, route, foreign)
		if err != nil || head == nil {
			return nil, err
		}
		return []PromotionRange{{route, Position{Key: foreign}, math.MaxInt64, e.Cfg.Scheduling.PromotionBatch}}, nil
	}
	var found []PromotionRange
	for level := task.MaxPriority - 1; level >= 0; level-- {
		band := task.StrictKey(level, 0)
		head, err := e.Places.First(ctx, route, band)
		if err != nil || head == nil {
			return found, err
		}
		level = min(level, task.KeyLevel(head.Key))
		after := order.Threshold(level)
		upTo := task.StrictKey(level, now.Add(-after))
		if after > 0 && head.Key <= upTo {
			found = append(found, PromotionRange{route, Position{Key: task.StrictKey(level, 0)}, upTo,
				e.promotionBatch(order, head, now)})
		}
	}
	return found, nil
}

// Promotions to the highest level have a separate bound.
func (e *Kernel) promotionBatch(order task.Scheduling, head *task.Step, now task.Instant) int {
	to := task.KeyLevel(order.KeyAt(head.Priority, head.ReadyAt, now))
	if to >= e.Cfg.Priorities[0].Level {
		return e.Cfg.Scheduling.HighPromotionBatch
	}
	return e.Cfg.Scheduling.PromotionBatch
}

// Promote gives up to a batch of a range their current positions, and returns their number and whether there may be
// more. One process at a time should call it. rekey uses the present order.
func (e *Kernel) Promote(ctx context.Context, s PromotionRange) (n int, more bool, err error) {
	err = e.Write(ctx, "promote", func(u *Unit) error {
		steps, err := u.Tx.Between(u.Ctx, s.route, s.after, s.upTo, s.batch)
		if err != nil {
			return err
		}
		all := len(steps)
		was := make(map[*task.Step]int64, all)
		for _, s := range steps {
			was[s] = s.Key
		}
		n, err = rekey(u, steps)
		for s, key := range was {
			u.Observed.promoted(s, key)
		}
		more = n == s.batch && n == all
		return err
	})
	return n, more, err
}
