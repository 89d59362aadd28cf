package storetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func registryCases() []testCase {
	return []testCase{
		{"Routes", routes},
		{"RouteAgain", routeAgain},
		{"RoutesInPages", routesInPages},
		{"FindRoute", findRoute},
		{"CountTypes", countTypes},
		{"WorkerRoundTrip", workerRoundTrip},
		{"WorkerUpdate", workerUpdate},
		{"WorkerInTransaction", workerInTransaction},
		{"WorkersSince", workersSince},
		{"ForgetWorkers", forgetWorkers},
		{"WorkersInPages", workersInPages},
		{"WorkerNumbersAreNotReused", workerNumbers},
	}
}

func (f *fixture) findRoutes() []*task.Route {
	f.Helper()
	list, err := f.store.Routes(f.Context())
	f.must(err)
	slices.SortFunc(list, func(a, b *task.Route) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func routes(f *fixture) {
	want := f.routes[:]
	for _, r := range []*task.Route{
		{Namespace: "default", Handler: "a", Capabilities: []string{"gpu"}},
		{Namespace: "default", Handler: "a", Capabilities: []string{"gpu", "net"}},
		{Namespace: "default", Handler: "a", Capabilities: []string{"gpu net"}},
		{Namespace: "other", Handler: "a"},
		{Namespace: hostile()[0], Handler: hostile()[1], Capabilities: []string{hostile()[2], hostile()[3]}},
	} {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			r.ID = 0
			return tx.InsertRoute(ctx, r)
		})
		want = append(want, r)
	}
	for _, r := range want {
		if r.ID <= 0 {
			f.Errorf("the route %+v got an ID that is not positive", *r)
		}
	}
	f.equal("routes", f.findRoutes(), want)
}

func routeAgain(f *fixture) {
	before := f.findRoutes()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		again := &task.Route{Namespace: "default", Handler: "b"}
		err := tx.InsertRoute(ctx, again)
		f.equal("ID", again.ID, f.routes[1].ID)
		return err
	})
	f.equal("routes", f.findRoutes(), before)
}

func routesInPages(f *fixture) {
	want := f.findRoutes()
	var got []*task.Route
	for last := int64(0); ; last = got[len(got)-1].ID {
		page, err := f.store.RoutesAfter(f.Context(), last, 1)
		f.must(err)
		if len(page) == 0 {
			break
		}
		if len(page) > 1 {
			f.Fatalf("a page of 1 has %d routes", len(page))
		}
		got = append(got, page...)
	}
	f.equal("routes, page by page", got, want)
}

func findRoute(f *fixture) {
	with := &task.Route{Namespace: "default", Handler: "a", Capabilities: []string{"gpu"}}
	f.write(func(ctx context.Context, tx engine.Tx) error { return tx.InsertRoute(ctx, with) })
	for _, want := range []*task.Route{f.routes[0], with} {
		got, err := f.store.FindRoute(f.Context(), task.Route{Namespace: want.Namespace, Handler: want.Handler,
			Capabilities: want.Capabilities})
		f.must(err)
		f.equal("route", got, want)
	}
	for _, other := range []task.Route{{Namespace: "default", Handler: "none"}, {Namespace: "none", Handler: "a"},
		{Namespace: "default", Handler: "a", Capabilities: []string{"net"}}} {
		if got, err := f.store.FindRoute(f.Context(), other); err != nil || got != nil {
			f.Errorf("the route %+v: %+v, %v; want none", other, got, err)
		}
	}
}

func countTypes(f *fixture) {
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, handler := range []string{"x", "y", "z"} {
			if err := tx.InsertRoute(ctx, &task.Route{Namespace: "counted", Handler: handler}); err != nil {
				return err
			}
			if _, err := tx.InsertTemplate(ctx, task.Adhoc("counted", handler)); err != nil {
				return err
			}
		}
		return tx.InsertRoute(ctx, &task.Route{Namespace: "counted", Handler: "x", Capabilities: []string{"gpu"}})
	})
	for _, c := range []struct {
		namespace             string
		limit, routes, adhocs int
	}{{"counted", 100, 4, 3}, {"counted", 2, 2, 2}, {"nobody", 100, 0, 0}} {
		routes, err := f.store.CountRoutes(f.Context(), c.namespace, c.limit)
		f.must(err)
		adhocs, err := f.store.CountAdhoc(f.Context(), c.namespace, c.limit)
		f.must(err)
		if routes != c.routes || adhocs != c.adhocs {
			f.Errorf("in %q, up to %d: %d routes and %d handlers; want %d and %d", c.namespace, c.limit, routes, adhocs,
				c.routes, c.adhocs)
		}
	}
}

// worker returns an unstored worker with every field set.
func (f *fixture) worker(name string) *task.Worker {
	return &task.Worker{ID: f.store.IDs().Take(f.now.Time(), 1), Name: name, State: task.WorkerActive,
		Namespaces: []string{"default", "other"},
		Handlers:   []string{"a", "b"}, Capabilities: []string{"gpu", "net"}, Capacity: 5, Load: 2, Host: "host-1",
		Version:   "1.2.3",
		StartedAt: f.now.Add(-time.Hour), LastHeartbeat: f.now,
		HealthURL: "http://10.0.0.7:8090", ProbeFailures: 1, ProbeError: "no answer within 5s", BrokenAt: f.now - 1,
		Transport: task.TransportAMQP, CordonedAt: f.now - 2, CordonedBy: "ann", CordonReason: "disk full",
		DrainedAt: f.now - 3, DrainedBy: "bob", DrainReason: "a new kernel"}
}

func (f *fixture) saveWorkers(list ...*task.Worker) {
	f.Helper()
	saved := make([]task.Worker, len(list))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for i, w := range list {
			saved[i] = *w
			if err := tx.SaveWorker(ctx, &saved[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for i, w := range list {
		w.No = saved[i].No
	}
}

// wantWorker compares a worker with the committed one, found both ways.
func (f *fixture) wantWorker(w *task.Worker) {
	f.Helper()
	got, err := f.store.FindWorker(f.Context(), w.ID)
	f.must(err)
	f.equal("worker by ID", got, w)
	got, err = f.store.FindWorkerByNo(f.Context(), w.No)
	f.must(err)
	f.equal("worker by number", got, w)
}

func workerRoundTrip(f *fixture) {
	rich, bare, odd := f.worker("rich"), &task.Worker{ID: f.store.IDs().Take(f.now.Time(), 1), State: task.WorkerActive},
		f.worker(hostile()[0])
	odd.Handlers, odd.Host, odd.Version = hostile()[:5], hostile()[1], hostile()[3]
	f.saveWorkers(rich, bare, odd)
	numbers := map[int64]bool{}
	for _, w := range []*task.Worker{rich, bare, odd} {
		if w.No <= 0 || numbers[w.No] {
			f.Errorf("worker %s got the number %d", w.Name, w.No)
		}
		numbers[w.No] = true
		f.wantWorker(w)
	}
	none := (*task.Worker)(nil)
	got, err := f.store.FindWorker(f.Context(), f.store.IDs().Take(f.now.Time(), 1))
	f.must(err)
	f.equal("unknown ID", got, none)
	got, err = f.store.FindWorkerByNo(f.Context(), 987_654)
	f.must(err)
	f.equal("unknown number", got, none)
}

func workerUpdate(f *fixture) {
	w, other := f.worker("w"), f.worker("other")
	f.saveWorkers(w, other)
	w.State, w.Load, w.LastHeartbeat = task.WorkerDraining, 4, f.now.Add(time.Minute)
	f.saveWorkers(w)
	f.wantWorker(w)
	w.State, w.ProbeFailures, w.ProbeError, w.BrokenAt = task.WorkerUnhealthy, 2, "status 503", f.now
	f.saveWorkers(w)
	f.wantWorker(w)
	w.State, w.ProbeFailures, w.ProbeError, w.BrokenAt = task.WorkerActive, 0, "", 0
	f.saveWorkers(w)
	f.wantWorker(w)
	w.CordonedAt, w.CordonedBy, w.CordonReason = 0, "", ""
	f.saveWorkers(w)
	f.wantWorker(w)
	w.CordonedAt, w.CordonedBy, w.CordonReason = f.now, hostile()[2], hostile()[3]
	w.DrainedAt, w.DrainedBy, w.DrainReason = f.now, hostile()[3], hostile()[2]
	f.saveWorkers(w)
	f.wantWorker(w)
	f.wantWorker(other)
}

// A transaction sees its own and earlier changes of workers.
func workerInTransaction(f *fixture) {
	v, w, other := f.worker("v"), f.worker("w"), f.worker("other")
	f.saveWorkers(v, other, w)
	nos := []int64{v.No, w.No, 987_654}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Workers(ctx, nos)
		if err != nil {
			return err
		}
		f.equal("stored", got, []*task.Worker{v, w})
		for _, w := range got {
			w.Load++
			if err := tx.SaveWorker(ctx, w); err != nil {
				return err
			}
		}
		again, err := tx.Workers(ctx, nos)
		f.equal("saved", again, got)
		if err != nil {
			return err
		}
		none, err := tx.Workers(ctx, []int64{987_654})
		f.equal("unknown number", len(none), 0)
		return err
	})
	v.Load++
	w.Load++
	for _, w := range []*task.Worker{v, w, other} {
		f.wantWorker(w)
	}
}

func workersSince(f *fixture) {
	active, draining, dead, long := f.worker("active"), f.worker("draining"), f.worker("dead"), f.worker("long dead")
	draining.State, dead.State, long.State = task.WorkerDraining, task.WorkerDead, task.WorkerDead
	active.LastHeartbeat, draining.LastHeartbeat, long.LastHeartbeat = f.now.Add(-48*time.Hour), f.now.Add(-48*time.Hour),
		f.now-1
	f.saveWorkers(active, draining, dead, long)
	got, err := f.store.Workers(f.Context(), f.now)
	f.must(err)
	slices.SortFunc(got, func(a, b *task.Worker) int { return cmp.Compare(a.No, b.No) })
	f.equal("workers", got, []*task.Worker{active, draining, dead})
}

func workersInPages(f *fixture) {
	active, dead, long, last := f.worker("active"), f.worker("dead"), f.worker("long dead"), f.worker("last")
	dead.State, long.State = task.WorkerDead, task.WorkerDead
	long.LastHeartbeat = f.now - 1
	f.saveWorkers(active, dead, long, last)
	page := func(behind int64, limit int) []*task.Worker {
		got, err := f.store.ListWorkers(f.Context(), f.now, behind, limit)
		f.must(err)
		return got
	}
	f.equal("all", page(0, 10), []*task.Worker{active, dead, last})
	f.equal("the first two", page(0, 2), []*task.Worker{active, dead})
	f.equal("behind them", page(dead.No, 2), []*task.Worker{last})
	f.equal("behind all", len(page(last.No, 2)), 0)
	for limit, want := range map[int]int{3: 3, 4: 4, 100: 4} {
		n, err := f.store.CountWorkers(f.Context(), limit)
		f.must(err)
		f.equal("workers counted", n, want)
	}
	for name, want := range map[string]bool{"long dead": true, "nobody": false} {
		known, err := f.store.KnowsWorker(f.Context(), name, active.Host)
		f.must(err)
		f.equal("known: "+name, known, want)
	}
	known, err := f.store.KnowsWorker(f.Context(), "active", "elsewhere")
	f.must(err)
	f.equal("known on another host", known, false)
}

func (f *fixture) forget(before task.Instant, limit int) (n int) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		n, err = tx.ForgetWorkers(ctx, before, limit)
		return err
	})
	return n
}

func forgetWorkers(f *fixture) {
	alive := f.worker("alive")
	alive.LastHeartbeat = f.now.Add(-100 * time.Hour)
	f.saveWorkers(alive)
	for i := range 4 {
		w := f.worker("dead")
		w.State, w.LastHeartbeat = task.WorkerDead, f.now.Add(time.Duration(i)*time.Hour)
		f.saveWorkers(w)
	}
	f.equal("at the time of the first", f.forget(f.now, 10), 0)
	f.equal("with a limit", f.forget(f.now.Add(2*time.Hour)+1, 2), 2)
	f.equal("the rest", f.forget(f.now.Add(2*time.Hour)+1, 2), 1)
	f.equal("nothing more", f.forget(f.now.Add(2*time.Hour)+1, 2), 0)
	left, err := f.store.Workers(f.Context(), 1)
	f.must(err)
	f.equal("left", len(left), 2)
	f.wantWorker(alive)
}

// Attempts refer to workers by number, so a forgotten worker's number must not be reused.
func workerNumbers(f *fixture) {
	old := f.worker("old")
	old.State = task.WorkerDead
	f.saveWorkers(old)
	f.equal("forgotten", f.forget(f.now+1, 10), 1)
	young := f.worker("young")
	f.saveWorkers(young)
	if young.No == old.No {
		f.Errorf("the number %d was given out again", old.No)
	}
}
