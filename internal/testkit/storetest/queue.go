package storetest

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func queueCases() []testCase {
	return []testCase{
		{"LowestKeyFirst", lowestKeyFirst},
		{"SameKeyByID", sameKeyByID},
		{"AcrossRoutes", acrossRoutes},
		{"Limit", readyLimit},
		{"NoSuchRoute", readyNoSuchRoute},
		{"OnlyReadySteps", onlyReadySteps},
		{"WithTaskAndContext", readyWithTask},
		{"SeesOwnInsert", readySeesOwnInsert},
		{"SeesOwnSave", readySeesOwnSave},
		{"VacantNeverLies", vacantNeverLies},
		{"SaveSteps", saveSteps},
		{"SaveManyAlike", saveManyAlike},
		{"SaveAnyChange", saveAnyChange},
		{"SaveStepsKeepsWhatIsFixed", saveStepsKeepsWhatIsFixed},
		{"Depth", depth},
		{"First", firstOfQueue},
		{"Parked", parked},
	}
}

// ready returns the IDs of ready steps, and rolls back: a reader of ready steps must take them or roll back.
func (f *fixture) ready(limit int, routes ...int64) []task.ID {
	f.Helper()
	var ids []task.ID
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, routes, limit)
		ids = workIDs(works)
		return err
	})
	return ids
}

// keyed returns a job of one step with a handler and a sort key.
func (f *fixture) keyed(handler string, key int64) job {
	j := f.build(f.single, 0)
	j.steps[0].RouteID = f.routeOf(handler)
	j.steps[0].Queue, j.steps[0].Key = j.steps[0].RouteID, key
	return j
}

func lowestKeyFirst(f *fixture) {
	keys := []int64{500, -3, math.MaxInt64, 0, 499, math.MinInt64, 1}
	jobs := make([]job, len(keys))
	for i, k := range keys {
		jobs[i] = f.keyed("a", k)
	}
	f.insert(jobs...)
	slices.SortFunc(jobs, func(a, b job) int {
		if a.steps[0].Key < b.steps[0].Key {
			return -1
		}
		return 1
	})
	f.equal("order", f.ready(100, f.routes[0].ID), stepIDs(jobs...))
}

func sameKeyByID(f *fixture) {
	jobs := []job{f.keyed("a", 7), f.keyed("a", 7), f.keyed("a", 7)}
	f.insert(jobs[2], jobs[0], jobs[1])
	f.equal("order", f.ready(100, f.routes[0].ID), stepIDs(jobs...))
}

func acrossRoutes(f *fixture) {
	a1, b2, a3, c4, b5 := f.keyed("a", 1), f.keyed("b", 2), f.keyed("a", 3), f.keyed("c", 4), f.keyed("b", 5)
	tieB, tieA := f.keyed("b", 9), f.keyed("a", 9)
	f.insert(b5, a3, tieA, c4, a1, tieB, b2)
	a, b, c := f.routes[0].ID, f.routes[1].ID, f.routes[2].ID
	f.equal("all routes", f.ready(100, c, a, b), stepIDs(a1, b2, a3, c4, b5, tieB, tieA))
	f.equal("the first three", f.ready(3, a, b, c), stepIDs(a1, b2, a3))
	f.equal("two routes", f.ready(100, b, a), stepIDs(a1, b2, a3, b5, tieB, tieA))
	f.equal("one route", f.ready(100, c), stepIDs(c4))
}

func readyLimit(f *fixture) {
	jobs := f.many(50)
	a := f.routes[0].ID
	for _, limit := range []int{1, 2, 49, 50, 51, 1000} {
		f.equal("order", f.ready(limit, a), stepIDs(jobs[:min(limit, 50)]...))
	}
}

func readyNoSuchRoute(f *fixture) {
	j := f.one()
	f.equal("no route", f.ready(10), []task.ID(nil))
	f.equal("unknown route", f.ready(10, 987_654), []task.ID(nil))
	f.equal("one known, one not", f.ready(10, 987_654, f.routes[0].ID), stepIDs(j))
}

func onlyReadySteps(f *fixture) {
	jobs := f.many(7)
	f.move(jobs[0], func(s *task.Step) error { return s.Assign(1, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[1], func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[2], func(s *task.Step) error { return s.Exhaust(f.now) })
	f.move(jobs[3], func(s *task.Step) error { return s.Succeed(f.now, nil) })
	f.move(jobs[4], func(s *task.Step) error { return s.Cancel(f.now) })
	f.move(jobs[5], func(s *task.Step) error {
		if err := s.Claim(1, f.now, f.now.Add(time.Minute)); err != nil {
			return err
		}
		return s.Postpone(f.now, f.now.Add(time.Hour), task.Scheduling{})
	})
	f.equal("ready", f.ready(100, f.routes[0].ID), stepIDs(jobs[6]))

	back := jobs[2]
	f.move(back, func(s *task.Step) error { return s.Reset(f.now) })
	f.equal("ready after a reset, before the timers", f.ready(100, f.routes[0].ID), stepIDs(jobs[6]))
	f.move(back, func(s *task.Step) error { return s.Enqueue(f.now.Add(-time.Hour), task.Scheduling{}) })
	f.equal("ready after a reset", f.ready(100, f.routes[0].ID), stepIDs(back, jobs[6]))
}

func readyWithTask(f *fixture) {
	j := full(f)
	wide := f.build(f.single, time.Second)
	f.insert(j, wide)
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, []int64{f.routes[0].ID}, 10)
		f.equal("works", works, []engine.Work{{Step: j.steps[0], Task: j.task}, {Step: wide.steps[0], Task: wide.task}})
		return err
	})
}

func readySeesOwnInsert(f *fixture) {
	early, late := f.keyed("a", 1), f.keyed("a", 3)
	f.insert(early, late)
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		fresh := f.keyed("a", 2)
		if err := insert(ctx, tx, fresh); err != nil {
			return err
		}
		works, err := tx.Ready(ctx, []int64{f.routes[0].ID}, 10)
		f.equal("order", workIDs(works), stepIDs(early, fresh, late))
		return err
	})
}

// A batch of claims is one transaction: the second must not see the first's steps.
func readySeesOwnSave(f *fixture) {
	jobs := f.many(5)
	routes := []int64{f.routes[0].ID}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		var claimed []task.ID
		for range 3 {
			works, err := tx.Ready(ctx, routes, 2)
			if err != nil {
				return err
			}
			claimed = append(claimed, workIDs(works)...)
			for _, w := range works {
				if err := w.Step.Claim(1, f.now, f.now.Add(time.Minute)); err != nil {
					return err
				}
				if err := tx.SaveSteps(ctx, []*task.Step{w.Step}); err != nil {
					return err
				}
			}
		}
		f.equal("claimed", claimed, stepIDs(jobs...))
		return nil
	})
	f.equal("left", f.ready(10, routes...), []task.ID(nil))
}

// A store may be unsure about an empty route; it must not report a route with ready steps as vacant.
func vacantNeverLies(f *fixture) {
	a := f.routes[0].ID
	occupied := func(when string) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			vacant, err := tx.Vacant(ctx, a)
			f.equal("vacant "+when, vacant, false)
			return err
		})
	}
	take := func(fn func(ctx context.Context, tx engine.Tx, steps []*task.Step) error) error {
		return f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
			works, err := tx.Ready(ctx, []int64{a}, 2)
			if err != nil {
				return err
			}
			var steps []*task.Step
			for _, w := range works {
				if err := w.Step.Claim(1, f.now, f.now.Add(time.Minute)); err != nil {
					return err
				}
				steps = append(steps, w.Step)
			}
			return fn(ctx, tx, steps)
		})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := insert(ctx, tx, f.keyed("a", 1), f.keyed("a", 2), f.keyed("a", 3)); err != nil {
			return err
		}
		vacant, err := tx.Vacant(ctx, a)
		f.equal("vacant in the transaction that inserts", vacant, false)
		return err
	})
	occupied("with three steps")
	f.must(take(func(ctx context.Context, tx engine.Tx, steps []*task.Step) error { return tx.SaveSteps(ctx, steps) }))
	occupied("with one left")
	if err := take(func(context.Context, engine.Tx, []*task.Step) error { return errBoom }); err == nil {
		f.Error("no error")
	}
	occupied("when the last was not taken after all")
	f.must(take(func(ctx context.Context, tx engine.Tx, steps []*task.Step) error {
		if err := tx.SaveSteps(ctx, steps); err != nil {
			return err
		}
		if err := steps[0].Postpone(f.now, 0, task.Scheduling{}); err != nil {
			return err
		}
		if err := tx.SaveSteps(ctx, steps); err != nil {
			return err
		}
		vacant, err := tx.Vacant(ctx, a)
		f.equal("vacant in the transaction that gives back", vacant, false)
		return err
	}))
	occupied("when it was given back")
}

func saveSteps(f *fixture) {
	j := f.build(f.diamond, 0)
	f.insert(j)
	s := j.steps[0]
	f.must(s.Claim(7, f.now, f.now.Add(time.Minute)))
	s.Priority, s.MaxAttempts, s.Timeout = 99, 9, 77*time.Second
	s.Progress, s.Note, s.Result = 42, "on my way", []byte(`{"half":true}`)
	s.FinishedAt = f.now.Add(time.Second)
	f.write(func(ctx context.Context, tx engine.Tx) error { return tx.SaveSteps(ctx, []*task.Step{s}) })
	f.wantJob(j)

	f.must(s.Succeed(f.now.Add(2*time.Second), []byte(`{"done":true}`)))
	j.task.Moved(task.StepInProgress, task.StepComplete, f.now)
	for _, c := range j.steps[1:3] {
		c.OpenParents--
		f.must(c.Enqueue(f.now, task.Scheduling{}))
		j.task.Moved(task.StepPending, task.StepEnqueued, f.now)
	}
	f.write(j.save)
	f.wantJob(j)
}

// A store may save rows together that change alike.
func saveManyAlike(f *fixture) {
	jobs := f.many(150)
	save := func(change func(i int, j job)) {
		f.Helper()
		var tasks []*task.Task
		var steps []*task.Step
		for i, j := range jobs {
			was := j.steps[0].State
			change(i, j)
			j.task.Moved(was, j.steps[0].State, f.now)
			tasks, steps = append(tasks, j.task), append(steps, j.steps...)
		}
		f.write(func(ctx context.Context, tx engine.Tx) error {
			if err := tx.SaveTasks(ctx, tasks); err != nil {
				return err
			}
			return tx.SaveSteps(ctx, steps)
		})
		f.wantWork(jobs...)
		for _, j := range jobs {
			f.wantJob(j)
		}
	}
	save(func(i int, j job) { f.must(j.steps[0].Claim(int64(1+i%2), f.now, f.now.Add(time.Minute))) })
	save(func(i int, j job) { j.steps[0].Renew(f.now.Add(time.Duration(1+i%70) * time.Second)) })
	save(func(i int, j job) {
		switch i % 4 {
		case 0:
			f.must(j.steps[0].Succeed(f.now, []byte("1")))
		case 1:
			f.must(j.steps[0].Exhaust(f.now))
		default:
			f.must(j.steps[0].Succeed(f.now, nil))
		}
	})
}

// A store may write only changed fields. Here anything changes together with any move of a step.
func saveAnyChange(f *fixture) {
	until := f.now.Add(time.Minute)
	moves := []func(s *task.Step) error{
		func(s *task.Step) error { return s.Claim(2, f.now, until) },
		func(s *task.Step) error { return s.Assign(2, f.now, until) },
		func(s *task.Step) error { s.Renew(until + 1); return nil },
		func(s *task.Step) error { return s.Postpone(f.now, 0, task.Scheduling{}) },
		func(s *task.Step) error { return s.Postpone(f.now, until, task.Scheduling{}) },
		func(s *task.Step) error { return s.Succeed(f.now, []byte("1")) },
		func(s *task.Step) error { return s.Exhaust(f.now) },
	}
	tweaks := []func(s *task.Step){
		func(*task.Step) {},
		func(s *task.Step) { s.OpenParents++ },
		func(s *task.Step) { s.Priority++ },
		func(s *task.Step) { s.Attempts += 2 },
		func(s *task.Step) { s.MaxAttempts++ },
		func(s *task.Step) { s.Timeout += time.Second },
		func(s *task.Step) { s.Token += 5 },
		func(s *task.Step) { s.WorkerNo = 9 },
		func(s *task.Step) { s.ReadyAt++ },
		func(s *task.Step) { s.AssignedAt++ },
		func(s *task.Step) { s.StartedAt++ },
		func(s *task.Step) { s.FinishedAt++ },
		func(s *task.Step) { s.Progress, s.Note = 50, "note" },
		func(s *task.Step) { s.Result = []byte("2") },
		func(s *task.Step) { s.Result = nil },
	}
	for m := range moves {
		for _, tweak := range tweaks {
			j := f.one()
			if m >= 2 { // the rest needs a step held by a worker
				f.move(j, func(s *task.Step) error {
					s.Result = []byte("0")
					return s.Claim(1, f.now, until)
				})
			}
			f.move(j, func(s *task.Step) error {
				if err := moves[m](s); err != nil {
					return err
				}
				tweak(s)
				return nil
			})
			f.wantJob(j)
			f.wantWork(j)
		}
	}
}

func saveStepsKeepsWhatIsFixed(f *fixture) {
	j, other := f.build(f.diamond, 0), f.build(f.single, 0)
	f.insert(j, other)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		changed := *j.steps[1]
		changed.TaskID, changed.Ordinal, changed.DefID, changed.RouteID = other.task.ID, 9, f.single.DefID, f.routes[0].ID
		return tx.SaveSteps(ctx, []*task.Step{&changed})
	})
	f.wantJob(j)
	f.wantJob(other)
}

func depth(f *fixture) {
	one, two := f.keyed("a", 2), f.keyed("a", 2) // the ID of one is lower
	f.insert(f.keyed("a", 1), one, two, f.keyed("a", 5), f.keyed("b", 1))
	for _, c := range []struct {
		name         string
		queue, below int64
		limit        int
		want         int
	}{
		{"all", f.routes[0].ID, math.MaxInt64, 100, 4},
		{"exclusive", f.routes[0].ID, 2, 100, 1},
		{"below", f.routes[0].ID, 3, 100, 3},
		{"limit", f.routes[0].ID, 100, 2, 2},
		{"another route", f.routes[1].ID, 100, 100, 1},
		{"empty", f.routes[2].ID, 100, 100, 0},
		{"unknown", 987_654, 100, 100, 0},
	} {
		got, err := f.store.QueueStore().Depth(f.Context(), c.queue, c.below, task.ID{}, c.limit)
		f.must(err)
		f.equal(c.name, got, c.want)
	}
	for want, j := range []job{one, two} {
		got, err := f.store.QueueStore().Depth(f.Context(), f.routes[0].ID, 2, j.steps[0].ID, 100)
		f.must(err)
		f.equal("before equals", got, want+1)
	}
	a, b := f.routes[0].ID, f.routes[1].ID
	for _, c := range []struct {
		name   string
		routes []int64
		below  int64
		limit  int
		want   int
	}{
		{"of two routes", []int64{a, b}, math.MaxInt64, 100, 5},
		{"in any order, and with unknown ones", []int64{987_654, b, a}, 2, 100, 2},
		{"of one", []int64{b}, math.MaxInt64, 100, 1},
		{"up to a limit", []int64{a, b}, math.MaxInt64, 3, 3},
	} {
		got, err := f.store.QueueStore().Ahead(f.Context(), c.routes, c.below, task.ID{}, c.limit)
		f.must(err)
		f.equal("ahead: "+c.name, got, c.want)
	}
	got, err := f.store.QueueStore().Ahead(f.Context(), []int64{a, b}, 2, two.steps[0].ID, 100)
	f.must(err)
	f.equal("ahead of an equal", got, 3)
}

func firstOfQueue(f *fixture) {
	one, two, five, other := f.keyed("a", 1), f.keyed("a", 2), f.keyed("a", 5), f.keyed("b", 1)
	f.insert(five, two, one, other)
	for _, c := range []struct {
		name        string
		queue, from int64
		want        *task.Step
	}{
		{"all", f.routes[0].ID, 0, one.steps[0]},
		{"inclusive", f.routes[0].ID, 2, two.steps[0]},
		{"between", f.routes[0].ID, 3, five.steps[0]},
		{"behind the last", f.routes[0].ID, 6, nil},
		{"another route", f.routes[1].ID, 0, other.steps[0]},
		{"empty", f.routes[2].ID, 0, nil},
		{"unknown", 987_654, 0, nil},
	} {
		got, err := f.store.QueueStore().First(f.Context(), c.queue, c.from)
		f.must(err)
		f.equal(c.name, got, c.want)
	}
}
