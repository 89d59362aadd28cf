package scenario_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/dispatchtest/memory"
)

// TestOperatorLimitRace runs the steps of a handler under an operator's limit, on two nodes where possible and from a
// dispatcher; some attempts fail. The limit holds, all steps end, and no permit is left.
func TestOperatorLimitRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, store := nodesOf(t, k)
			raceUnderLimit(t, nodes, store)
		})
	}
	t.Run("dispatcher", func(t *testing.T) {
		t.Parallel()
		store, _ := bare[0].open(t)
		e, err := engine.New(t.Context(), store, engine.Options{Dispatcher: memory.NewServer().Open()})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.MaintainDispatch(t.Context()); err != nil || !e.DispatchState().Active {
			t.Fatalf("the dispatcher is not in use: %v", err)
		}
		raceUnderLimit(t, []*engine.Engine{e}, store)
	})
}

func raceUnderLimit(t *testing.T, nodes []*engine.Engine, store engine.Database) {
	target := task.PauseTarget{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"}
	if _, _, err := nodes[0].SetLimit(t.Context(), engine.LimitRequest{Target: target, Permits: perKey}); err != nil {
		t.Fatal(err)
	}
	registerCrowd(t, nodes[0], "")
	for _, e := range nodes {
		if err := e.RefreshLimits(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c := &permitCount{runs: map[string]int{}}
	each := 20
	if testing.Short() {
		each = 6
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var all sync.WaitGroup
	for w := range raceWorkers {
		all.Go(func() { c.work(ctx, t, nodes[w%len(nodes)]) })
	}
	for s := range racers {
		all.Go(func() {
			for range each {
				in := engine.Submission{Name: "crowd", Context: []byte(`{"key":"one"}`)}
				if _, err := nodes[s%len(nodes)].Submit(ctx, []engine.Submission{in}, false); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	untilEnded(ctx, t, nodes, &c.mu, &c.ended, racers*each, func(e *engine.Engine) error {
		_, err := e.FireTimers(ctx, 100)
		return err
	})
	stop()
	all.Wait()
	for _, fault := range c.faults {
		t.Error(fault)
	}
	if c.most < perKey {
		t.Errorf("at most %d steps ran at once; the limit is %d", c.most, perKey)
	}
	held, err := store.OperatorLimitStore().HeldPermits(t.Context(), []int64{target.LimitNo()})
	if err != nil || len(held) != 0 {
		t.Errorf("permits are left after the end of all: %v, %v", held, err)
	}
}

// TestManyTasksOfOneCustomer: a customer with 10,000 tasks (1,000 in short runs) does not stop others with 3, with a
// limit for each or one for all. One worker of capacity 1 takes at most as many steps of the first as its limit
// before each step of another.
func TestManyTasksOfOneCustomer(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("Shared=%v", shared), func(t *testing.T) {
			t.Parallel()
			manyOfOne(t, shared)
		})
	}
}

func manyOfOne(t *testing.T, shared bool) {
	const weight = 2
	store, _ := bare[0].open(t)
	e := engineOn(t, store)
	registerCrowd(t, e, eachKey)
	if shared {
		target := task.PauseTarget{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"}
		if _, _, err := e.SetLimit(t.Context(), engine.LimitRequest{Target: target, Permits: 1}); err != nil {
			t.Fatal(err)
		}
	}
	submit := func(customer string, n int) {
		in := make([]engine.Submission, n)
		for i := range in {
			in[i] = engine.Submission{Name: "crowd", Context: fmt.Appendf(nil, `{"key":%q}`, customer)}
		}
		if _, err := e.Submit(t.Context(), in, false); err != nil {
			t.Fatal(err)
		}
	}
	big := 10
	if testing.Short() {
		big = 1
	}
	for range big {
		submit("big", 1000)
	}
	small := []string{"ann", "bob", "eve"}
	for _, customer := range small {
		submit(customer, 3)
	}
	if err := e.AdmitAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := e.Register(t.Context(), task.Worker{Name: "w", Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	before, left := map[string]int{}, 3*len(small)
	for n := 0; left > 0; n++ {
		leases, _, err := e.Poll(t.Context(), w.ID, 1, 0, true)
		if err != nil || len(leases) != 1 {
			t.Fatalf("step %d: %d leases, %v", n, len(leases), err)
		}
		key := keyOf(t, &leases[0])
		if key == "big" {
			for _, customer := range small {
				before[customer]++
			}
		} else {
			left--
			if before[key] > weight {
				t.Errorf("%d steps of the big customer came before one of %s; at most %d may", before[key], key, weight)
			}
			before[key] = 0
		}
		l := leases[0]
		r := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
		if _, err := e.Settle(t.Context(), []engine.Result{r}); err != nil {
			t.Fatal(err)
		}
		if err := e.AdmitAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n > 100 {
			t.Fatalf("%d steps of small customers still wait after %d", left, n)
		}
	}
}
