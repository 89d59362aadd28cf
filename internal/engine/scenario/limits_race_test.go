package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

type permitCount struct {
	mu     sync.Mutex
	runs   map[string]int
	most   int
	ended  int
	faults []string
}

const perKey = 2

func (c *permitCount) begins(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[key]++
	if n := c.runs[key]; n > perKey {
		c.faults = append(c.faults, fmt.Sprintf("%d steps run at once under %s", n, key))
	}
	c.most = max(c.most, c.runs[key])
}

// ends must precede the settlement: the next attempt may begin with it.
func (c *permitCount) ends(key string, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[key]--
	if whole {
		c.ended++
	}
}

// TestLimitRace submits and runs, with failures, on two nodes where possible. No key exceeds its limit, all steps
// end, and no permit is left.
func TestLimitRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, store := nodesOf(t, k)
			raceForPermits(t, nodes, store)
		})
	}
}

const eachKey = `concurrency: {key: "{{key}}", limit: 2}, `

func registerCrowd(t *testing.T, e *engine.Engine, field string) {
	t.Helper()
	source := "name: crowd\nversion: \"1\"\nsteps:\n  - {name: s, handler: h, " + field + "retry: {backoff: none}}\n"
	tpl, err := template.Parse("crowd.yaml", []byte(source), e.Level)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.RegisterTemplate(t.Context(), tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
}

func keyOf(t *testing.T, l *engine.Lease) string {
	t.Helper()
	var in struct{ Key string }
	if err := json.Unmarshal(l.Task.Context, &in); err != nil {
		t.Error(err)
	}
	return in.Key
}

func raceForPermits(t *testing.T, nodes []*engine.Engine, store engine.Database) {
	registerCrowd(t, nodes[0], eachKey)
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
		all.Go(func() { c.submit(ctx, t, nodes[s%len(nodes)], each) })
	}
	untilEnded(ctx, t, nodes, &c.mu, &c.ended, racers*each, func(e *engine.Engine) error {
		_, err := e.FireTimers(ctx, 100)
		return errors.Join(err, e.AdmitAll(ctx))
	})
	stop()
	all.Wait()
	for _, fault := range c.faults {
		t.Error(fault)
	}
	if c.most < perKey {
		t.Errorf("at most %d steps ran at once under a key; the limit is %d", c.most, perKey)
	}
	gates, err := store.GateStore().ListGates(t.Context(), engine.GateFilter{})
	if err != nil || len(gates) != raceKeys {
		t.Errorf("there are %d gates: %v", len(gates), err)
	}
	for _, g := range gates {
		if g.Held != 0 || g.Waiting != 0 {
			t.Errorf("the gate of %s holds %d permits and %d steps after the end of all", g.Key, g.Held, g.Waiting)
		}
	}
}

func (c *permitCount) submit(ctx context.Context, t *testing.T, e *engine.Engine, each int) {
	for i := range each {
		in := engine.Submission{Name: "crowd", Context: fmt.Appendf(nil, `{"key":"k%d"}`, i%raceKeys)}
		if _, err := e.Submit(ctx, []engine.Submission{in}, false); err != nil {
			t.Error(err)
			return
		}
	}
}

// work settles steps until ctx ends, with every third first attempt as a failure.
func (c *permitCount) work(ctx context.Context, t *testing.T, e *engine.Engine) {
	n := 0
	serve(ctx, t, e, 3, func(leases []engine.Lease) bool {
		keys := make([]string, len(leases))
		for i := range leases {
			keys[i] = keyOf(t, &leases[i])
			c.begins(keys[i])
		}
		for i, l := range leases {
			n++
			r := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
			if fails := n%3 == 0 && l.Step.Attempts == 1; fails {
				r.Status, r.Failure = engine.ResultFailed, &task.Failure{Type: "t", Message: "broken", Retryable: true}
			}
			c.ends(keys[i], r.Failure == nil)
			answers, err := e.Settle(ctx, []engine.Result{r})
			if err != nil && ctx.Err() == nil || err == nil && answers[0].Err != nil {
				t.Errorf("settle: %v, %+v", err, answers)
			}
		}
		return true
	})
}
