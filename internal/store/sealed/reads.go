package sealed

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
)

type database struct {
	engine.Database
	seals *Seals
}

// Database implements engine.Seals.
func (s *Seals) Database(db engine.Database) engine.Database { return &database{db, s} }

func (d *database) CacheNewRows() {
	if r, ok := d.Database.(engine.RowCacher); ok {
		r.CacheNewRows()
	}
}

func (d *database) FindTask(ctx context.Context, id task.ID) (*task.Task, error) {
	k, err := d.Database.FindTask(ctx, id)
	d.seals.openTask(k)
	return k, err
}

func (d *database) ListTasks(ctx context.Context, f engine.TaskFilter) ([]*task.Task, task.ID, error) {
	tasks, next, err := d.Database.ListTasks(ctx, f)
	_, _ = d.seals.openTasks(tasks, nil)
	return tasks, next, err
}

func (d *database) FindSteps(ctx context.Context, id task.ID) ([]*task.Step, error) {
	return d.seals.openSteps(d.Database.FindSteps(ctx, id))
}

func (d *database) Results(ctx context.Context, steps []task.ID, bytes int) (map[task.ID][]byte, error) {
	results, err := d.Database.Results(ctx, steps, bytes)
	for id, result := range results {
		results[id] = d.seals.opened(result, place(vault.Result, id))
	}
	return results, err
}

func (d *database) FindAttempts(ctx context.Context, id task.ID) ([]task.Attempt, error) {
	return d.seals.openAttempts(d.Database.FindAttempts(ctx, id))
}

func (s *Seals) openAttempts(attempts []task.Attempt, err error) ([]task.Attempt, error) {
	for _, a := range attempts {
		if a.Failure != nil {
			a.Failure.Details = s.opened(a.Failure.Details, place(vault.Details, a.StepID))
		}
	}
	return attempts, err
}

func (d *database) ActStore() engine.ActStore { return &acts{d.Database.ActStore(), d.seals} }

func (d *database) CaseStore() engine.CaseStore { return &cases{d.Database.CaseStore(), d.seals} }

func (d *database) CheckpointStore() engine.CheckpointStore {
	return &checkpoints{d.Database.CheckpointStore(), d.seals}
}

// acts are the acts of operators. They are only shown: undecryptable values are masked.
type acts struct {
	engine.ActStore
	seals *Seals
}

func (a *acts) AddActs(ctx context.Context, of engine.Tx, list []task.Act) error {
	under, stored := below(of), append([]task.Act{}, list...)
	for i := range stored {
		act := &stored[i]
		if len(act.Data) == 0 {
			continue
		}
		set, err := a.set(ctx, under, act)
		if err != nil {
			return err
		}
		if act.Data, err = a.seals.sealed(set, act.Data, place(vault.Act, act.TaskID)); err != nil {
			return err
		}
	}
	return a.ActStore.AddActs(ctx, of, stored)
}

var ofSchedules = sensitive.Lenient([]string{"/before/context", "/after/context", "/input/context"})

func (a *acts) set(ctx context.Context, under engine.Tx, act *task.Act) (*sensitive.Set, error) {
	if act.TaskID == (task.ID{}) {
		return ofSchedules, nil
	}
	of, err := under.Task(ctx, act.TaskID)
	if err != nil || of == nil {
		return nil, err
	}
	set, err := a.seals.set(ctx, of.DefID, under.Template)
	if in := of.Meta.Intake; in != nil {
		set = set.With(in.Sensitive)
	}
	return set, err
}

func (a *acts) open(list []task.Act, err error) ([]task.Act, error) {
	for i := range list {
		if act := &list[i]; vault.Sealed(act.Data) {
			act.Data, act.Opened = a.seals.shown(act.Data, place(vault.Act, act.TaskID)), true
		}
	}
	return list, err
}

func (a *acts) FindActs(ctx context.Context, id task.ID) ([]task.Act, error) {
	return a.open(a.ActStore.FindActs(ctx, id))
}

func (a *acts) ListActs(ctx context.Context, f engine.ActFilter) ([]task.Act, error) {
	return a.open(a.ActStore.ListActs(ctx, f))
}

type checkpoints struct {
	engine.CheckpointStore
	seals *Seals
}

func (c *checkpoints) SaveCheckpoint(ctx context.Context, of engine.Tx, p *task.Checkpoint) error {
	set, err := c.seals.set(ctx, p.DefID, below(of).Template)
	if err != nil {
		return err
	}
	stored := *p
	if stored.Body, err = c.seals.sealed(set, p.Body, place(vault.Checkpoint, p.Step)); err != nil {
		return err
	}
	return c.CheckpointStore.SaveCheckpoint(ctx, of, &stored)
}

func (c *checkpoints) open(list []task.Checkpoint, err error) ([]task.Checkpoint, error) {
	for i := range list {
		list[i].Body = c.seals.opened(list[i].Body, place(vault.Checkpoint, list[i].Step))
	}
	return list, err
}

func (c *checkpoints) CheckpointsOf(ctx context.Context, of engine.Tx, steps []task.ID) ([]task.Checkpoint, error) {
	return c.open(c.CheckpointStore.CheckpointsOf(ctx, of, steps))
}

func (c *checkpoints) FindCheckpoints(ctx context.Context, steps []task.ID, bodies bool) ([]task.Checkpoint, error) {
	return c.open(c.CheckpointStore.FindCheckpoints(ctx, steps, bodies))
}
