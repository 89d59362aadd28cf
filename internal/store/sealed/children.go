package sealed

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (d *database) ChildStore() engine.ChildStore { return &children{d.Database.ChildStore(), d.seals} }

// children are the children of steps. The template of a child marks the sensitive parts of its result. Items are parts
// of a context or a result, to which its pointers do not apply: they are encrypted whole if the template of their step
// marks anything.
type children struct {
	engine.ChildStore
	seals *Seals
}

func (c *children) AddItems(ctx context.Context, of engine.Tx, step task.ID, windows [][]byte) error {
	under := below(of)
	works, err := under.Work(ctx, []task.ID{step})
	if err != nil {
		return err
	}
	set := sensitive.All()
	if works[0].Step != nil {
		if set, err = c.seals.set(ctx, works[0].Step.DefID, under.Template); err != nil {
			return err
		}
	}
	if !set.Empty() {
		set = sensitive.All()
	}
	windows = slices.Clone(windows)
	for i := range windows {
		if windows[i], err = c.seals.sealed(set, windows[i], place(vault.Items, step)); err != nil {
			return err
		}
	}
	return c.ChildStore.AddItems(ctx, of, step, windows)
}

func (c *children) ItemWindow(ctx context.Context, step task.ID, window int) ([]byte, error) {
	items, err := c.ChildStore.ItemWindow(ctx, step, window)
	if err != nil {
		return nil, err
	}
	return c.seals.must(items, place(vault.Items, step))
}

func (c *children) sealed(ctx context.Context, under engine.Tx, id task.ID, result []byte) ([]byte, error) {
	child, err := under.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	set := sensitive.All()
	if child != nil {
		if set, err = c.seals.set(ctx, child.DefID, under.Template); err != nil {
			return nil, err
		}
	}
	return c.seals.sealed(set, result, place(vault.Child, id))
}

func (c *children) SaveChildren(ctx context.Context, of engine.Tx, list []engine.Child) (err error) {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Result == nil {
			continue
		}
		if list[i].Result, err = c.sealed(ctx, below(of), list[i].Task, list[i].Result); err != nil {
			return err
		}
	}
	return c.ChildStore.SaveChildren(ctx, of, list)
}

func (c *children) MarkChildren(ctx context.Context, of engine.Tx, marks []engine.ChildMark) (err error) {
	marks = slices.Clone(marks)
	for i := range marks {
		if marks[i].Result == nil {
			continue
		}
		if marks[i].Result, err = c.sealed(ctx, below(of), marks[i].Task, marks[i].Result); err != nil {
			return err
		}
	}
	return c.ChildStore.MarkChildren(ctx, of, marks)
}

func (c *children) ListChildren(ctx context.Context, step task.ID, f engine.ChildFilter) ([]engine.Child, error) {
	list, err := c.ChildStore.ListChildren(ctx, step, f)
	for i := range list {
		if err != nil {
			return nil, err
		}
		list[i].Result, err = c.seals.must(list[i].Result, place(vault.Child, list[i].Task))
	}
	return list, err
}
