package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

var findCheckpoints = bulkOf(`SELECT c.step_id, c.task_id, c.token, c.at, c.bytes, c.body FROM (`, "i",
	`) AS v JOIN tasker_checkpoints c ON c.step_id = v.column1`)

var findBareCheckpoints = bulkOf(`SELECT c.step_id, c.task_id, c.token, c.at, c.bytes, NULL FROM (`, "i",
	`) AS v JOIN tasker_checkpoints c ON c.step_id = v.column1`)

// CheckpointStore implements engine.Database.
func (s SQL) CheckpointStore() engine.CheckpointStore { return s }

// SaveCheckpoint implements engine.CheckpointStore.
func (SQL) SaveCheckpoint(ctx context.Context, tx engine.Tx, c *task.Checkpoint) error {
	s := In(tx)
	return s.Send(ctx, `INSERT INTO tasker_checkpoints (step_id, task_id, token, at, bytes, body)
 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (step_id) DO UPDATE SET token = EXCLUDED.token, at = EXCLUDED.at,
  bytes = EXCLUDED.bytes, body = EXCLUDED.body`, s.id(c.Step), s.id(c.Task), c.Token, int64(c.At), int64(c.Bytes),
		string(c.Body))
}

// DropCheckpoint implements engine.CheckpointStore.
func (SQL) DropCheckpoint(ctx context.Context, tx engine.Tx, step task.ID) error {
	s := In(tx)
	return s.Send(ctx, `DELETE FROM tasker_checkpoints WHERE step_id = $1`, s.id(step))
}

// CheckpointsOf implements engine.CheckpointStore.
func (SQL) CheckpointsOf(ctx context.Context, tx engine.Tx, steps []task.ID) ([]task.Checkpoint, error) {
	return In(tx).checkpoints(ctx, findCheckpoints, steps)
}

// FindCheckpoints implements engine.CheckpointStore.
func (s SQL) FindCheckpoints(ctx context.Context, steps []task.ID, bodies bool) ([]task.Checkpoint, error) {
	if bodies {
		return s.checkpoints(ctx, findCheckpoints, steps)
	}
	return s.checkpoints(ctx, findBareCheckpoints, steps)
}

func (s SQL) checkpoints(ctx context.Context, find bulk, steps []task.ID) (list []task.Checkpoint, err error) {
	err = find.run(s.Dialect, s.idRows(steps), func(query string, args []any) error {
		found, err := collect(ctx, s, s.scanCheckpoint, query, args...)
		list = append(list, found...)
		return err
	})
	return list, err
}

func (s SQL) scanCheckpoint(row Row) (c task.Checkpoint, err error) {
	var size int64
	var body JSON
	err = row.Scan(s.ScanID(&c.Step), s.ScanID(&c.Task), &c.Token, &c.At, &size, &body)
	c.Bytes, c.Body = int(size), body
	return c, err
}
