package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RunRaces runs the suite of actions during another process's open transaction, on a store with concurrent
// transactions. None waits for that transaction, which continues only afterwards. open is as for RunCluster.
func RunRaces(t *testing.T, open func(t *testing.T) (a, b Node)) {
	t.Helper()
	runPairs(t, []clusterCase{
		{"LockedRouteHidesNoOther", lockedRouteHidesNoOther},
		{"ExpectKnown", expectKnown},
		{"KeyLockedElsewhere", keyLockedElsewhere},
		{"KeysInOppositeOrder", keysInOppositeOrder},
		{"DropKeysLeavesAKeyBoundAnew", dropKeysLeavesAKeyBoundAnew},
		{"UniqueLockedElsewhere", uniqueLockedElsewhere},
		{"UniqueMoveOfALockedTask", uniqueMoveOfALockedTask},
		{"UniqueInOppositeOrder", uniqueInOppositeOrder},
		{"ForgetWorkersLeavesOneThatComesBack", forgetWorkersLeavesOneThatComesBack},
		{"DeleteFinishedLeavesALockedTask", deleteFinishedLeavesALockedTask},
		{"DeleteFinishedOrCase", deleteFinishedOrCase},
	}, open)
}

// within runs fn in a transaction of one process, and look in one of the other before fn's commit.
func (p *pair) within(fn func(context.Context, engine.Tx) error, look func(context.Context, engine.Tx) error) {
	p.Helper()
	err := p.a.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return p.b.Write(p.Context(), look)
	})
	p.must(err)
}

// A claim holds the lowest keys of all, on one route. A claim on that route and another one finds the other's ready
// steps.
func lockedRouteHidesNoOther(p *pair) {
	x, y := p.routes[0].ID, p.routes[1].ID
	low, high := p.many(10), []job{}
	for range 50 {
		j := p.build(p.single, time.Hour)
		j.steps[0].RouteID = y
		j.steps[0].Queue = y
		high = append(high, j)
	}
	p.insert(high...)
	var found []engine.Work
	p.within(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, []int64{x}, len(low))
		p.equal("steps of the locked route", len(works), len(low))
		return err
	}, func(ctx context.Context, tx engine.Tx) (err error) {
		found, err = tx.Ready(ctx, []int64{x, y}, 10)
		return err
	})
	p.equal("steps of the other route", len(found), 10)
	for _, w := range found {
		p.equal("route", w.Step.Queue, y)
	}
	var vacant bool
	p.must(p.b.Write(p.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
		vacant, err = tx.Vacant(ctx, y)
		return err
	}))
	p.equal("the other route is vacant", vacant, false)
}

// A transaction that relies on a missing or different template or route has no effect.
func expectKnown(p *pair) {
	expect := func(template *task.Template, route *task.Route) error {
		return p.b.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
			if err := tx.ExpectKnown(ctx, map[int64]*task.Template{template.DefID: template},
				map[int64]*task.Route{route.ID: route}); err != nil {
				return err
			}
			return p.b.KeyStore().BindKey(ctx, tx, engine.KeyName{Namespace: "default", Key: "k"},
				engine.Binding{Task: p.b.IDs().Take(p.now.Time(), 1)}, p.now.Add(time.Hour))
		})
	}
	other, gone, elsewhere, unknown := *p.single, *p.single, *p.routes[0], *p.routes[0]
	other.Name, gone.DefID, elsewhere.Handler, unknown.ID = "other", 1<<40, "other", 1<<40
	for what, err := range map[string]error{
		"another template": expect(&other, p.routes[0]), "a template that is gone": expect(&gone, p.routes[0]),
		"another route": expect(p.single, &elsewhere), "a route that is gone": expect(p.single, &unknown),
	} {
		if !errors.Is(err, engine.ErrReplaced) {
			p.Errorf("%s: %v", what, err)
		}
	}
	_, isNew := p.take("default", "k", p.now, p.now.Add(time.Minute))
	p.equal("nothing was stored", isNew, true)
	p.must(expect(p.single, p.routes[0]))
}

func (p *pair) asks(of Node, names ...string) []engine.KeyAsk {
	asks := make([]engine.KeyAsk, len(names))
	for i, n := range names {
		asks[i] = engine.KeyAsk{Name: engine.KeyName{Namespace: "default", Key: n},
			To: engine.Binding{Task: of.IDs().Take(p.now.Time(), 1)}}
	}
	return asks
}

// An impatient process does not wait for a key that an open transaction binds, and its own transaction can continue.
func keyLockedElsewhere(p *pair) {
	expires := p.now.Add(time.Hour)
	var answers []engine.KeyAnswer
	p.within(func(ctx context.Context, tx engine.Tx) error {
		_, err := p.b.KeyStore().TakeKeys(ctx, tx, p.asks(p.a, "x"), p.now, expires, false)
		return err
	}, func(ctx context.Context, tx engine.Tx) (err error) {
		if _, err := p.b.KeyStore().TakeKeys(ctx, tx, p.asks(p.b, "w", "x", "y"), p.now, expires, false); !errors.Is(err,
			engine.ErrKeyLocked) {
			p.Errorf("TakeKeys of a locked key: %v", err)
		}
		answers, err = p.b.KeyStore().TakeKeys(ctx, tx, p.asks(p.b, "w", "y"), p.now, expires, false)
		return err
	})
	p.equal("keys that are not locked", answers, make([]engine.KeyAnswer, 2))
	p.must(p.b.Write(p.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
		answers, err = p.b.KeyStore().TakeKeys(ctx, tx, p.asks(p.b, "x"), p.now, expires, false)
		return err
	}))
	p.equal("taken once it is committed", answers[0].Taken, true)
}

// Two processes bind the same keys in opposite order: one of them gets all.
func keysInOppositeOrder(p *pair) {
	names := make([]string, 200)
	for i := range names {
		names[i] = keyOf(i)
	}
	backward := slices.Clone(names)
	slices.Reverse(backward)
	taken := [2]int{}
	runs := [2]int{}
	var wg sync.WaitGroup
	for i, of := range []Node{p.a, p.b} {
		wg.Go(func() {
			asks := p.asks(of, [][]string{names, backward}[i]...)
			err := of.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
				taken[i], runs[i] = 0, runs[i]+1
				answers, err := p.b.KeyStore().TakeKeys(ctx, tx, asks, p.now, p.now.Add(time.Hour), true)
				for _, a := range answers {
					if a.Taken {
						taken[i]++
					}
				}
				return err
			})
			if err != nil {
				p.Error(err)
			}
		})
	}
	wg.Wait()
	p.equal("keys that were bound already when they were asked for", taken[0]+taken[1], len(names))
	p.equal("transactions that had to be run again", runs, [2]int{1, 1})
}

// An expired key is bound again while another process drops expired keys.
func dropKeysLeavesAKeyBoundAnew(p *pair) {
	p.take("default", "daily", p.now.Add(-time.Hour), p.now.Add(-time.Second))
	var fresh task.ID
	dropped := 0
	p.within(func(ctx context.Context, tx engine.Tx) (err error) {
		fresh, _, err = take(ctx, p.fixture, tx, "default", "daily", p.now, p.now.Add(time.Hour))
		return err
	}, func(ctx context.Context, tx engine.Tx) (err error) {
		dropped, err = p.b.KeyStore().DropKeys(ctx, tx, p.now, 10)
		return err
	})
	p.equal("dropped while it was bound anew", dropped, 0)
	p.must(p.b.Write(p.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
		dropped, err = p.b.KeyStore().DropKeys(ctx, tx, p.now, 10)
		return err
	}))
	p.equal("dropped after that", dropped, 0)
	named, isNew := p.take("default", "daily", p.now, p.now.Add(time.Hour))
	p.equal("new", isNew, false)
	p.equal("bound to", named, fresh)
}

// A dead worker revives while another process forgets the dead.
func forgetWorkersLeavesOneThatComesBack(p *pair) {
	w := &task.Worker{ID: p.store.IDs().Take(p.now.Time(), 1), Name: "w", State: task.WorkerDead, StartedAt: p.now,
		LastHeartbeat: p.now.Add(-40 * 24 * time.Hour)}
	p.write(func(ctx context.Context, tx engine.Tx) error { return tx.SaveWorker(ctx, w) })
	forgotten := 0
	forget := func(ctx context.Context, tx engine.Tx) (err error) {
		forgotten, err = tx.ForgetWorkers(ctx, p.now.Add(-30*24*time.Hour), 10)
		return err
	}
	p.within(func(ctx context.Context, tx engine.Tx) error {
		list, err := tx.Workers(ctx, []int64{w.No})
		if err != nil {
			return err
		}
		list[0].State, list[0].LastHeartbeat = task.WorkerActive, p.now
		return tx.SaveWorker(ctx, list[0])
	}, forget)
	p.equal("forgotten while it came back", forgotten, 0)
	p.must(p.b.Write(p.Context(), forget))
	p.equal("forgotten after that", forgotten, 0)
	got, err := p.a.FindWorker(p.Context(), w.ID)
	p.must(err)
	p.equal("it is there", got != nil, true)
}

var errGone = errors.New("the task is gone")

// keep marks a finished task as having a case, like opening a case.
func keep(id task.ID) func(context.Context, engine.Tx) error {
	return func(ctx context.Context, tx engine.Tx) error {
		k, err := tx.Task(ctx, id)
		if err != nil {
			return err
		}
		if k == nil {
			return errGone
		}
		k.Meta.Case = task.HasPending
		return tx.SaveTasks(ctx, []*task.Task{k})
	}
}

// A case of a finished task is about to be stored while another process deletes old tasks.
func deleteFinishedLeavesALockedTask(p *pair) {
	j := p.one()
	p.finish(j, p.now)
	deleted := 0
	p.within(func(ctx context.Context, tx engine.Tx) error {
		if err := keep(j.task.ID)(ctx, tx); err != nil {
			return err
		}
		_, err := p.b.CaseStore().CasesOf(ctx, tx, []task.ID{j.task.ID}) // a read flushes the saved rows
		return err
	}, func(ctx context.Context, tx engine.Tx) (err error) {
		deleted, err = tx.DeleteFinished(ctx, p.now.Add(time.Hour), afterAllWindows, 10)
		return err
	})
	p.equal("deleted", deleted, 0)
	p.equal("it is there", p.find(j.task.ID) != nil, true)
}

// A case of a finished task is opened while the task is deleted: one of the two happens.
func deleteFinishedOrCase(p *pair) {
	j := p.one()
	p.finish(j, p.now)
	opened := make(chan error, 1)
	p.must(p.b.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
		n, err := tx.DeleteFinished(ctx, p.now.Add(time.Hour), afterAllWindows, 10)
		p.equal("deleted", n, 1)
		go func() { opened <- p.a.Write(p.Context(), keep(j.task.ID)) }()
		return err
	}))
	err := <-opened
	p.equal("the task is there", p.find(j.task.ID) != nil, false)
	p.equal("its case was refused", errors.Is(err, errGone), true)
}
