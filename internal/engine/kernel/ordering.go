package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Tasks with the same ordering key and namespace run one at a time, in the order in which they were stored. A
// submission stores them held: their steps are pending without pending parents. GiveTurns releases the first task of
// a key; the transaction that ends a task releases the next. A task in error keeps its turn.
//
// Submissions lock nothing, because a caller's transaction may stay open for long. See OrderingStore for simultaneous
// ends and submissions.

var turnSlot = NewSlot(func(u *Unit) *turns { return &turns{u: u} })

type turns struct {
	u        *Unit
	added    []Waiting
	ended    []task.ID // tasks that left their turn or the queue
	released []*task.Task
}

func OrderingFeature() Feature {
	return Feature{
		Name: "ordering",
		Of:   orderedTask,
		drafted: func(u *Unit, t *task.Task, def *task.Template) {
			turnSlot.Of(u).wait(t, def.Namespace)
		},
		Left: func(u *Unit, d Departure) {
			if d.Task.State.Terminal() {
				ts := turnSlot.Of(u)
				ts.ended = append(ts.ended, d.Task.ID)
			}
		},
		Stages: []Stage{
			{rankWaiting, "waiting tasks", []string{"ordering_waits"}, turnSlot.Save((*turns).store)},
			{rankTurns, "turns", []string{"tasks", "ordering_heads", "ordering_waits"}, turnSlot.Save((*turns).pass)},
		},
		After: []FollowUp{{afterTurns, "turns", turnSlot.After(func(ts *turns) {
			if len(ts.added) > 0 && !ts.u.E.ByHand {
				ts.u.E.turns.Post(struct{}{})
			}
		})}},
	}
}

func (ts *turns) wait(t *task.Task, namespace string) {
	t.Meta.Held = true
	ts.added = append(ts.added, Waiting{OrderingKey{namespace, t.Meta.OrderingKey}, t.ID})
}

func (ts *turns) store() error {
	if len(ts.added) == 0 {
		return nil
	}
	return ts.u.E.OrderingStore.AddWaiting(ts.u.Ctx, ts.u.Tx, ts.added, ts.u.Now)
}

// The steps of released tasks go through the queue.
func (ts *turns) pass() error {
	if len(ts.ended) == 0 {
		return nil
	}
	ended := ts.ended
	ts.ended = nil
	rows := ts.u.E.OrderingStore
	keys, err := rows.RemoveHeads(ts.u.Ctx, ts.u.Tx, ended)
	if err != nil {
		return err
	}
	if err := rows.RemoveWaiting(ts.u.Ctx, ts.u.Tx, ended); err != nil {
		return err
	}
	if _, err = ts.give(keys); err != nil {
		return err
	}
	if err := ts.u.Ready.Pass(true); err != nil {
		return err
	}
	for _, t := range ts.released {
		if err := ts.u.Reevaluate(t); err != nil {
			return err
		}
	}
	return nil
}

// give gives each key's turn to its first waiting task. It returns the keys with a running or no waiting task.
func (ts *turns) give(keys []OrderingKey) (settled []OrderingKey, err error) {
	rows := ts.u.E.OrderingStore
	for len(keys) > 0 {
		first, err := rows.FirstWaiting(ts.u.Ctx, ts.u.Tx, keys)
		if err != nil {
			return nil, err
		}
		if err := ts.u.Rows.TakeTasks(tasksOf(first)); err != nil {
			return nil, err
		}
		settled = append(settled, without(keys, first)...)
		var gone []task.ID
		keys = nil
		live := first[:0]
		for _, w := range first {
			// A task that is not held got its turn meanwhile, and may have ended. Its row is not saved here, so
			// nothing would end a second turn.
			if t := ts.u.Rows.Tasks[w.Task]; t == nil || t.State.Terminal() || !t.Meta.Held {
				keys, gone = append(keys, w.Key), append(gone, w.Task)
			} else {
				live = append(live, w)
			}
		}
		won, err := rows.AddHeads(ts.u.Ctx, ts.u.Tx, live)
		if err != nil {
			return nil, err
		}
		settled = append(settled, won...)
		mine := setOf(won)
		for _, w := range live {
			if !mine[w.Key] {
				continue // another transaction gave the turn
			}
			gone = append(gone, w.Task)
			if err := ts.release(ts.u.Rows.Tasks[w.Task]); err != nil {
				return nil, err
			}
		}
		if err := rows.RemoveWaiting(ts.u.Ctx, ts.u.Tx, gone); err != nil {
			return nil, err
		}
	}
	return settled, nil
}

// release starts a task whose turn has come. Its time limits begin now.
func (ts *turns) release(t *task.Task) error {
	if !t.Meta.Held {
		return nil
	}
	u := ts.u
	t.Meta.Held = false
	u.Rows.ChangedTask(t)
	ts.released = append(ts.released, t)
	if t.State.Settled() { // in error since its submission: an operator decides
		return nil
	}
	def, err := u.Rows.Template(t.DefID)
	if err != nil {
		return err
	}
	t.StateAt = u.Now
	t.BeginDeadline(max(u.Now, t.RunAt), def.Lifecycle.MaxDuration)
	steps, err := u.Rows.Siblings(Family{Task: t.ID})
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.State != task.StepPending || s.OpenParents > 0 || s.Scheduled() || def.Spec(s).OnFailure {
			continue
		}
		if err := u.Start(Work{s, t}); err != nil {
			return err
		}
	}
	MustWatch(u, t, task.Pending)
	return nil
}

const turnsAtOnce = 500

// GiveTurns gives free turns to the first waiting tasks. It looks at tasks submitted since its last run, and returns
// their number, and whether there may be more. Several processes may run it. A *due.Error lists skipped tasks, with
// the tasks behind them.
func (e *Kernel) GiveTurns(ctx context.Context) (n int, more bool, err error) {
	now := e.Now()
	fresh, err := e.due.turns.Read(now, turnsAtOnce, func(limit int) ([]Waiting, error) {
		return e.OrderingStore.FreshWaiting(ctx, limit)
	})
	if err != nil {
		return 0, false, fmt.Errorf("look for tasks that wait for their turn: %w", err)
	}
	if len(fresh) == 0 {
		return 0, false, nil
	}
	err = e.due.turns.Try(ctx, now, fresh, func(ctx context.Context, some []Waiting) error {
		known, err := e.giveTurnsOf(ctx, some)
		n += known
		return err
	})
	stepped := due.OnlyRows(err)
	return n, len(fresh) == turnsAtOnce && (n == turnsAtOnce || stepped), err
}

func (e *Kernel) giveTurnsOf(ctx context.Context, fresh []Waiting) (known int, err error) {
	keys := keysOf(fresh)
	err = e.Write(ctx, "give_turns", func(u *Unit) error {
		settled, vacant, err := e.OrderingStore.LockHeads(u.Ctx, u.Tx, keys)
		if err != nil {
			return err
		}
		given, err := turnSlot.Of(u).give(vacant)
		if err != nil {
			return err
		}
		done := setOf(append(settled, given...))
		var ids []task.ID
		for _, w := range fresh {
			if done[w.Key] {
				ids = append(ids, w.Task)
			}
		}
		known = len(ids)
		return e.OrderingStore.MarkKnown(u.Ctx, u.Tx, ids)
	})
	if err != nil {
		return 0, err
	}
	return known, nil
}

func (e *Kernel) giveTurns(calls []struct{}) ([]struct{}, error) {
	return calls, Repeat(e.GiveTurns)
}

// OrderPlace returns a task's place among those of its ordering key; zero without a key.
func (e *Kernel) OrderPlace(ctx context.Context, t *task.Task, namespace string) (OrderPlace, error) {
	if t.Meta.OrderingKey == "" {
		return OrderPlace{}, nil
	}
	return e.OrderingStore.TurnOf(ctx, Waiting{OrderingKey{namespace, t.Meta.OrderingKey}, t.ID})
}

// keysOf returns each key once, in the order in which all transactions lock them.
func keysOf(ws []Waiting) []OrderingKey {
	keys := make([]OrderingKey, len(ws))
	for i, w := range ws {
		keys[i] = w.Key
	}
	slices.SortFunc(keys, func(a, b OrderingKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Key, b.Key))
	})
	return slices.Compact(keys)
}

func tasksOf(ws []Waiting) []task.ID {
	ids := make([]task.ID, len(ws))
	for i, w := range ws {
		ids[i] = w.Task
	}
	return ids
}

func without(keys []OrderingKey, waiting []Waiting) []OrderingKey {
	awaited := setOf(keysOf(waiting))
	return slices.DeleteFunc(slices.Clone(keys), func(k OrderingKey) bool { return awaited[k] })
}

func setOf(keys []OrderingKey) map[OrderingKey]bool {
	set := make(map[OrderingKey]bool, len(keys))
	for _, k := range keys {
		set[k] = true
	}
	return set
}
