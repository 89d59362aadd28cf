package engine

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

var turnSlot = newSlot(func(u *unit) *turns { return &turns{u: u} })

type turns struct {
	u        *unit
	added    []Waiting
	ended    []task.ID // tasks that left their turn or the queue
	released []*task.Task
}

func orderingFeature() feature {
	return feature{
		name: "ordering",
		of:   orderedTask,
		drafted: func(u *unit, t *task.Task, def *task.Template) {
			turnSlot.of(u).wait(t, def.Namespace)
		},
		left: func(u *unit, d departure) {
			if d.task.State.Terminal() {
				ts := turnSlot.of(u)
				ts.ended = append(ts.ended, d.task.ID)
			}
		},
		stages: []stage{
			{rankWaiting, "waiting tasks", []string{"ordering_waits"}, turnSlot.save((*turns).store)},
			{rankTurns, "turns", []string{"tasks", "ordering_heads", "ordering_waits"}, turnSlot.save((*turns).pass)},
		},
		after: []followUp{{afterTurns, "turns", turnSlot.after(func(ts *turns) {
			if len(ts.added) > 0 && !ts.u.e.byHand {
				ts.u.e.turns.Post(struct{}{})
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
	return ts.u.e.orderingStore.AddWaiting(ts.u.ctx, ts.u.tx, ts.added, ts.u.now)
}

// The steps of released tasks go through the queue.
func (ts *turns) pass() error {
	if len(ts.ended) == 0 {
		return nil
	}
	ended := ts.ended
	ts.ended = nil
	rows := ts.u.e.orderingStore
	keys, err := rows.RemoveHeads(ts.u.ctx, ts.u.tx, ended)
	if err != nil {
		return err
	}
	if err := rows.RemoveWaiting(ts.u.ctx, ts.u.tx, ended); err != nil {
		return err
	}
	if _, err = ts.give(keys); err != nil {
		return err
	}
	if err := ts.u.ready.pass(true); err != nil {
		return err
	}
	for _, t := range ts.released {
		if err := ts.u.reevaluate(t); err != nil {
			return err
		}
	}
	return nil
}

// give gives each key's turn to its first waiting task. It returns the keys with a running or no waiting task.
func (ts *turns) give(keys []OrderingKey) (settled []OrderingKey, err error) {
	rows := ts.u.e.orderingStore
	for len(keys) > 0 {
		first, err := rows.FirstWaiting(ts.u.ctx, ts.u.tx, keys)
		if err != nil {
			return nil, err
		}
		if err := ts.u.rows.takeTasks(tasksOf(first)); err != nil {
			return nil, err
		}
		settled = append(settled, without(keys, first)...)
		var gone []task.ID
		keys = nil
		live := first[:0]
		for _, w := range first {
			// A task that is not held got its turn meanwhile, and may have ended. Its row is not saved here, so
			// nothing would end a second turn.
			if t := ts.u.rows.tasks[w.Task]; t == nil || t.State.Terminal() || !t.Meta.Held {
				keys, gone = append(keys, w.Key), append(gone, w.Task)
			} else {
				live = append(live, w)
			}
		}
		won, err := rows.AddHeads(ts.u.ctx, ts.u.tx, live)
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
			if err := ts.release(ts.u.rows.tasks[w.Task]); err != nil {
				return nil, err
			}
		}
		if err := rows.RemoveWaiting(ts.u.ctx, ts.u.tx, gone); err != nil {
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
	u.rows.changedTask(t)
	ts.released = append(ts.released, t)
	if t.State.Settled() { // in error since its submission: an operator decides
		return nil
	}
	def, err := u.rows.template(t.DefID)
	if err != nil {
		return err
	}
	t.StateAt = u.now
	t.BeginDeadline(max(u.now, t.RunAt), def.Lifecycle.MaxDuration)
	steps, err := u.rows.siblings(Family{Task: t.ID})
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.State != task.StepPending || s.OpenParents > 0 || s.Scheduled() || def.Spec(s).OnFailure {
			continue
		}
		if err := u.start(Work{s, t}); err != nil {
			return err
		}
	}
	mustWatch(u, t, task.Pending)
	return nil
}

const turnsAtOnce = 500

// GiveTurns gives free turns to the first waiting tasks. It looks at tasks submitted since its last run, and returns
// their number, and whether there may be more. Several processes may run it. A *due.Error lists skipped tasks, with
// the tasks behind them.
func (e *Engine) GiveTurns(ctx context.Context) (n int, more bool, err error) {
	now := e.Now()
	fresh, err := e.due.turns.Read(now, turnsAtOnce, func(limit int) ([]Waiting, error) {
		return e.orderingStore.FreshWaiting(ctx, limit)
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

func (e *Engine) giveTurnsOf(ctx context.Context, fresh []Waiting) (known int, err error) {
	keys := keysOf(fresh)
	err = e.write(ctx, "give_turns", func(u *unit) error {
		settled, vacant, err := e.orderingStore.LockHeads(u.ctx, u.tx, keys)
		if err != nil {
			return err
		}
		given, err := turnSlot.of(u).give(vacant)
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
		return e.orderingStore.MarkKnown(u.ctx, u.tx, ids)
	})
	if err != nil {
		return 0, err
	}
	return known, nil
}

func (e *Engine) giveTurns(calls []struct{}) ([]struct{}, error) {
	return calls, repeat(e.GiveTurns)
}

// OrderPlace returns a task's place among those of its ordering key; zero without a key.
func (e *Engine) OrderPlace(ctx context.Context, t *task.Task, namespace string) (OrderPlace, error) {
	if t.Meta.OrderingKey == "" {
		return OrderPlace{}, nil
	}
	return e.orderingStore.TurnOf(ctx, Waiting{OrderingKey{namespace, t.Meta.OrderingKey}, t.ID})
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
