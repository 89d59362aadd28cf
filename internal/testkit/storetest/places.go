package storetest

import (
	"context"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func placeCases() []testCase {
	return []testCase{
		{"Between", between},
		{"BetweenTies", betweenTies},
		{"AnotherKey", anotherKey},
		{"LeftInPlace", leftInPlace},
		{"LeftAndTakenNext", leftAndTakenNext},
		{"AgedOrder", agedOrder},
	}
}

func (f *fixture) between(route int64, after engine.Position, upTo int64, limit int) []task.ID {
	f.Helper()
	var ids []task.ID
	f.write(func(ctx context.Context, tx engine.Tx) error {
		steps, err := tx.Between(ctx, route, after, upTo, limit)
		ids = nil
		for _, s := range steps {
			ids = append(ids, s.ID)
		}
		return err
	})
	return ids
}

func between(f *fixture) {
	one, two, five, other := f.keyed("a", 1), f.keyed("a", 2), f.keyed("a", 5), f.keyed("b", 2)
	f.insert(five, two, one, other)
	a := f.routes[0].ID
	all := engine.Position{Key: math.MinInt64}
	for _, c := range []struct {
		name  string
		route int64
		after engine.Position
		upTo  int64
		limit int
		want  []task.ID
	}{
		{"all", a, all, math.MaxInt64, 10, stepIDs(one, two, five)},
		{"limit", a, all, math.MaxInt64, 2, stepIDs(one, two)},
		{"up to a key", a, all, 2, 10, stepIDs(one, two)},
		{"behind a step", a, engine.Position{Key: 1, ID: one.steps[0].ID}, math.MaxInt64, 10, stepIDs(two, five)},
		{"from a key", a, engine.Position{Key: 2}, 4, 10, stepIDs(two)},
		{"nothing between", a, engine.Position{Key: 3}, 4, 10, nil},
		{"another route", f.routes[1].ID, all, math.MaxInt64, 10, stepIDs(other)},
		{"unknown", 987_654, all, math.MaxInt64, 10, nil},
	} {
		f.equal(c.name, f.between(c.route, c.after, c.upTo, c.limit), c.want)
	}
}

// A batch of submissions has one key. Paging through the queue must neither loop there nor miss a step.
func betweenTies(f *fixture) {
	var jobs []job
	for range 7 {
		jobs = append(jobs, f.keyed("a", 3))
	}
	f.insert(jobs...)
	var got []task.ID
	place := engine.Position{Key: math.MinInt64}
	for range jobs {
		ids := f.between(f.routes[0].ID, place, math.MaxInt64, 2)
		got = append(got, ids...)
		if len(ids) < 2 {
			break
		}
		place = engine.Position{Key: 3, ID: ids[1]}
	}
	f.equal("two at a time", got, stepIDs(jobs...))
}

// A ready step may move before or behind others.
func anotherKey(f *fixture) {
	jobs := f.many(4)
	a := f.routes[0].ID
	f.equal("order", f.ready(10, a), stepIDs(jobs...))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		steps, err := tx.Between(ctx, a, engine.Position{Key: math.MinInt64}, math.MaxInt64, 10)
		if err != nil {
			return err
		}
		steps[3].Key = steps[0].Key - 1
		steps[1].Key = steps[2].Key + 1
		return tx.SaveSteps(ctx, []*task.Step{steps[1], steps[3]})
	})
	f.equal("new order", f.ready(10, a), stepIDs(jobs[3], jobs[0], jobs[2], jobs[1]))
}

// A reader of ready steps need not take all.
func leftInPlace(f *fixture) {
	jobs := f.many(5)
	a := f.routes[0].ID
	take := func(n int) (taken []task.ID) {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Ready(ctx, []int64{a}, 10)
			if err != nil {
				return err
			}
			taken = workIDs(works[:n])
			return claimAll(ctx, f, tx, works[:n])
		})
		return taken
	}
	vacant := func() (vacant bool) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			vacant, err = tx.Vacant(ctx, a)
			return err
		})
		return vacant
	}
	f.equal("the first two", take(2), stepIDs(jobs[:2]...))
	f.equal("vacant with three left", vacant(), false)
	f.equal("none of three", take(0), []task.ID(nil))
	f.equal("vacant with none taken", vacant(), false)
	f.equal("what is left", f.ready(10, a), stepIDs(jobs[2:]...))
	f.equal("the next two", take(2), stepIDs(jobs[2:4]...))
	f.equal("the last", take(1), stepIDs(jobs[4]))
	f.equal("nothing", f.ready(10, a), []task.ID(nil))
}

// Remaining steps are there for the same transaction's next read.
func leftAndTakenNext(f *fixture) {
	jobs := f.many(4)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		routes := []int64{f.routes[0].ID}
		works, err := tx.Ready(ctx, routes, 10)
		if err != nil {
			return err
		}
		if err := claimAll(ctx, f, tx, works[:1]); err != nil {
			return err
		}
		works, err = tx.Ready(ctx, routes, 10)
		f.equal("the rest", workIDs(works), stepIDs(jobs[1:]...))
		return err
	})
}

func claimAll(ctx context.Context, f *fixture, tx engine.Tx, works []engine.Work) error {
	var steps []*task.Step
	for _, w := range works {
		if err := w.Step.Claim(1, f.now, f.now.Add(time.Minute)); err != nil {
			return err
		}
		steps = append(steps, w.Step)
	}
	if len(steps) == 0 {
		return nil
	}
	return tx.SaveSteps(ctx, steps)
}

// With aging, a step that becomes ready later may precede steps that were taken just now. A store that remembers its
// position in a queue must not miss it.
func agedOrder(f *fixture) {
	order := task.Scheduling{Mode: task.Aging, AgingWeight: time.Minute}
	now := task.At(time.Now())
	ready := func(level int, at task.Instant) job {
		j := f.build(f.single, 0)
		s := j.steps[0]
		s.Priority, s.ReadyAt, s.Key = level, at, order.Key(level, at)
		f.insert(j)
		return j
	}
	for round := range 5 {
		at := now.Add(time.Duration(round) * time.Second)
		low, high, middle := ready(10, at), ready(90, at+1), ready(50, at+2)
		var got []task.ID
		for range 3 {
			var ids []task.ID
			f.write(func(ctx context.Context, tx engine.Tx) error {
				works, err := tx.Ready(ctx, []int64{f.routes[0].ID}, 1)
				if err != nil {
					return err
				}
				ids = workIDs(works)
				return claimAll(ctx, f, tx, works)
			})
			got = append(got, ids...)
		}
		f.equal("order", got, stepIDs(high, middle, low))
	}
}
