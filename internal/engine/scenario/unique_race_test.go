package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// guards records the running task and the newest stored input of each unique key.
type guards struct {
	mu     sync.Mutex
	runs   map[string]task.ID
	ran    map[task.ID]bool
	faults []string
}

func (g *guards) fault(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, fmt.Sprintf(format, args...))
}

func (g *guards) begins(id task.ID, key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if other, busy := g.runs[key]; busy {
		g.faults = append(g.faults, fmt.Sprintf("%s and %s run at once under %s", other, id, key))
	}
	g.runs[key] = id
	g.ran[id] = true
}

func (g *guards) ends(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, key)
}

// TestUniqueRace submits and works under few unique keys, on two nodes where possible. Each key has one task at a
// time, whether submissions return or replace it; each created task has run or was replaced.
func TestUniqueRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, _ := nodesOf(t, k)
			raceForKeys(t, nodes)
		})
	}
}

func raceForKeys(t *testing.T, nodes []*engine.Engine) {
	g := &guards{runs: map[string]task.ID{}, ran: map[task.ID]bool{}}
	each := 60 // submissions of a submitter
	if testing.Short() {
		each = 15
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var workers, submitters sync.WaitGroup
	for w := range raceWorkers {
		workers.Go(func() { g.work(ctx, t, nodes[w%len(nodes)]) })
	}
	var created sync.Map
	var counts [2]atomic.Int64 // created, answered
	for s := range racers {
		submitters.Go(func() {
			for i := range each {
				key := fmt.Sprint("k", (s+i)%raceKeys)
				in := engine.Submission{TaskType: "job", Context: []byte(fmt.Sprintf(`{"key":%q,"by":%d,"no":%d}`, key, s, i)),
					Unique: &task.Unique{By: []string{"/key"}}}
				if (s+i)%2 == 0 {
					in.Unique.OnConflict = task.ReplaceExisting
				}
				receipts, err := nodes[s%len(nodes)].Submit(ctx, []engine.Submission{in, in}, false)
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range receipts {
					if r.Created {
						created.Store(r.ID, true)
						counts[0].Add(1)
					} else {
						counts[1].Add(1)
					}
				}
			}
		})
	}
	submitters.Wait()
	ended := func(id task.ID) task.State {
		found, err := nodes[0].Read().FindTask(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return found.State
	}
	created.Range(func(id, _ any) bool {
		for !ended(id.(task.ID)).Terminal() && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		return true
	})
	stop()
	workers.Wait()
	ctx = t.Context()
	created.Range(func(id, _ any) bool {
		state := ended(id.(task.ID))
		if g.ran[id.(task.ID)] == (state == task.Cancelled) || !state.Terminal() {
			t.Errorf("%s is %s, and ran: %t", id, state, g.ran[id.(task.ID)])
		}
		return true
	})
	for _, fault := range g.faults {
		t.Error(fault)
	}
	if n := counts[0].Load(); n == 0 || counts[1].Load() == 0 || n+counts[1].Load() != int64(2*racers*each) {
		t.Errorf("%d created, %d answered", n, counts[1].Load())
	}
}

func (g *guards) work(ctx context.Context, t *testing.T, e *engine.Engine) {
	serve(ctx, t, e, 2, func(leases []engine.Lease) bool {
		for _, lease := range leases {
			var in struct{ Key string }
			if err := json.Unmarshal(lease.Task.Context, &in); err != nil {
				t.Error(err)
				return false
			}
			g.begins(lease.Task.ID, in.Key)
			g.ends(in.Key)
			answers, err := e.Settle(ctx, []engine.Result{{Step: lease.Step.ID, Token: lease.Step.Token,
				Status: engine.ResultCompleted}})
			if err != nil && ctx.Err() == nil || err == nil && answers[0].Err != nil {
				g.fault("settle %s: %v %v", lease.Task.ID, err, answers)
			}
		}
		return true
	})
}
