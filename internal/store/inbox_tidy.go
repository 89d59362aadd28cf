package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// The cases of a redrive are watched until their tasks have ended, also after it has.
func (s letterRows) EndedRedrives(ctx context.Context, behind inbox.EndedRedrive, before task.Instant,
	limit int,
) ([]inbox.EndedRedrive, error) {
	const query = `SELECT r.redrive_id, r.ended_at FROM tasker_redrives r WHERE r.ended_at <> 0 AND r.ended_at <= $1
  AND (r.ended_at, r.redrive_id) > (CAST($2 AS bigint), $3) AND NOT EXISTS (SELECT 1 FROM tasker_redrive_items i
   WHERE i.redrive_id = r.redrive_id AND i.kind = 'case' AND i.state = 'sent')
 ORDER BY r.ended_at, r.redrive_id LIMIT $4`
	return collect(ctx, s, func(row Row) (r inbox.EndedRedrive, err error) {
		err = row.Scan(s.ScanID(&r.ID), &r.At)
		return r, err
	}, query, int64(before), int64(behind.At), s.id(behind.ID), limit)
}

func (letterRows) PurgeRedrive(ctx context.Context, tx engine.Tx, id task.ID, limit int) (n int, gone bool, err error) {
	s := In(tx)
	const items = `DELETE FROM tasker_redrive_items WHERE redrive_id = $1 AND no IN (SELECT no
 FROM tasker_redrive_items WHERE redrive_id = $1 ORDER BY no LIMIT $2)`
	deleted, err := s.Exec(ctx, items, s.id(id), limit)
	if n = int(deleted); err != nil || n == limit {
		return n, false, err
	}
	return n + 1, true, s.Send(ctx, `DELETE FROM tasker_redrives WHERE redrive_id = $1`, s.id(id))
}

// nothingLeft is the condition of a group g that has no members, shows no other group, and has nothing under way.
const nothingLeft = `g.merged_into = 0 AND g.fresh = 0
  AND NOT EXISTS (SELECT 1 FROM tasker_letters l WHERE l.group_id = g.group_id)
  AND NOT EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.group_id = g.group_id AND c.group_id IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM tasker_groups m WHERE m.merged_into = g.group_id AND m.merged_into <> 0)
  AND NOT EXISTS (SELECT 1 FROM tasker_group_moves v WHERE v.group_id = g.group_id)
  AND NOT EXISTS (SELECT 1 FROM tasker_group_deltas d WHERE d.group_id = g.group_id)`

func (s letterRows) EmptyGroups(ctx context.Context, now, failed task.Instant, behind deadletter.GroupID, limit int) (
	[]deadletter.GroupID, error,
) {
	ids, err := collect(ctx, s, scanInt, `SELECT g.group_id FROM tasker_groups g WHERE g.last_at <= $1
  AND g.group_id > $2 AND g.purge_at <= $3 AND `+nothingLeft+` ORDER BY g.group_id LIMIT $4`, int64(failed),
		int64(behind), int64(now), limit)
	return groupIDs(ids), err
}

// It locks them first: what another transaction has changed until then is seen by the statements that follow.
func (letterRows) PurgeGroups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID, now,
	next task.Instant,
) (n int, err error) {
	s := In(tx)
	w := where{}
	w.add("g.group_id IN " + list(&w, ids, func(id deadletter.GroupID) any { return int64(id) }))
	if _, err := collect(ctx, s, scanInt, `SELECT g.group_id FROM tasker_groups g`+w.text()+` ORDER BY g.group_id`+s.Lock,
		w.args...); err != nil {
		return 0, err
	}
	ended := where{terms: slices.Clone(w.terms), args: slices.Clone(w.args)}
	ended.add("g.purge_at <> 0")
	ended.add("g.purge_at <= ?", int64(now))
	ended.add(nothingLeft)
	gone, err := collect(ctx, s, scanInt, `DELETE FROM tasker_groups AS g`+ended.text()+` RETURNING group_id`,
		ended.args...)
	if err != nil {
		return 0, err
	}
	w.add("g.purge_at = 0")
	at := w.arg(int64(next))
	if err := s.Send(ctx, `UPDATE tasker_groups AS g SET purge_at = `+at+w.text(), w.args...); err != nil {
		return 0, err
	}
	if len(gone) == 0 {
		return 0, nil
	}
	of := where{}
	of.add("group_id IN " + list(&of, gone, func(id int64) any { return id }))
	for _, table := range []string{"tasker_group_notes", "tasker_group_hours"} {
		if err := s.Send(ctx, `DELETE FROM `+table+of.text(), of.args...); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
