package storetest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func checkpointCases() []testCase {
	return []testCase{
		{"LastOneCounts", checkpointReplaced},
		{"Dropped", checkpointDropped},
		{"RolledBack", checkpointRolledBack},
		{"DeletedWithItsTask", checkpointDeleted},
		{"OfManySteps", checkpointsOfMany},
	}
}

func (f *fixture) checkpoint(s *task.Step, body string) task.Checkpoint {
	return task.Checkpoint{Step: s.ID, Task: s.TaskID, Token: 3, At: f.now, Bytes: len(body), Body: []byte(body)}
}

func (f *fixture) saveCheckpoints(list ...task.Checkpoint) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for i := range list {
			if err := f.store.CheckpointStore().SaveCheckpoint(ctx, tx, &list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fixture) wantCheckpoints(of []task.ID, want ...task.Checkpoint) {
	f.Helper()
	order := func(list []task.Checkpoint) []task.Checkpoint {
		slices.SortFunc(list, func(a, b task.Checkpoint) int { return bytes.Compare(a.Step[:], b.Step[:]) })
		return list
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.CheckpointStore().CheckpointsOf(ctx, tx, of)
		f.equal("in a transaction", order(got), want)
		return err
	})
	got, err := f.store.CheckpointStore().FindCheckpoints(f.Context(), of, true)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("committed", order(got), want)
	bare, err := f.store.CheckpointStore().FindCheckpoints(f.Context(), of, false)
	if err != nil {
		f.Fatal(err)
	}
	without := slices.Clone(want)
	for i := range without {
		without[i].Body = nil
	}
	f.equal("without bodies", order(bare), without)
}

func checkpointReplaced(f *fixture) {
	j := f.build(f.single, 0)
	f.insert(j)
	step := j.steps[0]
	f.wantCheckpoints([]task.ID{step.ID})
	// Byte for byte.
	first := f.checkpoint(step, `{"b": 1,  "a": "\u0000 ä"}`)
	f.saveCheckpoints(first)
	f.wantCheckpoints([]task.ID{step.ID, f.store.IDs().Take(f.now.Time(), 1)}, first)
	last := f.checkpoint(step, `"`+strings.Repeat("x", 100_000)+`"`)
	last.Token, last.At = 4, f.now.Add(time.Second)
	f.saveCheckpoints(f.checkpoint(step, "2"), last)
	f.wantCheckpoints([]task.ID{step.ID}, last)
}

func checkpointDropped(f *fixture) {
	jobs := f.many(2)
	kept, gone := f.checkpoint(jobs[0].steps[0], "1"), f.checkpoint(jobs[1].steps[0], "2")
	f.saveCheckpoints(kept, gone)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for range 2 { // deleting a missing one succeeds
			if err := f.store.CheckpointStore().DropCheckpoint(ctx, tx, gone.Step); err != nil {
				return err
			}
		}
		return nil
	})
	f.wantCheckpoints([]task.ID{kept.Step, gone.Step}, kept)
}

func checkpointRolledBack(f *fixture) {
	j := f.build(f.single, 0)
	f.insert(j)
	before := f.checkpoint(j.steps[0], "1")
	f.saveCheckpoints(before)
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		after := f.checkpoint(j.steps[0], "2")
		if err := f.store.CheckpointStore().SaveCheckpoint(ctx, tx, &after); err != nil {
			return err
		}
		return task.Errorf(task.Conflict, "no")
	})
	f.equal("the error", task.CodeOf(err), task.Conflict)
	f.wantCheckpoints([]task.ID{before.Step}, before)
}

func checkpointDeleted(f *fixture) {
	jobs := f.many(3)
	var all []task.ID
	var stored []task.Checkpoint
	for i, j := range jobs {
		if i < 2 {
			f.write(func(ctx context.Context, tx engine.Tx) error {
				k, err := tx.Task(ctx, j.task.ID)
				if err != nil {
					return err
				}
				k.Meta.NoteCheckpoint(1)
				j.task.Meta = k.Meta
				return tx.SaveTasks(ctx, []*task.Task{k})
			})
			stored = append(stored, f.checkpoint(j.steps[0], "1"))
		}
		all = append(all, j.steps[0].ID)
	}
	f.saveCheckpoints(stored...)
	f.wantJob(jobs[0]) // the mark is stored
	f.finish(jobs[0], f.now.Add(time.Minute))
	f.finish(jobs[2], f.now.Add(time.Minute))
	f.equal("deleted", deleteFinished(f, f.now.Add(time.Hour), 10), 2)
	f.wantCheckpoints(all, stored[1])
}

func checkpointsOfMany(f *fixture) {
	jobs := f.many(100)
	var all []task.ID
	var stored []task.Checkpoint
	for i, j := range jobs {
		all = append(all, j.steps[0].ID)
		if i%2 == 0 {
			stored = append(stored, f.checkpoint(j.steps[0], "1"))
		}
	}
	f.saveCheckpoints(stored...)
	slices.SortFunc(stored, func(a, b task.Checkpoint) int { return bytes.Compare(a.Step[:], b.Step[:]) })
	f.wantCheckpoints(all, stored...)
}
