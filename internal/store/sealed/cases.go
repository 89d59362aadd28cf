package sealed

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// cases are the cases of tasks. A snapshot is only shown: undecryptable values in it are masked, as in one that a
// database function made of encrypted rows.
type cases struct {
	engine.CaseStore
	seals *Seals
}

func (c *cases) store(ctx context.Context, of engine.Tx, list []*task.Case,
	call func(context.Context, engine.Tx, []*task.Case) error,
) error {
	var s swapped
	defer s.back()
	for _, one := range list {
		if len(one.Snapshot)+len(one.Metadata) == 0 {
			continue
		}
		set, err := c.seals.set(ctx, one.DefID, below(of).Template)
		if err != nil {
			return err
		}
		snapshot, err := c.seals.sealed(set, one.Snapshot, place(vault.Snapshot, one.TaskID))
		if err != nil {
			return err
		}
		metadata, err := c.seals.sealed(set, one.Metadata, place(vault.Metadata, one.TaskID))
		if err != nil {
			return err
		}
		s.swap(&one.Snapshot, snapshot)
		s.swap(&one.Metadata, metadata)
	}
	return call(ctx, of, list)
}

func (c *cases) AddCases(ctx context.Context, of engine.Tx, list []*task.Case) error {
	return c.store(ctx, of, list, c.CaseStore.AddCases)
}

func (c *cases) SaveCases(ctx context.Context, of engine.Tx, list []*task.Case) error {
	return c.store(ctx, of, list, c.CaseStore.SaveCases)
}

func (c *cases) RecurCases(ctx context.Context, of engine.Tx, list []*task.Case) error {
	return c.store(ctx, of, list, c.CaseStore.RecurCases)
}

func (c *cases) open(one *task.Case) {
	if one == nil {
		return
	}
	at := place(vault.Snapshot, one.TaskID)
	one.Snapshot = c.seals.shown(one.Snapshot, at)
	for i := range one.Former {
		one.Former[i].Snapshot = c.seals.shown(one.Former[i].Snapshot, at)
	}
	one.Metadata = c.seals.opened(one.Metadata, place(vault.Metadata, one.TaskID))
}

func (c *cases) opened(list []*task.Case, err error) ([]*task.Case, error) {
	for _, one := range list {
		c.open(one)
	}
	return list, err
}

func (c *cases) Case(ctx context.Context, of engine.Tx, id task.ID) (*task.Case, error) {
	one, err := c.CaseStore.Case(ctx, of, id)
	c.open(one)
	return one, err
}

func (c *cases) PendingCases(ctx context.Context, of engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	return c.opened(c.CaseStore.PendingCases(ctx, of, tasks))
}

func (c *cases) CasesOf(ctx context.Context, of engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	return c.opened(c.CaseStore.CasesOf(ctx, of, tasks))
}

func (c *cases) FindCase(ctx context.Context, id task.ID) (*task.Case, error) {
	one, err := c.CaseStore.FindCase(ctx, id)
	c.open(one)
	return one, err
}

func (c *cases) LastCase(ctx context.Context, of task.ID) (*task.Case, error) {
	one, err := c.CaseStore.LastCase(ctx, of)
	c.open(one)
	return one, err
}

func (c *cases) ListCases(ctx context.Context, f engine.CaseFilter) ([]*task.Case, error) {
	return c.opened(c.CaseStore.ListCases(ctx, f))
}

func (c *cases) UrgentCases(ctx context.Context, f engine.CaseFilter, bases settings.PriorityBases,
) ([]*task.Case, error) {
	return c.opened(c.CaseStore.UrgentCases(ctx, f, bases))
}

func (c *cases) ResolvedCases(ctx context.Context, before task.Instant, limit int) ([]*task.Case, error) {
	return c.opened(c.CaseStore.ResolvedCases(ctx, before, limit))
}

func (c *cases) Evidence(ctx context.Context, of engine.Tx, tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	found, err := c.CaseStore.Evidence(ctx, of, tasks)
	for id, e := range found {
		e.Context = task.Readable(c.seals.opened(e.Context, place(vault.Context, id)))
		e.Failures, _ = c.seals.openAttempts(e.Failures, nil)
		found[id] = e
	}
	return found, err
}

func (c *cases) LastFailures(ctx context.Context, of []engine.Stop) ([]task.Attempt, error) {
	return c.seals.openAttempts(c.CaseStore.LastFailures(ctx, of))
}
