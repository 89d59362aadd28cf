package inbox

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/due"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// dueRows are the rows of loops that have failed: the loops step over them.
type dueRows struct {
	events   *due.Rows[deadletter.Event, task.ID]
	moves    *due.Rows[*Move, task.ID]
	letters  *due.Rows[task.ID, task.ID]
	sends    *due.Rows[deadletter.Send, task.ID]
	failures *due.Rows[deadletter.Send, task.ID]
}

func newDueRows(db Database) dueRows {
	owner := func(s deadletter.Send) task.ID { return s.Owner }
	return dueRows{
		events:   rowsOf(db, "the deliveries of event", func(e deadletter.Event) task.ID { return e.ID }),
		moves:    rowsOf(db, "the split", func(m *Move) task.ID { return m.ID }),
		letters:  rowsOf(db, "the letter", func(id task.ID) task.ID { return id }),
		sends:    rowsOf(db, "the send of letter", owner),
		failures: rowsOf(db, "the failure of task", owner),
	}
}

// rowsOf are rows of which one is at fault that has failed alone, if this process has its turn, and anything can be
// stored.
func rowsOf[T any, K comparable](db Database, what string, key func(T) K) *due.Rows[T, K] {
	return due.New(what, key, func(ctx context.Context, _ T, _ task.Instant, why error) error {
		if errors.Is(why, errTurnLost) {
			return why
		}
		return engine.Storable(ctx, db, why)
	})
}

// sendKey tells sends of one kind apart: a letter may have two that are due.
type sendKey struct {
	owner task.ID
	no    int
}

func keyOf(s *deadletter.Send) sendKey { return sendKey{s.Owner, s.No} }

// recording records the outcomes of sends together, and in ever smaller parts if that fails. One that cannot be stored
// stays in flight, and its send rests: it keeps no other from being recorded.
func (in *Inbox) recording(ctx context.Context, rows *due.Rows[deadletter.Send, task.ID], outcomes []outcome,
	record func(context.Context, []outcome) error,
) error {
	of, sends := make(map[sendKey]outcome, len(outcomes)), make([]deadletter.Send, len(outcomes))
	for i, o := range outcomes {
		of[keyOf(&o.send)], sends[i] = o, o.send
	}
	err := rows.Try(ctx, in.now(), sends, func(ctx context.Context, some []deadletter.Send) error {
		part := make([]outcome, len(some))
		for i := range some {
			part[i] = of[keyOf(&some[i])]
		}
		return record(ctx, part)
	})
	if due.OnlyRows(err) { // they rest: the caller's own rows are handled
		in.observeFailure(observedSend, err)
		return nil
	}
	return err
}
