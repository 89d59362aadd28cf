package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A case has its latest occurrence in its own row: lists need no other table, and a task that fails once costs one row.
// keep copies the previous one to another table, inside the database.

// RecurCases stores the latest occurrences of cases; see engine.CaseRows. The row must still have the former
// occurrence: keep copies it before show replaces it. Occurrences between the first and the latest are dropped by
// number and bytes.
func (SQL) RecurCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	s := In(tx)
	const (
		keep = `INSERT INTO tasker_case_occurrences (dlq_entry_uuid, no, occurred_at, original_state, dlq_reason, cause,
  error_pattern, retryable, failed_step, error_class, error_message, recovery, snapshot_bytes, task_snapshot)
 SELECT c.dlq_entry_uuid, c.occurrences, c.occurred_at, c.original_state, c.dlq_reason, c.cause, c.error_pattern,
  c.retryable, c.failed_step, c.error_class, c.error_message, c.recovery, c.snapshot_bytes, c.task_snapshot
  FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = $1`
		show = `UPDATE tasker_tasks_dlq SET occurrences = $2, occurred_at = $3, updated_at = $3, original_state = $4,
  dlq_reason = $5, cause = $6, error_pattern = $7, retryable = $8, failed_step = $9, error_class = $10,
  error_message = $11, recovery = NULL, snapshot_bytes = $12, task_snapshot = $13, group_id = $14
 WHERE dlq_entry_uuid = $1`
		drop = `DELETE FROM tasker_case_occurrences WHERE dlq_entry_uuid = $1 AND no > 1 AND (no < $2 OR no IN (
  SELECT q.no FROM
 (SELECT o.no, sum(o.snapshot_bytes) OVER (ORDER BY o.no DESC) AS bytes FROM tasker_case_occurrences o
  WHERE o.dlq_entry_uuid = $1 AND o.no > 1) q
 WHERE q.bytes > CAST($3 AS bigint)))`
	)
	for _, c := range cases {
		if err := s.Send(ctx, keep, s.id(c.ID)); err != nil {
			return err
		}
		if err := s.Send(ctx, show, s.id(c.ID), c.Occurrences, int64(c.OccurredAt), string(c.OriginalState), string(c.Reason),
			nullable(string(c.Cause)),
			nullable(c.Fingerprint), flag(c.Retryable), nullable(c.Step), nullable(string(c.Class)), nullable(c.Message),
			len(c.Snapshot), document(c.Snapshot), nullableNo(c.Group)); err != nil {
			return err
		}
		if c.Occurrences <= 2 {
			continue // the first is never dropped
		}
		if err := s.Send(ctx, drop, s.id(c.ID), task.KeptFrom(c.Occurrences), task.OccurrenceBytes); err != nil {
			return err
		}
	}
	return nil
}

// addStory adds the former occurrences and the thread of a case, oldest first. The case's counters show which queries
// are needed, mostly none.
func (s SQL) addStory(ctx context.Context, c *task.Case) (err error) {
	const (
		former = `SELECT dlq_entry_uuid, no, occurred_at, original_state, dlq_reason, cause, error_pattern, retryable,
  failed_step, error_class, error_message, recovery, task_snapshot FROM tasker_case_occurrences
  WHERE dlq_entry_uuid = $1 ORDER BY no`
		notes = `SELECT no, at, author, author_key, body FROM tasker_case_notes WHERE dlq_entry_uuid = $1 ORDER BY no`
	)
	if c.Occurrences > 1 {
		if c.Former, err = collect(ctx, s, s.scanOccurrence, former, s.id(c.ID)); err != nil {
			return err
		}
	}
	if c.NoteCount > 0 {
		c.Thread, err = collect(ctx, s, func(row Row) (n task.CaseNote, err error) {
			err = row.Scan(&n.No, &n.At, (*Text)(&n.Author), (*Text)(&n.Key), (*Text)(&n.Text))
			return n, err
		}, notes, s.id(c.ID))
	}
	return err
}

func (s SQL) scanOccurrence(row Row) (o task.Occurrence, err error) {
	var id task.ID // the row then counts as found, whatever its other columns
	var retryable int
	var recovery JSON
	err = scan(row, []any{s.ScanID(&id), &o.No, &o.At, (*Text)(&o.OriginalState), (*Text)(&o.Reason), (*Text)(&o.Cause),
		(*Text)(&o.Fingerprint), &retryable,
		(*Text)(&o.Step), (*Text)(&o.Class), (*Text)(&o.Message), &recovery, (*JSON)(&o.Snapshot)}, &id, &o.Unread)
	o.Retryable = retryable != 0
	o.Recovery = readRecovery(recovery, &o.Unread)
	return o, err
}

func readRecovery(document JSON, note *string) *task.Recovery {
	if document == nil {
		return nil
	}
	var r task.Recovery
	if err := json.Unmarshal(document, &r); err != nil {
		unread(note, "recovery", err)
		return nil
	}
	return &r
}

// encodeRecovery returns the two JSON columns of how a case's task recovered, mostly nil, for NULL.
func encodeRecovery(c *task.Case) (recovery, replays []byte, err error) {
	if c.Recovery != nil {
		if recovery, err = json.Marshal(c.Recovery); err != nil {
			return nil, nil, fmt.Errorf("encode a recovery: %w", err)
		}
	}
	if c.Replays.Count > 0 {
		if replays, err = json.Marshal(c.Replays); err != nil {
			return nil, nil, fmt.Errorf("encode replays: %w", err)
		}
	}
	return recovery, replays, nil
}

// addNotes stores new notes. The insert skips stored ones by number.
func (s SQL) addNotes(ctx context.Context, c *task.Case) error {
	const query = `INSERT INTO tasker_case_notes (dlq_entry_uuid, no, at, author, author_key, body)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`
	for _, n := range c.Thread {
		if err := s.Send(ctx, query, s.id(c.ID), n.No, int64(n.At), n.Author, nullable(n.Key), n.Text); err != nil {
			return err
		}
	}
	return nil
}
