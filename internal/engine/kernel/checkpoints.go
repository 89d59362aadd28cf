package kernel

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The transaction that renews a lease stores its checkpoint, and the next lease carries it. See
// docs/design/0049-long-work.md.

func CheckpointsFeature() Feature {
	return Feature{
		Name: "checkpoints",
		Of:   checkedTask,
		ended: func(u *Unit, w Work, e ending) (bool, error) {
			if e.outcome == task.Completed {
				DropCheckpoint(u, w)
			}
			return false, nil
		},
		Stages: []Stage{{rankCheckpoints, "checkpoints", []string{"checkpoints"},
			checkpointSlot.Save((*newCheckpoints).save)}},
	}
}

func recordProgress(u *Unit, w Work, p *Progress) {
	if p.Checkpoint == nil || p.Percent > 0 || p.Note != "" {
		w.Step.Progress, w.Step.Note = p.Percent, p.Note
	}
	switch {
	case p.Checkpoint == nil:
	case bytes.Equal(p.Checkpoint, []byte("null")):
		DropCheckpoint(u, w)
	default:
		if w.Task.Meta.NoteCheckpoint(w.Step.Ordinal) {
			u.Rows.ChangedTask(w.Task)
		}
		checkpointSlot.Of(u).put(w.Step.ID, &task.Checkpoint{Step: w.Step.ID, Task: w.Task.ID, DefID: w.Step.DefID,
			Token: w.Step.Token, At: u.Now, Bytes: len(p.Checkpoint), Body: p.Checkpoint})
	}
}

func DropCheckpoint(u *Unit, w Work) {
	if w.Task.Meta.Checkpointed(w.Step.Ordinal) {
		checkpointSlot.Of(u).put(w.Step.ID, nil)
	}
}

func DropCheckpoints(u *Unit, t *task.Task) error {
	if len(t.Meta.Checkpoints) == 0 {
		return nil
	}
	steps, err := u.Rows.Siblings(Family{Task: t.ID})
	for _, s := range steps {
		DropCheckpoint(u, Work{s, t})
	}
	return err
}

// newCheckpoints are by step; nil: deleted.
type newCheckpoints struct {
	u  *Unit
	of map[task.ID]*task.Checkpoint
}

var checkpointSlot = NewSlot(func(u *Unit) *newCheckpoints {
	return &newCheckpoints{u: u, of: map[task.ID]*task.Checkpoint{}}
})

func (nc *newCheckpoints) put(step task.ID, c *task.Checkpoint) { nc.of[step] = c }

// save writes in one order for all transactions.
func (nc *newCheckpoints) save() error {
	rows := nc.u.E.checkpointStore
	for _, step := range slices.SortedFunc(maps.Keys(nc.of), CompareIDs) {
		var err error
		if c := nc.of[step]; c != nil {
			err = rows.SaveCheckpoint(nc.u.Ctx, nc.u.Tx, c)
		} else {
			err = rows.DropCheckpoint(nc.u.Ctx, nc.u.Tx, step)
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
	found, err := lr.u.E.checkpointStore.CheckpointsOf(lr.u.Ctx, lr.u.Tx, steps)
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
func (e *Kernel) Checkpoints(ctx context.Context, t *task.Task, steps []*task.Step, bodies bool,
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
	if err == nil && bodies && size <= e.Cfg.Limits.PageBytes {
		found, err = e.checkpointStore.FindCheckpoints(ctx, ids, true)
	}
	out := make(map[task.ID]task.Checkpoint, len(found))
	for _, c := range found {
		out[c.Step] = c
	}
	return out, err
}
