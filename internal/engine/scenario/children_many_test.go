package scenario_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

var childrenFlag = flag.Int("children", 300, "run the test of one step with many children with this many")

// TestManyChildren joins the results of many children in order and logs the figures of docs/concepts/benchmarks.md.
// No transaction takes as long as a lease.
func TestManyChildren(t *testing.T) {
	t.Parallel()
	for _, k := range bare[1:] {
		t.Run(k.name, func(t *testing.T) {
			if *childrenFlag <= 300 {
				t.Parallel()
			}
			store, _ := k.open(t)
			seen := &longestWrites{longest: map[string]time.Duration{}, count: map[string]int{}}
			e, err := engine.New(t.Context(), store, engine.Options{Observer: seen})
			if err != nil {
				t.Fatal(err)
			}
			manyChildren(t, e, *childrenFlag)
			seen.mu.Lock()
			defer seen.mu.Unlock()
			t.Logf("transactions: children %d, longest %s; settle %d, longest %s", seen.count["children"],
				seen.longest["children"], seen.count["settle"], seen.longest["settle"])
			if most := e.Config().Leases.Lease(); seen.longest["children"] > most {
				t.Errorf("a transaction about children took %s, longer than a lease (%s)", seen.longest["children"], most)
			}
		})
	}
}

func manyChildren(t *testing.T, e *engine.Engine, n int) {
	ctx := t.Context()
	tpl, err := template.Parse("many.yaml", []byte(`
name: many
version: "1"
steps:
  - name: each
    for_each: {items: "context.items", handler: job, concurrency: 1000}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.RegisterTemplate(ctx, tpl, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf("images/%d.png", i)
	}
	list, _ := json.Marshal(map[string]any{"items": items})
	began := time.Now()
	receipts, err := e.Submit(ctx, []engine.Submission{{Name: "many", Context: list}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.FireTimers(ctx, 10); err != nil {
		t.Fatal(err)
	}
	var listed, ended time.Time
	var peak uint64
	w, err := e.Register(ctx, task.Worker{Name: "w", Capacity: 500})
	if err != nil {
		t.Fatal(err)
	}
	for {
		leases, _, err := e.Poll(ctx, w.ID, 500, 10*time.Millisecond, true)
		if err != nil {
			t.Fatal(err)
		}
		if listed.IsZero() && len(leases) > 0 {
			listed = time.Now()
		}
		results := make([]engine.Result, len(leases))
		for i, l := range leases {
			var in struct {
				Item  string
				Index int
			}
			if err := json.Unmarshal(l.Task.Context, &in); err != nil || in.Item != items[in.Index] {
				t.Fatalf("context %s, error %v", l.Task.Context, err)
			}
			results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted,
				Result: fmt.Append(nil, in.Index)}
		}
		if len(results) > 0 {
			ended = time.Now()
			if _, err := e.Settle(ctx, results); err != nil {
				t.Fatal(err)
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse)
		k, err := e.Task(ctx, receipts[0].ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if k.State.Settled() {
			break
		}
	}
	all := time.Since(began)
	t.Logf("%d children: the first was ready after %s, all have ended after %s (%.0f/s), joined %s after the last; "+
		"heap %d MiB", n, listed.Sub(began).Round(time.Millisecond), all.Round(time.Millisecond),
		float64(n)/all.Seconds(), time.Since(ended).Round(time.Millisecond), peak>>20)
	_, steps, err := e.Steps(ctx, receipts[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	if err := json.Unmarshal(steps[0].Result, &got); err != nil || len(got) != n || !slices.IsSorted(got) {
		t.Errorf("the step is %s with %d results, error %v", steps[0].State, len(got), err)
	}
}

type longestWrites struct {
	cycles
	mu      sync.Mutex
	longest map[string]time.Duration
	count   map[string]int
}

func (l *longestWrites) Committed(c *engine.Commit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest[c.Verb] = max(l.longest[c.Verb], c.Took)
	l.count[c.Verb]++
}

func (*longestWrites) Detected(engine.Detection) {}
