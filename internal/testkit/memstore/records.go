package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// AddAttempts implements engine.Tx. A lease ends once; a step that ended while it waited has a record with the token 0.
// A second record of one lease means that it was settled twice, which tokens must prevent.
func (t *tx) AddAttempts(ctx context.Context, attempts []task.Attempt) error {
	for _, a := range attempts {
		old := t.s.attempts[a.TaskID]
		if a.Token != 0 && slices.ContainsFunc(old, func(b task.Attempt) bool {
			return a.StepID == b.StepID && a.Token == b.Token
		}) {
			return task.Errorf(task.Internal, "add attempt of step %s: its lease %d has ended before", a.StepID, a.Token)
		}
		a.DefID = 0 // not stored
		// Clip makes append copy: readers and the journal still refer to the old list.
		put(t, attemptsTable, a.TaskID, append(slices.Clip(old), cloneAttempt(a)))
		t.touched[a.TaskID] = true
	}
	return nil
}

func (t *tx) AddEvents(ctx context.Context, events []task.Event) error {
	for _, e := range events {
		put(t, eventsTable, e.TaskID, append(slices.Clip(t.s.events[e.TaskID]), e))
		t.touched[e.TaskID] = true
	}
	return nil
}

// AddActs implements engine.ActStore. Acts get consecutive numbers, and are never changed or deleted.
func (*Store) AddActs(ctx context.Context, within engine.Tx, acts []task.Act) error {
	t := in(within)
	for _, a := range acts { // an act without a task is under the zero ID
		a.No = t.s.lastAct[""] + 1
		put(t, lastActTable, "", a.No)
		put(t, actsTable, a.TaskID, append(slices.Clip(t.s.acts[a.TaskID]), cloneAct(a)))
		if !a.TaskID.IsZero() {
			t.touched[a.TaskID] = true
		}
	}
	return nil
}

// TakeKeys implements engine.KeyStore. A key is bound while now is before expires. There is one transaction at a time,
// so no key is locked.
func (*Store) TakeKeys(ctx context.Context, within engine.Tx, asks []engine.KeyAsk, now, expires task.Instant,
	_ bool,
) ([]engine.KeyAnswer, error) {
	t := in(within)
	answers := make([]engine.KeyAnswer, len(asks))
	for i, a := range asks {
		if b, bound := t.s.keys[a.Name]; bound && now < b.expires {
			answers[i] = engine.KeyAnswer{Bound: b.Binding, Taken: true}
		} else {
			t.bindKey(a.Name, a.To, expires)
		}
	}
	return answers, nil
}

// BindKey implements engine.KeyStore. It replaces any binding, expired or not.
func (*Store) BindKey(ctx context.Context, within engine.Tx, name engine.KeyName, to engine.Binding,
	expires task.Instant,
) error {
	in(within).bindKey(name, to, expires)
	return nil
}

func (t *tx) bindKey(name engine.KeyName, to engine.Binding, expires task.Instant) {
	put(t, keysTable, name, binding{to, expires})
	// The commit then checks that the task exists.
	t.touched[to.Task] = true
}

// DropKeys implements engine.KeyStore. Which of more than limit keys go first is arbitrary.
func (*Store) DropKeys(ctx context.Context, within engine.Tx, before task.Instant, limit int) (int, error) {
	t := in(within)
	n := 0
	for name, b := range t.s.keys {
		if n < limit && b.expires < before {
			drop(t, keysTable, name)
			n++
		}
	}
	return n, nil
}
