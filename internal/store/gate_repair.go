package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// StalledGates implements engine.GateReads.
func (s SQL) StalledGates(ctx context.Context, after int64, limit int) (stalled []int64, last int64, err error) {
	type look struct{ gate, stalled int64 }
	list, err := collect(ctx, s, func(row Row) (l look, err error) {
		err = row.Scan(&l.gate, &l.stalled)
		return l, err
	}, `SELECT g.gate, CASE WHEN g.next_at = 0 AND CASE WHEN g.permits = 0 THEN g.rate_burst ELSE g.permits END >
  (SELECT count(*) FROM tasker_limit_permits p WHERE p.gate = g.gate)
 AND EXISTS (SELECT 1 FROM tasker_workflow_steps s WHERE s.queue = $3 - g.gate) THEN 1 ELSE 0 END
 FROM tasker_limit_gates g WHERE g.gate > $1 ORDER BY g.gate LIMIT $2`, after, limit, task.ParkedLimit(1)+1)
	for _, l := range list {
		if last = l.gate; l.stalled == 1 {
			stalled = append(stalled, l.gate)
		}
	}
	if len(list) < limit {
		last = 0
	}
	return stalled, last, err
}

// StrayPermits implements engine.GateReads.
func (s SQL) StrayPermits(ctx context.Context, after engine.Permit, limit int,
) (stray []engine.Permit, last engine.Permit, err error) {
	type look struct {
		engine.Permit
		active int64
	}
	list, err := collect(ctx, s, func(row Row) (l look, err error) {
		err = row.Scan(&l.Gate, s.ScanID(&l.Step), &l.active)
		return l, err
	}, `SELECT p.gate, p.step_id, CASE WHEN EXISTS (SELECT 1 FROM tasker_workflow_steps s WHERE s.id = p.step_id
  AND (s.state IN ('assigned', 'in_progress') OR p.gate > 0 AND s.state = 'enqueued')) THEN 1 ELSE 0 END
  FROM tasker_limit_permits p
 WHERE (p.gate, p.step_id) > ($1, $2) ORDER BY p.gate, p.step_id LIMIT $3`, after.Gate, s.id(after.Step), limit)
	if err != nil {
		return nil, last, err
	}
	for _, l := range list {
		if l.active == 0 {
			stray = append(stray, l.Permit)
		}
	}
	if len(list) == limit {
		last = list[limit-1].Permit
	}
	return stray, last, nil
}

// DropIdle implements engine.GateRows.
func (SQL) DropIdle(ctx context.Context, tx engine.Tx, now task.Instant, after int64, limit int) (int64, error) {
	s := In(tx)
	nos, err := collect(ctx, s, scanInt, `SELECT gate FROM tasker_limit_gates WHERE gate > $1 ORDER BY gate LIMIT $2`,
		after, limit)
	if err != nil || len(nos) == 0 {
		return 0, err
	}
	last := nos[len(nos)-1]
	// a queue's number is a constant minus that of the gate
	err = s.Send(ctx, `DELETE FROM tasker_limit_gates WHERE gate > $1 AND gate <= $2 AND next_at = 0 AND bucket <= $3
 AND NOT EXISTS (SELECT 1 FROM tasker_limit_permits p WHERE p.gate = tasker_limit_gates.gate)
 AND NOT EXISTS (SELECT 1 FROM tasker_limit_signals s WHERE s.gate = tasker_limit_gates.gate)
 AND NOT EXISTS (SELECT 1 FROM tasker_workflow_steps s WHERE s.queue = $4 - tasker_limit_gates.gate)`,
		after, last, int64(now)*1000, task.ParkedLimit(1)+1)
	if len(nos) < limit {
		last = 0
	}
	return last, err
}
