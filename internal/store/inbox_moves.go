package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	movePlace   = `m.after_letter, m.after_case`
	moveColumns = `m.move_id, m.namespace, m.group_id, m.rule, m.rule_version, m.undo, m.begun_at, ` + movePlace
)

var (
	moves      = record[inbox.Move]{"tasker_group_moves m", moveColumns, moveFields}
	insertMove = moves.insert(``)
	updateMove = updateOf("tasker_group_moves", movePlace, "move_id")
)

func moveFields(m *inbox.Move) []any {
	return []any{&m.ID, &m.Namespace, (*int64)(&m.Group), &m.Rule, &m.Since, &m.Undo, &m.Begun, &m.AfterLetter,
		&m.AfterCase}
}

func (letterRows) AddMove(ctx context.Context, tx engine.Tx, m *inbox.Move) error {
	return insertMove.add(ctx, In(tx), 1, func(int) []any { return moveFields(m) })
}

func (letterRows) SaveMove(ctx context.Context, tx engine.Tx, m *inbox.Move) error {
	return In(tx).update(ctx, updateMove, &m.ID, []any{&m.AfterLetter, &m.AfterCase})
}

func (letterRows) DropMove(ctx context.Context, tx engine.Tx, id task.ID) error {
	s := In(tx)
	return s.Send(ctx, `DELETE FROM tasker_group_moves WHERE move_id = $1`, s.id(id))
}

func (s letterRows) Moves(ctx context.Context, limit int) ([]*inbox.Move, error) {
	return moves.list(ctx, s.SQL, ` ORDER BY m.begun_at, m.move_id LIMIT $1`, limit)
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
		var status task.Resolution
		err = s.read(row, &m.At, (*string)(&status))
		m.Pending = status == task.CasePending
		return m, err
	}, `UPDATE tasker_tasks_dlq SET group_id = `+set+w.text()+` RETURNING occurred_at, resolution_status`, w.args...)
}

func (letterRows) MoveCounts(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error {
	sums, hours := sumDeltas(deltas)
	return In(tx).count(ctx, sums, hours)
}

func (s letterRows) GroupOfRule(ctx context.Context, namespace, rule string, since int64) (deadletter.GroupID, error) {
	return first(ctx, s, scanGroupID, `SELECT g.group_id FROM tasker_groups g WHERE g.namespace = $1 AND g.rule = $2
  AND g.rule <> '' AND g.rule_version = $3 AND (EXISTS (SELECT 1 FROM tasker_letters l WHERE l.group_id = g.group_id)
  OR EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.group_id = g.group_id)) LIMIT 1`, namespace, rule, since)
}
