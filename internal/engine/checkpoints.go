package engine

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The transaction that renews a lease stores its checkpoint, and the next lease carries it. See
// docs/design/0049-long-work.md.

func checkpointsFeature() feature {
	return feature{
		name: "checkpoints",
		of:   checkedTask,
		ended: func(u *unit, w Work, e ending) (bool, error) {
			if e.outcome == task.Completed {
				dropCheckpoint(u, w)
			}
			return false, nil
		},
		stages: []stage{{rankCheckpoints, "checkpoints", []string{"checkpoints"},
			checkpointSlot.save((*newCheckpoints).save)}},
	}
}

func recordProgress(u *unit, w Work, p *Progress) {
	if p.Checkpoint == nil || p.Percent > 0 || p.Note != "" {
		w.Step.Progress, w.Step.Note = p.Percent, p.Note
	}
	switch {
	case p.Checkpoint == nil:
	case bytes.Equal(p.Checkpoint, []byte("null")):
		dropCheckpoint(u, w)
	default:
		if w.Task.Meta.NoteCheckpoint(w.Step.Ordinal) {
			u.rows.changedTask(w.Task)
		}
		checkpointSlot.of(u).put(w.Step.ID, &task.Checkpoint{Step: w.Step.ID, Task: w.Task.ID, DefID: w.Step.DefID,
			Token: w.Step.Token, At: u.now, Bytes: len(p.Checkpoint), Body: p.Checkpoint})
	}
}

func dropCheckpoint(u *unit, w Work) {
	if w.Task.Meta.Checkpointed(w.Step.Ordinal) {
		checkpointSlot.of(u).put(w.Step.ID, nil)
	}
}

func dropCheckpoints(u *unit, t *task.Task) error {
	if len(t.Meta.Checkpoints) == 0 {
		return nil
	}
	steps, err := u.rows.siblings(Family{Task: t.ID})
	for _, s := range steps {
		dropCheckpoint(u, Work{s, t})
	}
	return err
}

// newCheckpoints are by step; nil: deleted.
type newCheckpoints struct {
	u  *unit
	of map[task.ID]*task.Checkpoint
}

var checkpointSlot = newSlot(func(u *unit) *newCheckpoints {
	return &newCheckpoints{u: u, of: map[task.ID]*task.Checkpoint{}}
})

func (nc *newCheckpoints) put(step task.ID, c *task.Checkpoint) { nc.of[step] = c }

// save writes in one order for all transactions.
func (nc *newCheckpoints) save() error {
	rows := nc.u.e.checkpointStore
	for _, step := range slices.SortedFunc(maps.Keys(nc.of), compareIDs) {
		var err error
		if c := nc.of[step]; c != nil {
			err = rows.SaveCheckpoint(nc.u.ctx, nc.u.tx, c)
		} else {
			err = rows.DropCheckpoint(nc.u.ctx, nc.u.tx, step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readCheckpoints uses one query, or none if no step has stored a checkpoint.
func (lr *loadedRows) readCheckpoints(works []Work) error {
	var steps []task.ID
	for _, w := range works {
		if w.Step == nil || !w.Task.Meta.Checkpointed(w.Step.Ordinal) {
			continue
		}
		if _, known := lr.checkpoints[w.Step.ID]; !known {
			steps = append(steps, w.Step.ID)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	found, err := lr.u.e.checkpointStore.CheckpointsOf(lr.u.ctx, lr.u.tx, steps)
	if err != nil {
		return err
	}
	if lr.checkpoints == nil {
		lr.checkpoints = map[task.ID][]byte{}
	}
	for _, id := range steps {
		lr.checkpoints[id] = nil
	}
	for _, c := range found {
		lr.checkpoints[c.Step] = c.Body
	}
	return nil
}

func (lr *loadedRows) checkpointOf(w Work) ([]byte, error) {
	if len(w.Task.Meta.Checkpoints) == 0 {
		return nil, nil
	}
	err := lr.readCheckpoints([]Work{w})
	return lr.checkpoints[w.Step.ID], err
}

// Checkpoints returns the checkpoints of a task's steps, by step; without bodies, or beyond the bytes of a page, no
// bodies.
func (e *Engine) Checkpoints(ctx context.Context, t *task.Task, steps []*task.Step, bodies bool,
) (map[task.ID]task.Checkpoint, error) {
	var ids []task.ID
	for _, s := range steps {
		if t.Meta.Checkpointed(s.Ordinal) {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := e.checkpointStore.FindCheckpoints(ctx, ids, false)
	size := 0
	for _, c := range found {
		size += c.Bytes
	}
	if err == nil && bodies && size <= e.cfg.Limits.PageBytes {
		found, err = e.checkpointStore.FindCheckpoints(ctx, ids, true)
	}
	out := make(map[task.ID]task.Checkpoint, len(found))
	for _, c := range found {
		out[c.Step] = c
	}
	return out, err
}
