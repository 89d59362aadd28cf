package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// adoptedFor is how long after a change of a limit another process may begin steps without a permit.
const adoptedFor = clockSlack / 60

// KeepLimits adopts leases, and deletes up to limit operators' limits that ended long ago.
func (e *Kernel) KeepLimits(ctx context.Context, limit int) error {
	e.limits.mu.Lock()
	rows, old := e.limits.rows, e.Now().Add(-pauseKept)
	e.limits.mu.Unlock()
	if !slices.ContainsFunc(rows, func(l task.OperatorLimit) bool { return l.EndedAt != 0 && l.EndedAt < old }) {
		return e.AdoptLeases(ctx)
	}
	return e.changeLimits(ctx, "drop_limits", func(u *Unit) error {
		_, err := e.limitStore.DropLimits(u.Ctx, u.Tx, u.Now.Add(-pauseKept), limit)
		return err
	})
}

// AdoptLeases gives permits to steps that run without one under recently changed limits, so that they count.
func (e *Kernel) AdoptLeases(ctx context.Context) error {
	e.limits.mu.Lock()
	rows := e.limits.rows
	e.limits.mu.Unlock()
	var holds []Hold
	asked := false
	for i := range rows {
		l := &rows[i]
		if l.Permits == 0 || l.EndedAt != 0 || l.ChangedAt.Add(adoptedFor) < e.Now() {
			continue
		}
		routes, err := e.coveredRoutes(ctx, l.PauseTarget)
		if err != nil {
			return err
		}
		if !asked {
			if holds, err = e.Queue.Holds(ctx, maxPersisted); err != nil {
				return fmt.Errorf("look for leases: %w", err)
			}
			asked = true
		}
		if err := e.adoptLeases(ctx, l.LimitNo(), routes, holds); err != nil {
			return fmt.Errorf("adopt leases: %w", err)
		}
	}
	return nil
}

func (e *Kernel) adoptLeases(ctx context.Context, no int64, routes []int64, holds []Hold) error {
	on := make(map[int64]bool, len(routes))
	for _, r := range routes {
		on[r] = true
	}
	err := e.Write(ctx, "adopt_leases", func(u *Unit) error {
		locked, err := e.limitStore.LockLimits(u.Ctx, u.Tx, []int64{no})
		if err != nil || len(locked) == 0 || locked[0].EndedAt != 0 || locked[0].Permits == 0 {
			return err
		}
		return e.limitStore.AdoptPermits(u.Ctx, u.Tx, no, routes)
	})
	if err != nil {
		return err
	}
	var ids []task.ID
	for _, h := range holds {
		if on[h.Route] {
			ids = append(ids, h.Step)
		}
	}
	for some := range slices.Chunk(ids, e.Cfg.Limits.BatchItems) {
		if err := e.adoptHeld(ctx, no, some); err != nil {
			return err
		}
	}
	return nil
}

// adoptHeld does not lock the limit, because claims lock steps first.
func (e *Kernel) adoptHeld(ctx context.Context, no int64, ids []task.ID) error {
	return e.Write(ctx, "adopt_leases", func(u *Unit) error {
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		var permits []Permit
		for _, w := range works {
			if w.Step != nil && w.Step.State.Leased() {
				permits = append(permits, Permit{no, w.Step.ID})
			}
		}
		if len(permits) == 0 {
			return nil
		}
		return e.gateRows.AddPermits(u.Ctx, u.Tx, permits)
	})
}
