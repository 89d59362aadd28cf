package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

func (letterRows) AddMove(ctx context.Context, tx engine.Tx, m *inbox.Move) error {
	s := In(tx)
	return s.Send(ctx, `INSERT INTO tasker_group_moves (move_id, namespace, group_id, rule, rule_version, undo, begun_at,
  after_letter, after_case) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, s.id(m.ID), m.Namespace, int64(m.Group),
		m.Rule, m.Since, flag(m.Undo), int64(m.Begun), s.optional(m.AfterLetter), s.optional(m.AfterCase))
}

func (letterRows) SaveMove(ctx context.Context, tx engine.Tx, m *inbox.Move) error {
	s := In(tx)
	return s.Send(ctx, `UPDATE tasker_group_moves SET after_letter = $2, after_case = $3 WHERE move_id = $1`, s.id(m.ID),
		s.optional(m.AfterLetter), s.optional(m.AfterCase))
}

func (letterRows) DropMove(ctx context.Context, tx engine.Tx, id task.ID) error {
	s := In(tx)
	return s.Send(ctx, `DELETE FROM tasker_group_moves WHERE move_id = $1`, s.id(id))
}

func (s letterRows) Moves(ctx context.Context, limit int) ([]*inbox.Move, error) {
	return collect(ctx, s, func(row Row) (*inbox.Move, error) {
		m := &inbox.Move{}
		var group, undo int64
		err := row.Scan(s.ScanID(&m.ID), (*Text)(&m.Namespace), &group, (*Text)(&m.Rule), &m.Since, &undo, &m.Begun,
			s.ScanID(&m.AfterLetter), s.ScanID(&m.AfterCase))
		m.Group, m.Undo = deadletter.GroupID(group), undo != 0
		return m, err
	}, `SELECT move_id, namespace, group_id, rule, rule_version, undo, begun_at, after_letter, after_case
  FROM tasker_group_moves ORDER BY begun_at, move_id LIMIT $1`, limit)
}

func (letterRows) MoveLetters(ctx context.Context, tx engine.Tx, ids []task.ID, from, to deadletter.GroupID) (
	[]task.Instant, error,
) {
	s := In(tx)
	w := where{}
	set := w.arg(int64(to))
	w.add("group_id = ?", int64(from))
	w.add("letter_id IN " + s.idList(&w, ids))
	update := `UPDATE tasker_letters SET version = version + 1, group_id = ` + set + w.text()
	if err := s.Send(ctx, update, w.args...); err != nil {
		return nil, err
	}
	return collect(ctx, s, func(row Row) (at task.Instant, err error) {
		err = row.Scan(&at)
		return at, err
	}, `UPDATE tasker_letter_occurrences SET group_id = `+set+w.text()+` RETURNING at`, w.args...)
}

// The engine locks a task before it changes its case, so the tasks are locked first.
func (letterRows) MoveCases(ctx context.Context, tx engine.Tx, cases []inbox.CaseMember, from,
	to deadletter.GroupID,
) ([]inbox.MovedCase, error) {
	s := In(tx)
	ids, tasks := make([]task.ID, len(cases)), make([]task.ID, len(cases))
	for i, c := range cases {
		ids[i], tasks[i] = c.ID, c.Task
	}
	slices.SortFunc(tasks, compareIDs)
	locked := where{}
	locked.add("id IN " + s.idList(&locked, slices.Compact(tasks)))
	if _, err := collect(ctx, s, s.scanID, `SELECT id FROM tasker_tasks`+locked.text()+` ORDER BY id`+s.Lock,
		locked.args...); err != nil {
		return nil, err
	}
	w := where{}
	set := w.arg(int64(to))
	w.add("group_id = ?", int64(from))
	w.add("dlq_entry_uuid IN " + s.idList(&w, ids))
	return collect(ctx, s, func(row Row) (m inbox.MovedCase, err error) {
		var status Text
		err = row.Scan(&m.At, &status)
		m.Pending = string(status) == string(task.CasePending)
		return m, err
	}, `UPDATE tasker_tasks_dlq SET group_id = `+set+w.text()+` RETURNING occurred_at, resolution_status`, w.args...)
}

func (letterRows) MoveCounts(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error {
	sums, hours := sumDeltas(deltas)
	slices.SortFunc(sums, func(a, b deadletter.Delta) int { return cmp.Compare(a.Group, b.Group) })
	return In(tx).count(ctx, sums, hours)
}

func (s letterRows) GroupOfRule(ctx context.Context, namespace, rule string, since int64) (deadletter.GroupID, error) {
	id, err := first(ctx, s, func(row Row) (id int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, `SELECT g.group_id FROM tasker_groups g WHERE g.namespace = $1 AND g.rule = $2 AND g.rule <> ''
  AND g.rule_version = $3 AND (EXISTS (SELECT 1 FROM tasker_letters l WHERE l.group_id = g.group_id)
  OR EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.group_id = g.group_id)) LIMIT 1`, namespace, rule, since)
	return deadletter.GroupID(id), err
}
