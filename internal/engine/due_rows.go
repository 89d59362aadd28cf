package engine

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/internal/due"
	"github.com/taskerhq/tasker/internal/task"
)

// dueRows are the rows of loops that have failed: the loops step over them.
type dueRows struct {
	fanOuts *due.Rows[*task.FanOut, task.ID]
	signals *due.Rows[task.Signal, task.SignalName]
	waits   *due.Rows[SignalMatch, task.ID]
}

func newDueRows() dueRows {
	return dueRows{
		fanOuts: due.New("the child tasks of step", func(f *task.FanOut) task.ID { return f.Step }),
		signals: due.New("the signal", func(s task.Signal) task.SignalName { return s.SignalName }),
		waits:   due.New("the signal for step", func(m SignalMatch) task.ID { return m.Step }),
	}
}

// blame returns nil if a row is at fault that has failed alone: if anything can be stored.
func (e *Engine) blame(ctx context.Context, why error) error {
	if err := e.store.Write(ctx, func(context.Context, Tx) error { return nil }); err != nil {
		return errors.Join(why, err)
	}
	return nil
}

// repeat runs a loop until nothing is left to do, and steps over rows that fail: the loop of package upkeep tells of
// them.
func repeat(once func(context.Context) (int, bool, error)) error {
	for more := true; more; {
		var err error
		_, more, err = once(context.Background())
		if err != nil && !due.OnlyRows(err) {
			return err
		}
	}
	return nil
}
