package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

type lineup struct {
	mu     sync.Mutex
	runs   map[string]task.ID
	last   map[string]int
	ended  int
	faults []string
}

func (l *lineup) begins(id task.ID, key, submitter string, number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, busy := l.runs[key]; busy {
		l.faults = append(l.faults, fmt.Sprintf("%s and %s run at once under %s", other, id, key))
	}
	l.runs[key] = id
	if at := key + submitter; l.last[at] >= number {
		l.faults = append(l.faults, fmt.Sprintf("%s: number %d began after %d", at, number, l.last[at]))
	} else {
		l.last[at] = number
	}
}

// ends must precede the settlement: the next task may begin with it.
func (l *lineup) ends(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runs, key)
	l.ended++
}

// TestOrderingRace submits and runs tasks, on two nodes where possible. Under each key one task runs at a time, in
// the order of each caller's submissions, and all end.
func TestOrderingRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, _ := nodesOf(t, k)
			raceForTurns(t, nodes)
		})
	}
}

// nodesOf returns two engines on one database where the store can be shared, else one; and the store of the last.
func nodesOf(t *testing.T, k kind) (nodes []*engine.Engine, store engine.Database) {
	t.Helper()
	if k.name != "postgres" {
		store, _ = k.open(t)
		return []*engine.Engine{engineOn(t, store)}, store
	}
	dsn := postgrestest.DSN(t)
	for range 2 {
		s, err := postgres.Open(t.Context(), dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeStore(t, s) })
		nodes, store = append(nodes, engineOn(t, s)), s
	}
	return nodes, store
}

func engineOn(t *testing.T, s engine.Database) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), s, engine.Options{Config: settings.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const (
	racers      = 4
	raceKeys    = 3
	raceWorkers = 4
)

func raceForTurns(t *testing.T, nodes []*engine.Engine) {
	l := &lineup{runs: map[string]task.ID{}, last: map[string]int{}}
	each := 20
	if testing.Short() {
		each = 6
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var all sync.WaitGroup
	for w := range raceWorkers {
		all.Go(func() { l.work(ctx, t, nodes[w%len(nodes)]) })
	}
	for s := range racers {
		all.Go(func() { l.submit(ctx, t, nodes[s%len(nodes)], fmt.Sprint("s", s), each) })
	}
	untilEnded(ctx, t, nodes, &l.mu, &l.ended, racers*each, func(e *engine.Engine) error {
		_, _, err := e.GiveTurns(ctx)
		return err
	})
	stop()
	all.Wait()
	for _, fault := range l.faults {
		t.Error(fault)
	}
}

func (l *lineup) submit(ctx context.Context, t *testing.T, e *engine.Engine, name string, each int) {
	for i := range each {
		key := fmt.Sprint("k", i%raceKeys)
		in := engine.Submission{TaskType: "job", Context: []byte(fmt.Sprintf(`{"key":%q,"by":%q,"no":%d}`, key, name, i+1)),
			Meta: task.Meta{OrderingKey: key}}
		_, err := e.Submit(ctx, []engine.Submission{in}, false)
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func (l *lineup) work(ctx context.Context, t *testing.T, e *engine.Engine) {
	serve(ctx, t, e, 2, func(leases []engine.Lease) bool {
		for _, lease := range leases {
			l.run(ctx, t, e, lease)
		}
		return true
	})
}

func (l *lineup) run(ctx context.Context, t *testing.T, e *engine.Engine, lease engine.Lease) {
	var in struct {
		Key, By string
		No      int
	}
	if err := json.Unmarshal(lease.Task.Context, &in); err != nil {
		t.Error(err)
		return
	}
	l.begins(lease.Task.ID, in.Key, in.By, in.No)
	l.ends(in.Key)
	answers, err := e.Settle(ctx, []engine.Result{{Step: lease.Step.ID, Token: lease.Step.Token,
		Status: engine.ResultCompleted}})
	if err != nil && ctx.Err() == nil || err == nil && answers[0].Err != nil {
		t.Error(err, answers)
	}
}
