package kernel

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/taskerhq/tasker/internal/model/task"
)

// gateCheck is the progress of CheckGates.
type gateCheck struct {
	mu     sync.Mutex
	gate   int64
	permit Permit
	idle   int64
}

// GateRepairs is the result of one batch of CheckGates.
type GateRepairs struct {
	Stray   int // freed permits of steps that cannot hold any
	Stalled int // gates with room and waiting steps, to be looked at again
}

// CheckGates compares up to limit permits and gates with the steps, and deletes unused gates. It frees permits whose
// steps ended unnoticed, for example by an SQL function, and signals gates whose first step was locked. more is false
// when all were checked.
func (e *Kernel) CheckGates(ctx context.Context, limit int) (found GateRepairs, more bool, err error) {
	e.due.passing.Tidy(e.Now())
	c := &e.limits.check
	c.mu.Lock()
	defer c.mu.Unlock()
	stalled, gate, err := e.GateReads.StalledGates(ctx, c.gate, limit)
	if err != nil {
		return found, false, fmt.Errorf("look for gates with room: %w", err)
	}
	from := c.permit
	if from == (Permit{}) {
		from.Gate = math.MinInt64 // limits of operators come first
	}
	stray, permit, err := e.GateReads.StrayPermits(ctx, from, limit)
	if err != nil {
		return found, false, fmt.Errorf("look for stray permits: %w", err)
	}
	idle := int64(0)
	err = e.Write(ctx, "check_gates", func(u *Unit) (err error) {
		found = GateRepairs{}
		for _, no := range stalled {
			gateSlot.Of(u).signal(Gate{No: no})
		}
		found.Stalled = len(stalled)
		if found.Stray, err = gateSlot.Of(u).freeStray(stray); err != nil {
			return err
		}
		idle, err = e.gateRows.DropIdle(u.Ctx, u.Tx, u.Now, c.idle, limit)
		return err
	})
	if err != nil {
		return GateRepairs{}, false, fmt.Errorf("repair gates: %w", err)
	}
	c.gate, c.permit, c.idle = gate, permit, idle
	return found, gate != 0 || idle != 0 || permit != (Permit{}), nil
}

func (g *gates) freeStray(stray []Permit) (n int, err error) {
	if len(stray) == 0 {
		return 0, nil
	}
	ids := make([]task.ID, len(stray))
	for i, p := range stray {
		ids[i] = p.Step
	}
	works, err := g.u.Rows.Load(ids)
	if err != nil {
		return 0, err
	}
	var dropped []Permit
	for i, w := range works {
		switch no := stray[i].Gate; {
		case w.Step != nil && w.Step.State.Leased(), w.Step != nil && w.Step.State == task.StepEnqueued && no > 0:
		case no > 0:
			g.freed, g.passable = append(g.freed, ids[i]), true
			n++
		default: // the step may keep those of gates
			dropped = append(dropped, stray[i])
			g.operatorsPermit(no)
			n++
		}
	}
	if len(dropped) == 0 {
		return n, nil
	}
	return n, g.u.E.limitStore.DropPermits(g.u.Ctx, g.u.Tx, dropped)
}
