package scenario_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

var outageConfig = settings.Config{OutageBreaker: settings.OutageBreaker{Enabled: settings.On, Failures: 20,
	Within: time.Hour, ProbeInterval: 10 * time.Second, MaxProbeInterval: 10 * time.Second}}

// stepClock is a running clock that a test puts forward; nodes agree on its times.
type stepClock struct{ ahead atomic.Int64 }

func (c *stepClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *stepClock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

func outageNodes(t *testing.T, k kind, c *stepClock) (nodes []*engine.Engine, stores []engine.Database) {
	t.Helper()
	if k.name == "postgres" {
		dsn := postgrestest.DSN(t)
		for range 2 {
			s, err := postgres.Open(t.Context(), dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closeStore(t, s) })
			stores = append(stores, s)
		}
	} else {
		s, _ := k.open(t)
		stores = append(stores, s)
	}
	for _, s := range stores {
		e, err := engine.New(t.Context(), s, engine.Options{Config: outageConfig, Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, e)
	}
	return nodes, stores
}

type probers struct {
	t       *testing.T
	nodes   []*engine.Engine
	workers []task.ID
}

func newProbers(t *testing.T, nodes []*engine.Engine, n int) *probers {
	p := &probers{t: t, nodes: nodes}
	for i := range n {
		w, err := nodes[i%len(nodes)].Register(t.Context(), task.Worker{})
		if err != nil {
			t.Fatal(err)
		}
		p.workers = append(p.workers, w.ID)
	}
	return p
}

func (p *probers) poll(capacity int) (all []engine.Lease) {
	p.t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, w := range p.workers {
		wg.Go(func() {
			leases, _, err := p.nodes[i%len(p.nodes)].Poll(p.t.Context(), w, capacity, 0, true)
			if err != nil {
				p.t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, leases...)
		})
	}
	wg.Wait()
	return all
}

// settle settles each lease on another node than the one before.
func (p *probers) settle(leases []engine.Lease, status engine.ResultStatus) {
	p.t.Helper()
	var wg sync.WaitGroup
	for i, l := range leases {
		wg.Go(func() {
			r := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: status}
			if status == engine.ResultFailed {
				r.Failure = &task.Failure{Message: "down", Retryable: true}
			}
			answers, err := p.nodes[i%len(p.nodes)].Settle(p.t.Context(), []engine.Result{r})
			if err != nil || answers[0].Err != nil {
				p.t.Errorf("settled %+v, %v", answers, err)
			}
		})
	}
	wg.Wait()
	for _, e := range p.nodes {
		if err := e.CountBursts(p.t.Context()); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *probers) follow() {
	p.t.Helper()
	for _, e := range p.nodes {
		if err := errors.Join(e.RefreshPauses(p.t.Context()), e.PollPeers(p.t.Context())); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *probers) only() *task.Outage {
	p.t.Helper()
	list, _, err := p.nodes[0].Outages(p.t.Context(), engine.OutageFilter{Limit: 10})
	if err != nil || len(list) != 1 {
		p.t.Fatalf("there are %d outages, error %v; want one", len(list), err)
	}
	return list[0]
}

// TestOutageRace: workers fail on all nodes and one outage opens, after the configured total. Whenever a probe is
// due, exactly one of all polls gets it. When it succeeds, every node claims the rest.
func TestOutageRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := &stepClock{}
			nodes, _ := outageNodes(t, k, c)
			p := newProbers(t, nodes, 8)
			subs := make([]engine.Submission, 60)
			for i := range subs {
				subs[i] = job
			}
			if _, err := nodes[0].Submit(t.Context(), subs, false); err != nil {
				t.Fatal(err)
			}
			p.follow()
			failing := p.poll(4)
			if len(failing) != 32 {
				t.Fatalf("%d steps were claimed; want 32", len(failing))
			}
			p.settle(failing, engine.ResultFailed)
			p.follow()
			if o := p.only(); o.Failures < 20 || o.Failures > 32 {
				t.Errorf("%d failures opened the outage; want 20 to 32", o.Failures)
			}
			if got := p.poll(4); len(got) != 0 {
				t.Fatalf("%d steps were claimed during the outage", len(got))
			}
			for range 4 {
				c.pass(10 * time.Second)
				probe := p.poll(4)
				if len(probe) != 1 {
					t.Fatalf("%d probes at once", len(probe))
				}
				if got := p.poll(4); len(got) != 0 {
					t.Fatalf("%d steps beside a probe", len(got))
				}
				p.settle(probe, engine.ResultFailed)
			}
			if o := p.only(); !o.Open() || o.Probes != 4 || o.Spared < 4 {
				t.Fatalf("after four probes the outage is %+v", o)
			}
			c.pass(10 * time.Second)
			p.settle(p.poll(4), engine.ResultCompleted)
			if o := p.only(); o.Open() || o.ClosedBy != engine.System {
				t.Fatalf("after a success the outage is %+v", o)
			}
			p.follow()
			if got := p.poll(3); len(got) < 20 {
				t.Errorf("%d steps were claimed after the outage", len(got))
			}
		})
	}
}

// TestProbeOfAKilledProcess: a process killed after it reserved a probe delays the next one by the reservation. A
// process that wakes up later finds its reservation over.
func TestProbeOfAKilledProcess(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := &stepClock{}
			nodes, stores := outageNodes(t, k, c)
			p := newProbers(t, nodes, 3)
			subs := make([]engine.Submission, 30)
			for i := range subs {
				subs[i] = job
			}
			if _, err := nodes[0].Submit(t.Context(), subs, false); err != nil {
				t.Fatal(err)
			}
			p.follow()
			p.settle(p.poll(8), engine.ResultFailed)
			p.follow()
			c.pass(10 * time.Second)
			killed := p.only()
			no := int64(0)
			change := func(fn func(o *task.Outage)) {
				t.Helper()
				if err := stores[0].Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
					o, err := stores[0].OutageStore().LockOutage(ctx, tx, killed.ID)
					if err != nil {
						return err
					}
					fn(o)
					if err := stores[0].OutageStore().SaveOutage(ctx, tx, o); err != nil {
						return err
					}
					return stores[0].NoteStore().Note(ctx, tx, "pauses_version", c.now().String())
				}); err != nil {
					t.Fatal(err)
				}
			}
			change(func(o *task.Outage) { no = o.Reserve(task.At(c.now())) })
			if got := p.poll(8); len(got) != 0 {
				t.Fatalf("%d steps while a probe is reserved", len(got))
			}
			c.pass(16 * time.Second)
			p.follow()
			if got := p.poll(8); len(got) != 1 {
				t.Fatalf("%d probes after the reservation is over", len(got))
			}
			change(func(o *task.Outage) {
				if o.Reserved(no) {
					t.Error("the old reservation is in force")
				}
			})
		})
	}
}

// TestOutageBesidePolls: waiting polls get nothing when the outage opens. A due probe wakes one of them, its success
// the others.
func TestOutageBesidePolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		cfg := outageConfig
		cfg.OutageBreaker.Failures = 1
		w, err := newWorld(t, s, func() engine.Database { return s }, cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := &bubble{w, t, nil}
		p := &probers{t: t, nodes: []*engine.Engine{b.engine}}
		b.submit(job)
		worker := b.register(task.Worker{})
		first := <-b.poll(b.ctx, worker, 1, 0)
		b.want(first, 1, 0)
		polls := []<-chan polled{b.poll(b.ctx, worker, 1, time.Hour), b.poll(b.ctx, worker, 1, time.Hour)}
		p.settle(first.leases, engine.ResultFailed)
		b.submit(job)
		b.submit(job)
		synctest.Wait()
		if n := len(polls[0]) + len(polls[1]); n != 0 {
			t.Fatalf("%d polls came back during the outage", n)
		}
		b.set(start.Add(10 * time.Second))
		b.must(b.upkeep.RunOnce(b.ctx))
		synctest.Wait()
		if n := len(polls[0]) + len(polls[1]); n != 1 {
			t.Fatalf("%d polls came back for the probe", n)
		}
		if len(polls[0]) == 0 {
			polls[0], polls[1] = polls[1], polls[0]
		}
		probe := <-polls[0]
		if probe.err != nil || len(probe.leases) != 1 {
			t.Fatalf("the poll came back with %+v", probe)
		}
		p.settle(probe.leases, engine.ResultCompleted)
		synctest.Wait()
		if got := <-polls[1]; got.err != nil || len(got.leases) != 1 {
			t.Fatalf("after the outage the other poll got %+v", got)
		}
	})
}
