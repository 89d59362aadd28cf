package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func uniqueCases() []testCase {
	return []testCase{
		{"GuardedByState", uniqueGuardedByState},
		{"GuardedUntil", uniqueGuardedUntil},
		{"ExactText", uniqueExactText},
		{"Move", uniqueMove},
		{"Rollback", uniqueRollback},
		{"Drop", uniqueDrop},
		{"DeletedWithItsTask", uniqueDeletedWithItsTask},
		{"Many", uniqueMany},
		{"Nothing", uniqueNothing},
	}
}

var (
	live    = []string{task.PhaseUnsettled, task.PhaseError}
	anyName = engine.KeyName{Namespace: "default", Key: "k"}
)

// takeUnique stores a new task if it gets the key, and returns the key's guardian.
func takeUnique(ctx context.Context, f *fixture, tx engine.Tx, n engine.KeyName, to engine.Holder,
	now task.Instant,
) (job, engine.Guardian, error) {
	j := f.build(f.single, 0)
	to.Task = j.task.ID
	j.task.Meta.Unique = &task.UniqueMark{Key: n.Key, While: to.While, Until: to.Until}
	answers, err := f.store.UniqueStore().TakeUnique(ctx, tx, []engine.UniqueAsk{{Name: n, To: to}}, now)
	if err != nil || !answers[0].Task.IsZero() {
		return j, answers[0], err
	}
	return j, engine.Guardian{}, insert(ctx, tx, j)
}

func (f *fixture) takeUnique(n engine.KeyName, to engine.Holder, now task.Instant) (j job, g engine.Guardian) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		j, g, err = takeUnique(ctx, f, tx, n, to, now)
		return err
	})
	return j, g
}

// A key is guarded while its task is in a phase of the rule, and free in the transaction that ends that.
func uniqueGuardedByState(f *fixture) {
	j, g := f.takeUnique(anyName, engine.Holder{While: live}, f.now)
	f.equal("the first", g, engine.Guardian{})
	_, g = f.takeUnique(anyName, engine.Holder{While: live}, f.now)
	f.equal("the second", g, engine.Guardian{Holder: engine.Holder{Task: j.task.ID, While: live}, State: j.task.State})
	found, err := f.store.UniqueStore().Guardians(f.Context(), []engine.KeyName{anyName, {Namespace: "x", Key: "k"}})
	f.must(err)
	f.equal("guardians", found, map[engine.KeyName]engine.Guardian{anyName: g})
	f.finish(j, f.now)
	k, g := f.takeUnique(anyName, engine.Holder{While: task.UniquePhases}, f.now)
	f.equal("after its end", g, engine.Guardian{})
	f.finish(k, f.now)
	_, g = f.takeUnique(anyName, engine.Holder{While: live}, f.now)
	f.equal("one that guards it in each phase", g.Task, k.task.ID)
	f.equal("its state", g.State, task.Complete)
}

func uniqueGuardedUntil(f *fixture) {
	until := f.now.Add(time.Hour)
	j, _ := f.takeUnique(anyName, engine.Holder{While: live, Until: until}, f.now)
	_, g := f.takeUnique(anyName, engine.Holder{While: live}, until-1)
	f.equal("before the end", g.Task, j.task.ID)
	f.equal("the end", g.Until, until)
	_, g = f.takeUnique(anyName, engine.Holder{While: live}, until)
	f.equal("at the end", g, engine.Guardian{})
}

func uniqueExactText(f *fixture) {
	for _, key := range append(hostile(), "k", "K", "k ", " k", "é", "e\u0301", "") {
		for _, namespace := range []string{"default", "Default", "other"} {
			_, g := f.takeUnique(engine.KeyName{Namespace: namespace, Key: key}, engine.Holder{While: live}, f.now)
			f.equal(namespace+" "+key, g, engine.Guardian{})
		}
	}
}

// A key is moved only from the task that has it.
func uniqueMove(f *fixture) {
	j, _ := f.takeUnique(anyName, engine.Holder{While: live}, f.now)
	k := f.build(f.single, 0)
	k.task.Meta.Unique = &task.UniqueMark{Key: anyName.Key, While: live}
	to := engine.Holder{Task: k.task.ID, While: live, Until: f.now.Add(time.Hour)}
	move := func(from task.ID, want map[engine.KeyName]bool) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			moved, err := f.store.UniqueStore().MoveUnique(ctx, tx, []engine.UniqueMove{{Name: anyName, From: from, To: to},
				{Name: engine.KeyName{Namespace: "default", Key: "none"}, From: from, To: to}})
			f.equal("moved", fmt.Sprint(moved), fmt.Sprint(want))
			return err
		})
	}
	f.insert(k)
	move(f.one().task.ID, map[engine.KeyName]bool{})
	move(j.task.ID, map[engine.KeyName]bool{anyName: true})
	move(j.task.ID, map[engine.KeyName]bool{})
	_, g := f.takeUnique(anyName, engine.Holder{While: live}, f.now)
	f.equal("bound to", g.Holder, to)
}

func uniqueRollback(f *fixture) {
	j, _ := f.takeUnique(anyName, engine.Holder{While: live}, f.now)
	f.finish(j, f.now)
	other := engine.KeyName{Namespace: "default", Key: "other"}
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		for _, n := range []engine.KeyName{anyName, other} {
			if _, _, err := takeUnique(ctx, f, tx, n, engine.Holder{While: live}, f.now); err != nil {
				return err
			}
		}
		return errBoom
	})
	f.equal("error", errors.Is(err, errBoom), true)
	found, err := f.store.UniqueStore().Guardians(f.Context(), []engine.KeyName{anyName, other})
	f.must(err)
	f.equal("keys", len(found), 1)
	f.equal("bound to", found[anyName].Task, j.task.ID)
}

func uniqueDrop(f *fixture) {
	name := func(i int) engine.KeyName { return engine.KeyName{Namespace: "default", Key: keyOf(i)} }
	names := []engine.KeyName{name(5)}
	f.takeUnique(name(5), engine.Holder{While: live}, f.now) // has no end
	for i := range 5 {
		names = append(names, name(i))
		f.takeUnique(name(i), engine.Holder{While: live, Until: f.now.Add(time.Duration(i) * time.Hour)}, f.now)
	}
	drop := func(before task.Instant, limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.UniqueStore().DropUnique(ctx, tx, before, limit)
			return err
		})
		return n
	}
	f.equal("dropped before any has ended", drop(f.now, 10), 0)
	f.equal("dropped with a limit", drop(f.now.Add(2*time.Hour)+1, 2), 2)
	f.equal("dropped the rest", drop(f.now.Add(2*time.Hour)+1, 2), 1)
	f.equal("dropped nothing more", drop(f.now.Add(2*time.Hour)+1, 2), 0)
	found, err := f.store.UniqueStore().Guardians(f.Context(), names)
	f.must(err)
	f.equal("keys", len(found), 3)
}

// A key goes with its task, unless it belongs to a younger one.
func uniqueDeletedWithItsTask(f *fixture) {
	j, _ := f.takeUnique(anyName, engine.Holder{While: task.UniquePhases}, f.now)
	other := engine.KeyName{Namespace: "default", Key: "other"}
	k, _ := f.takeUnique(other, engine.Holder{While: live}, f.now)
	f.finish(j, f.now)
	f.finish(k, f.now)
	l, _ := f.takeUnique(other, engine.Holder{While: live}, f.now)
	f.equal("deleted", deleteFinished(f, f.now.Add(time.Hour), 10), 2)
	found, err := f.store.UniqueStore().Guardians(f.Context(), []engine.KeyName{anyName, other})
	f.must(err)
	f.equal("keys", len(found), 1)
	f.equal("bound to", found[other].Task, l.task.ID)
}

// Of many keys some are free, some unguarded, some guarded: each has its own answer, in order.
func uniqueMany(f *fixture) {
	const n = 1300
	held, _ := f.takeUnique(engine.KeyName{Namespace: "default", Key: keyOf(7)}, engine.Holder{While: live}, f.now)
	gone, _ := f.takeUnique(engine.KeyName{Namespace: "default", Key: keyOf(8)}, engine.Holder{While: live}, f.now)
	f.finish(gone, f.now)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		asks := make([]engine.UniqueAsk, n)
		for i := range asks {
			j := f.build(f.single, 0)
			key := keyOf(n - 1 - i)
			j.task.Meta.Unique = &task.UniqueMark{Key: key, While: live}
			if err := insert(ctx, tx, j); err != nil {
				return err
			}
			asks[i] = engine.UniqueAsk{Name: engine.KeyName{Namespace: "default", Key: key},
				To: engine.Holder{Task: j.task.ID, While: live}}
		}
		want := make([]engine.Guardian, n)
		want[n-1-7] = engine.Guardian{Holder: engine.Holder{Task: held.task.ID, While: live}, State: held.task.State}
		answers, err := f.store.UniqueStore().TakeUnique(ctx, tx, asks, f.now)
		if err != nil {
			return err
		}
		f.equal("answers", answers, want)
		if answers, err = f.store.UniqueStore().TakeUnique(ctx, tx, asks[:1], f.now); err == nil {
			f.equal("again", answers[0].Task, asks[0].To.Task)
		}
		return err
	})
}

func uniqueNothing(f *fixture) {
	s := f.store.UniqueStore()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		answers, err := s.TakeUnique(ctx, tx, nil, f.now)
		f.equal("answers", len(answers), 0)
		moved, err2 := s.MoveUnique(ctx, tx, nil)
		f.equal("moved", len(moved), 0)
		return errors.Join(err, err2, s.WithoutWaiting(ctx, tx, func() error { return nil }))
	})
	found, err := s.Guardians(f.Context(), nil)
	f.must(err)
	f.equal("guardians", len(found), 0)
}

// uniqueAsks are for new tasks.
func (p *pair) uniqueAsks(of Node, names ...string) []engine.UniqueAsk {
	asks := make([]engine.UniqueAsk, len(names))
	for i, a := range p.asks(of, names...) {
		asks[i] = engine.UniqueAsk{Name: a.Name, To: engine.Holder{Task: a.To.Task, While: live}}
	}
	return asks
}

// With WithoutWaiting a process does not wait for a unique key that an open transaction binds or moves, and its own
// transaction can continue. A guarded key is read without waiting, even if unlocked.
func uniqueLockedElsewhere(p *pair) {
	held, _ := p.takeUnique(engine.KeyName{Namespace: "default", Key: "held"}, engine.Holder{While: live}, p.now)
	old, _ := p.takeUnique(engine.KeyName{Namespace: "default", Key: "old"}, engine.Holder{While: live}, p.now)
	p.finish(old, p.now)
	s := p.b.UniqueStore()
	var answers []engine.Guardian
	p.within(func(ctx context.Context, tx engine.Tx) error {
		asks := p.uniqueAsks(p.a, "x", "old", "held")
		_, err := p.a.UniqueStore().TakeUnique(ctx, tx, asks, p.now)
		return err
	}, func(ctx context.Context, tx engine.Tx) (err error) {
		take := func(names ...string) error {
			return s.WithoutWaiting(ctx, tx, func() (err error) {
				answers, err = s.TakeUnique(ctx, tx, p.uniqueAsks(p.b, names...), p.now)
				return err
			})
		}
		for _, locked := range []string{"x", "old"} {
			if err := take("w", locked, "y"); !errors.Is(err, engine.ErrKeyLocked) {
				p.Errorf("TakeUnique of the locked key %s: %v", locked, err)
			}
		}
		return take("w", "y", "held")
	})
	p.equal("keys that are not locked", []task.ID{answers[0].Task, answers[1].Task, answers[2].Task},
		[]task.ID{{}, {}, held.task.ID})
}

// Moving a key does not wait for its locked task.
func uniqueMoveOfALockedTask(p *pair) {
	held, _ := p.takeUnique(anyName, engine.Holder{While: live}, p.now)
	s := p.b.UniqueStore()
	p.within(func(ctx context.Context, tx engine.Tx) error {
		if _, err := tx.Task(ctx, held.task.ID); err != nil {
			return err
		}
		if err := held.save(ctx, tx); err != nil {
			return err
		}
		_, err := p.a.CaseStore().CasesOf(ctx, tx, []task.ID{held.task.ID}) // a read flushes the saved rows
		return err
	}, func(ctx context.Context, tx engine.Tx) error {
		err := s.WithoutWaiting(ctx, tx, func() error {
			to := engine.Holder{Task: p.b.IDs().Take(p.now.Time(), 1), While: live}
			_, err := s.MoveUnique(ctx, tx, []engine.UniqueMove{{Name: anyName, From: held.task.ID, To: to}})
			return err
		})
		if !errors.Is(err, engine.ErrKeyLocked) {
			p.Errorf("MoveUnique of a locked task: %v", err)
		}
		return nil
	})
}

// Two processes bind the same unique keys in opposite order, some of finished tasks: one gets all.
func uniqueInOppositeOrder(p *pair) {
	const n = 100
	names := make([]string, n)
	for i := range names {
		names[i] = keyOf(i)
		if i%2 == 0 {
			j, _ := p.takeUnique(engine.KeyName{Namespace: "default", Key: names[i]}, engine.Holder{While: live}, p.now)
			p.finish(j, p.now)
		}
	}
	taken := [2]int{}
	runs := [2]int{}
	var wg sync.WaitGroup
	for i, of := range []Node{p.a, p.b} {
		wg.Go(func() {
			err := of.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
				runs[i]++
				taken[i] = 0
				var asks []engine.UniqueAsk
				var jobs []job
				for at := range names {
					j := p.build(p.single, 0)
					key := names[at]
					if i == 1 {
						key = names[n-1-at]
					}
					j.task.Meta.Unique = &task.UniqueMark{Key: key, While: live}
					jobs = append(jobs, j)
					asks = append(asks, engine.UniqueAsk{Name: engine.KeyName{Namespace: "default", Key: key},
						To: engine.Holder{Task: j.task.ID, While: live}})
				}
				answers, err := of.UniqueStore().TakeUnique(ctx, tx, asks, p.now)
				if err != nil {
					return err
				}
				var mine []job
				for at, a := range answers {
					if a.Task.IsZero() {
						mine = append(mine, jobs[at])
					} else {
						taken[i]++
					}
				}
				if len(mine) == 0 {
					return nil
				}
				return insert(ctx, tx, mine...)
			})
			if err != nil {
				p.Error(err)
			}
		})
	}
	wg.Wait()
	p.equal("keys that were guarded already when they were asked for", taken[0]+taken[1], n)
	p.equal("transactions that had to be run again", runs, [2]int{1, 1})
}
