package kernel

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

// GateWait is the limit for which a step waits.
type GateWait struct {
	Gate
	Held    int       // permits in use
	Holders []task.ID // tasks with a permit, up to HoldersShown
	Before  int       // steps before this one, up to TurnsCounted
}

// HoldersShown bounds GateWait.Holders.
const HoldersShown = 3

// GateWaitOf returns the limit for which a parked step waits, or nil.
func (e *Kernel) GateWaitOf(ctx context.Context, s *task.Step) (*GateWait, error) {
	no, at := task.LimitOf(s.Queue)
	if !at || !s.Parked() {
		return nil, nil
	}
	w, err := e.gateWait(ctx, no, s)
	if err != nil {
		return nil, fmt.Errorf("look at what step %s waits for: %w", s.ID, err)
	}
	return w, nil
}

func (e *Kernel) gateWait(ctx context.Context, no int64, s *task.Step) (*GateWait, error) {
	views, err := e.GateReads.ListGates(ctx, GateFilter{Behind: no - 1, Limit: 1, Counted: 1})
	if err != nil || len(views) == 0 || views[0].No != no { // not looked at yet
		return &GateWait{Gate: Gate{No: no}}, err
	}
	w := &GateWait{Gate: views[0].Gate, Held: views[0].Held}
	if w.Holders, err = e.GateReads.Holders(ctx, no, HoldersShown); err != nil {
		return nil, err
	}
	w.Before, err = e.Places.Depth(ctx, s.Queue, s.Key, s.ID, TurnsCounted)
	return w, err
}
