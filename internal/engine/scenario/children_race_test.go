package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

// TestChildrenByTwoNodes submits and counts children on several nodes beside workers. Each child is submitted and
// runs once; each result is in its place.
func TestChildrenByTwoNodes(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, _ := nodesOf(t, k)
			raceForChildren(t, nodes, 130)
		})
	}
}

func raceForChildren(t *testing.T, nodes []*engine.Engine, items int) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	tpl, err := template.Parse("race.yaml", []byte(`
name: race
version: "1"
steps:
  - name: each
    for_each: {items: "context.items", handler: job, concurrency: 20}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := nodes[0].RegisterTemplate(ctx, tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	want := make([]int, items)
	for i := range want {
		want[i] = i
	}
	list, _ := json.Marshal(map[string]any{"items": want})
	receipts, err := nodes[0].Submit(ctx, []engine.Submission{{Name: "race", Context: list}}, false)
	if err != nil {
		t.Fatal(err)
	}
	r := childRace{t: t, seen: map[int]int{}}
	running, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range 2 {
		e := nodes[i%len(nodes)]
		all.Go(func() { r.advance(running, e) })
		all.Go(func() { r.work(running, e) })
	}
	var last *task.Task
	for last == nil || !last.State.Settled() {
		if last, err = nodes[0].Task(ctx, receipts[0].ID, time.Second); err != nil || ctx.Err() != nil {
			t.Errorf("the task is %+v, error %v", last, err)
			break
		}
	}
	end()
	all.Wait()
	_, steps, err := nodes[0].Steps(t.Context(), receipts[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	if err := json.Unmarshal(steps[0].Result, &got); err != nil || !slices.Equal(got, want) {
		t.Errorf("the step is %s with %s, error %v", steps[0].State, steps[0].Result, err)
	}
	for i, n := range r.seen {
		if n != 1 {
			t.Errorf("child %d ran %d times", i, n)
		}
	}
	if len(r.seen) != items {
		t.Errorf("%d of %d children ran", len(r.seen), items)
	}
}

type childRace struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[int]int
}

func (r *childRace) advance(ctx context.Context, e *engine.Engine) {
	for ctx.Err() == nil {
		_, err := e.FireTimers(ctx, 10)
		if err == nil {
			_, _, err = e.AdvanceChildren(ctx)
		}
		if err != nil && ctx.Err() == nil {
			r.t.Error(err)
			return
		}
	}
}

func (r *childRace) work(ctx context.Context, e *engine.Engine) {
	serve(ctx, r.t, e, 5, func(leases []engine.Lease) bool {
		if len(leases) == 0 {
			return true
		}
		results := make([]engine.Result, len(leases))
		for i, l := range leases {
			var in struct{ Item, Index int }
			if err := json.Unmarshal(l.Task.Context, &in); err != nil || in.Item != in.Index {
				r.t.Errorf("context %s, error %v", l.Task.Context, err)
			}
			r.mu.Lock()
			r.seen[in.Index]++
			r.mu.Unlock()
			results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted,
				Result: fmt.Append(nil, in.Item)}
		}
		answers, err := e.Settle(ctx, results)
		if err != nil && ctx.Err() == nil {
			r.t.Error(err)
		}
		for _, a := range answers {
			if a.Err != nil {
				r.t.Error(a.Err)
			}
		}
		return true
	})
}
