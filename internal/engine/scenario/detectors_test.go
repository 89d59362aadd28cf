package scenario_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// meeting is where detectors wait for each other.
type meeting struct{ all sync.WaitGroup }

// attending waits, after a detector has found stale tasks, until the others have found them too.
type attending struct {
	engine.Database
	at   *meeting
	once sync.Once
}

func (a *attending) WatchStore() engine.WatchStore {
	return attendingWatches{a.Database.WatchStore(), a}
}

type attendingWatches struct {
	engine.WatchStore
	of *attending
}

func (a attendingWatches) Watches(ctx context.Context, behind engine.Watch, until task.Instant,
	limit int,
) ([]engine.Watch, error) {
	found, err := a.WatchStore.Watches(ctx, behind, until, limit)
	a.of.once.Do(func() {
		a.of.at.all.Done()
		a.of.at.all.Wait()
	})
	return found, err
}

// Nodes that find the same stale tasks act on each once.
func TestNodesDetectAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	open := func(seed uint64) engine.Database {
		t.Helper()
		store, err := postgres.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, store) })
		return sameIDs{store, task.NewSource(seed, 0)}
	}
	first := open(1)
	s := newStalled(t, kind{"postgres", func(*testing.T) (engine.Database, func() engine.Database) {
		return first, func() engine.Database { return first }
	}})
	const nodes, tasks = 3, 24
	ids := s.stall(tasks)
	at := &meeting{}
	at.all.Add(nodes)
	done := make([][]engine.Detected, nodes)
	var all sync.WaitGroup
	for i := range nodes {
		e := s.another(&attending{Database: open(uint64(2 + i)), at: at})
		all.Go(func() {
			var err error
			if done[i], err = e.DetectStaleness(t.Context(), 10*tasks, false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	by := map[task.ID]int{}
	for node, found := range done {
		for _, d := range found {
			if by[d.Task]++; by[d.Task] > 1 || d.Action != engine.MovedAndErrored || !d.Case || d.Err != nil {
				t.Errorf("node %d says of task %s: %s, case %t, error %v; that is the %d. act on it", node, d.Task, d.Action,
					d.Case, d.Err, by[d.Task])
			}
		}
	}
	if len(by) != tasks {
		t.Errorf("%d of %d tasks were acted on", len(by), tasks)
	}
	s.engine = s.another(open(100))
	for _, id := range ids {
		if v := s.verdict(id); v != "moved" {
			t.Error(v)
		}
	}
}

type cycles struct {
	engine.Observer
	node string
	seen chan<- string
}

func (*cycles) Committed(*engine.Commit)                         {}
func (*cycles) Probed(int, int)                                  {}
func (*cycles) Analyzed(*engine.Analysis)                        {}
func (*cycles) WorkerFailed(string)                              {}
func (*cycles) Refused(engine.Refusal, int)                      {}
func (*cycles) Failed(string, time.Duration, error)              {}
func (*cycles) AttemptTrace(p string, _ task.ID, _ int64) string { return p }

func (c *cycles) Detected(d engine.Detection) {
	if d.Err == nil { // a node that stops may be in the middle of one
		c.seen <- c.node
	}
}

// One node runs all cycles until it leaves.
func TestOneNodeDetects(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	seen := make(chan string, 1000)
	stops := map[string]func(){}
	for _, node := range []string{"a", "b"} {
		s, err := postgres.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(t.Context(), s, engine.Options{Observer: &cycles{node: node, seen: seen},
			Config: settings.Config{StalenessDetection: settings.StalenessDetection{DetectionInterval: 20 * time.Millisecond},
				Leases: settings.Leases{HeartbeatInterval: 10 * time.Millisecond}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- upkeep.New(e, slog.New(slog.NewTextHandler(t.Output(), nil))).Run(ctx) }()
		stops[node] = sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the upkeep of %s ended with %v", node, err)
			}
			closeStore(t, s)
		})
		t.Cleanup(stops[node])
	}
	next := func() string {
		t.Helper()
		select {
		case node := <-seen:
			return node
		case <-time.After(patient):
			t.Fatal("nobody detects")
			return ""
		}
	}
	one := next()
	for range 15 {
		if node := next(); node != one {
			t.Fatalf("%s runs a cycle while %s has the turn", node, one)
		}
	}
	stops[one]()
	other := one
	for other == one {
		other = next()
	}
	for range 5 {
		if node := next(); node != other {
			t.Fatalf("%s runs a cycle, and is gone", node)
		}
	}
}
