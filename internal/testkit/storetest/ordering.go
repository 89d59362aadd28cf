package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func orderingCases() []testCase {
	return []testCase{
		{"InOrder", orderingInOrder},
		{"BehindLaterClock", orderingBehindLaterClock},
		{"OneHead", orderingOneHead},
		{"Fresh", orderingFresh},
		{"PerNamespaceAndText", orderingPerText},
		{"Many", orderingMany},
		{"Nothing", orderingNothing},
	}
}

func (f *fixture) waiting(at task.Instant, keys ...engine.OrderingKey) []engine.Waiting {
	f.Helper()
	list := make([]engine.Waiting, len(keys))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for i, k := range keys {
			j := f.build(f.single, 0)
			if err := insert(ctx, tx, j); err != nil {
				return err
			}
			list[i] = engine.Waiting{Key: k, Task: j.task.ID}
		}
		return f.store.OrderingStore().AddWaiting(ctx, tx, list, at)
	})
	return list
}

// give makes the first waiting task the head of a key, and returns it; zero if the key has a head, or no task waits.
func (f *fixture) give(k engine.OrderingKey) (id task.ID) {
	f.Helper()
	s := f.store.OrderingStore()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		id = task.ID{}
		first, err := s.FirstWaiting(ctx, tx, []engine.OrderingKey{k})
		if err != nil || len(first) == 0 {
			return err
		}
		won, err := s.AddHeads(ctx, tx, first)
		if err != nil || len(won) == 0 {
			return err
		}
		id = first[0].Task
		return s.RemoveWaiting(ctx, tx, []task.ID{id})
	})
	return id
}

func (f *fixture) end(ids ...task.ID) (keys []engine.OrderingKey) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		keys, err = f.store.OrderingStore().RemoveHeads(ctx, tx, ids)
		return err
	})
	return keys
}

var ann = engine.OrderingKey{Namespace: "default", Key: "ann"}

// The tasks of a key get their turn in the order of addition.
func orderingInOrder(f *fixture) {
	list := append(f.waiting(f.now, ann, ann), f.waiting(f.now, ann)...)
	for i, w := range list {
		place, err := f.store.OrderingStore().TurnOf(f.Context(), w)
		if want := (engine.OrderPlace{Before: i, Waits: true}); err != nil || place != want {
			f.Errorf("task %d: %+v, %v, want %+v", i, place, err, want)
		}
	}
	for i, w := range list {
		if got := f.give(ann); got != w.Task {
			f.Fatalf("turn %d went to %s, want %s", i, got, w.Task)
		}
		if place, err := f.store.OrderingStore().TurnOf(f.Context(), w); err != nil || place.Waits || place.Head != w.Task {
			f.Errorf("the head: %+v, %v", place, err)
		}
		if keys := f.end(w.Task); len(keys) != 1 || keys[0] != ann {
			f.Errorf("the end of %d freed %v", i, keys)
		}
	}
	if got := f.give(ann); !got.IsZero() {
		f.Errorf("nobody waits, and %s got the turn", got)
	}
}

// A later task comes later, even if its process's clock is behind.
func orderingBehindLaterClock(f *fixture) {
	list := append(f.waiting(f.now.Add(1000), ann), f.waiting(f.now, ann, ann)...)
	for i, w := range list {
		if got := f.give(ann); got != w.Task {
			f.Errorf("turn %d went to %s, want %s", i, got, w.Task)
		}
		f.end(w.Task)
	}
}

// A key has one head.
func orderingOneHead(f *fixture) {
	list := f.waiting(f.now, ann, ann)
	f.give(ann)
	if got := f.give(ann); !got.IsZero() {
		f.Errorf("%s got a turn that is taken", got)
	}
	s := f.store.OrderingStore()
	bob := engine.OrderingKey{Namespace: "default", Key: "bob"}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		locked, vacant, err := s.LockHeads(ctx, tx, []engine.OrderingKey{ann, bob})
		if !reflect.DeepEqual(locked, []engine.OrderingKey{ann}) || !reflect.DeepEqual(vacant, []engine.OrderingKey{bob}) {
			f.Errorf("locked %v, vacant %v", locked, vacant)
		}
		return err
	})
	if keys := f.end(list[1].Task); len(keys) != 0 {
		f.Errorf("a task that waits is the head of %v", keys)
	}
}

// A task is fresh until it is known, and a rollback leaves nothing.
func orderingFresh(f *fixture) {
	s := f.store.OrderingStore()
	list := f.waiting(f.now, ann, ann, ann)
	fresh := func(limit int, want ...engine.Waiting) {
		f.Helper()
		if got, err := s.FreshWaiting(f.Context(), limit); err != nil || !slices.Equal(got, want) {
			f.Errorf("fresh: %v, %v, want %v", got, err, want)
		}
	}
	fresh(2, list[:2]...)
	f.write(func(ctx context.Context, tx engine.Tx) error { return s.MarkKnown(ctx, tx, tasksOf(list[:2])) })
	fresh(9, list[2])
	rolledBack := errors.New("rolled back")
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		return errors.Join(s.RemoveWaiting(ctx, tx, tasksOf(list)), rolledBack)
	})
	if !errors.Is(err, rolledBack) {
		f.Errorf("the transaction ended with %v", err)
	}
	fresh(9, list[2])
	if n, err := s.CountWaiting(f.Context(), 9); n != 3 || err != nil {
		f.Errorf("%d wait, %v", n, err)
	}
	if n, err := s.CountWaiting(f.Context(), 2); n != 2 || err != nil {
		f.Errorf("of two, %d wait, %v", n, err)
	}
}

// Keys are texts, separate per namespace.
func orderingPerText(f *fixture) {
	keys := []engine.OrderingKey{{Namespace: "default", Key: "k"}, {Namespace: "default", Key: "K"},
		{Namespace: "default", Key: "k "}, {Namespace: "other", Key: "k"}, {Namespace: "default", Key: "'; --"},
		{Namespace: "default", Key: strings.Repeat("ü", task.MaxName/2)}}
	for i, w := range f.waiting(f.now, keys...) {
		if got := f.give(keys[i]); got != w.Task {
			f.Errorf("the turn of %q went to %s, want %s", keys[i], got, w.Task)
		}
	}
}

// Many keys in one call behave like one.
func orderingMany(f *fixture) {
	const n = 1100
	keys := make([]engine.OrderingKey, n)
	for i := range keys {
		keys[i] = engine.OrderingKey{Namespace: "default", Key: fmt.Sprintf("%04d", i)}
	}
	list := append(f.waiting(f.now, keys...), f.waiting(f.now, keys...)...)
	s := f.store.OrderingStore()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		first, err := s.FirstWaiting(ctx, tx, keys)
		if err != nil || len(first) != n {
			f.Errorf("%d keys have a first task, %v", len(first), err)
		}
		won, err := s.AddHeads(ctx, tx, list[:n])
		if err != nil || len(won) != n {
			f.Errorf("%d became heads, %v", len(won), err)
		}
		if err := s.RemoveWaiting(ctx, tx, tasksOf(list[:n])); err != nil {
			return err
		}
		locked, vacant, err := s.LockHeads(ctx, tx, keys)
		if len(locked) != n || len(vacant) != 0 {
			f.Errorf("%d heads are locked, %d keys have none", len(locked), len(vacant))
		}
		if err != nil {
			return err
		}
		return s.MarkKnown(ctx, tx, tasksOf(list))
	})
	if keys := f.end(tasksOf(list)...); len(keys) != n {
		f.Errorf("%d heads are gone", len(keys))
	}
	if n, err := s.CountWaiting(f.Context(), 2000); n != 1100 || err != nil {
		f.Errorf("%d wait, %v", n, err)
	}
}

// Empty lists succeed.
func orderingNothing(f *fixture) {
	s := f.store.OrderingStore()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		locked, vacant, err := s.LockHeads(ctx, tx, nil)
		if len(locked)+len(vacant) > 0 || err != nil {
			f.Errorf("locked %v, vacant %v, %v", locked, vacant, err)
		}
		if _, err := s.FirstWaiting(ctx, tx, nil); err != nil {
			return err
		}
		if _, err := s.AddHeads(ctx, tx, nil); err != nil {
			return err
		}
		if _, err := s.RemoveHeads(ctx, tx, nil); err != nil {
			return err
		}
		if err := s.AddWaiting(ctx, tx, nil, f.now); err != nil {
			return err
		}
		if err := s.MarkKnown(ctx, tx, nil); err != nil {
			return err
		}
		return s.RemoveWaiting(ctx, tx, []task.ID{f.store.IDs().Take(f.now.Time(), 1)})
	})
	if place, err := s.TurnOf(f.Context(), engine.Waiting{Key: ann}); place != (engine.OrderPlace{}) || err != nil {
		f.Errorf("the place of no task is %+v, %v", place, err)
	}
}

func tasksOf(list []engine.Waiting) []task.ID {
	ids := make([]task.ID, len(list))
	for i, w := range list {
		ids[i] = w.Task
	}
	return ids
}
