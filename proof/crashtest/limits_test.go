//go:build unix

package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
)

// The template's limit per customer, and the operator's per handler.
const (
	perCustomer = 2
	perHandler  = 3
)

const limitedTemplate = `name: limited
version: "1"
steps:
  - name: charge
    handler: charge
    concurrency: {key: "{{customer}}", limit: 2}
    retry: {max_attempts: 50, backoff: fixed, backoff_base_ms: 20}
`

// TestKillWhileLimited kills the server while steps run under a template's limit and an operator's: neither is ever
// exceeded, every task is done, and no permit is left.
func TestKillWhileLimited(t *testing.T) {
	t.Parallel()
	killWhileLimited(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), 1)
}

// TestKillNodesWhileLimited is the same with two nodes on one PostgreSQL, each with a worker.
func TestKillNodesWhileLimited(t *testing.T) {
	t.Parallel()
	killWhileLimited(t, pgtest.DSN(t), 2)
}

func killWhileLimited(t *testing.T, dsn string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	nodes, client := scheduleServers(t, dsn, n)
	for _, s := range nodes {
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	limits, target := flow.Of(client), flow.LimitTarget{Kind: flow.Handler, Handler: "charge"}
	if _, err := limits.SetLimit(ctx, flow.LimitRequest{LimitTarget: target, Concurrency: perHandler}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: limitedTemplate}); err != nil {
		t.Fatal(err)
	}
	tasks := submitLimited(ctx, t, client, 60, false)
	ran := &running{of: map[string]int{}}
	workLimited(ctx, t, nodes, ran)
	for kill := range 8 {
		if err := clock.Sleep(ctx, time.Duration(200+rand.N(300))*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		s := nodes[kill%n]
		s.Kill()
		s.Gone()
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	allComplete(ctx, t, client, tasks)
	t.Logf("tasks=%d attempts=%d most at once=%d", len(tasks), ran.attempts, ran.most)
	if ran.most != perHandler {
		t.Errorf("the handler ran %d times at once at most; its limit is %d", ran.most, perHandler)
	}
	// No permit is left: each customer may use its whole limit together.
	for {
		page, err := limits.Limits(ctx, flow.LimitFilter{})
		if err != nil || len(page.Limits) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		if page.Limits[0].Running == 0 {
			break
		}
		if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
			t.Fatalf("%d permits are left: %v", page.Limits[0].Running, err)
		}
	}
	if _, err := limits.DeleteLimit(ctx, flow.DeleteLimitRequest{LimitTarget: target}); err != nil {
		t.Fatal(err)
	}
	allComplete(ctx, t, client, submitLimited(ctx, t, client, perCustomer, true))
	for _, fault := range ran.faults {
		t.Error(fault)
	}
	for _, s := range nodes {
		for _, crash := range s.Crashes() {
			t.Error(crash)
		}
		s.Kill()
		s.Gone()
	}
}

// submitLimited submits tasks of four customers. Tasks that are together end only when all of their customer's permits
// are in use.
func submitLimited(ctx context.Context, t *testing.T, client *tasker.Client, each int, together bool) []uuid.UUID {
	t.Helper()
	var req tasker.SubmitRequest
	for i := range 4 * each {
		req.Tasks = append(req.Tasks, tasker.NewTask("limited", charge{fmt.Sprint(i % 4), together}))
	}
	receipts, err := client.SubmitTasks(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uuid.UUID, len(receipts))
	for i, r := range receipts {
		ids[i] = r.TaskUUID
	}
	return ids
}

func allComplete(ctx context.Context, t *testing.T, client *tasker.Client, tasks []uuid.UUID) {
	t.Helper()
	for _, id := range tasks {
		if done, err := client.Wait(ctx, id); err != nil || done.State != tasker.TaskComplete {
			t.Fatalf("task %s: %+v, %v", id, done, err)
		}
	}
}

type charge struct {
	Customer string `json:"customer"`
	Together bool   `json:"together"`
}

// running counts running handlers by customer, and judges each at its begin.
type running struct {
	mu        sync.Mutex
	of        map[string]int
	all, most int
	attempts  int
	faults    []string
}

func (r *running) begin(c charge) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[c.Customer]++
	r.all++
	r.attempts++
	if !c.Together {
		r.most = max(r.most, r.all)
		if r.all > perHandler {
			r.faults = append(r.faults, fmt.Sprintf("%d handlers run; the limit of the operator is %d", r.all, perHandler))
		}
	}
	if r.of[c.Customer] > perCustomer {
		r.faults = append(r.faults, fmt.Sprintf("%d of customer %s run; the limit is %d", r.of[c.Customer], c.Customer,
			perCustomer))
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.of[c.Customer]--
		r.all--
	}
}

func (r *running) full(customer string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[customer] == perCustomer
}

// workLimited runs a worker at each node until the test ends. Handlers are much shorter than a lease, so that no two
// attempts of a step overlap because a server was away.
func workLimited(ctx context.Context, t *testing.T, nodes []*process.Server, ran *running) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	t.Cleanup(func() { cancel(); ended.Wait() })
	for _, s := range nodes {
		client, err := remote.Dial(s.URL(), &remote.Options{RequestTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		w := worker.New(client, &worker.Options{Concurrency: 20, Logger: slog.New(slog.DiscardHandler)})
		worker.Handle(w, "charge", func(ctx context.Context, c charge) (any, error) {
			defer ran.begin(c)()
			if !c.Together {
				return nil, clock.Sleep(ctx, time.Duration(20+rand.N(40))*time.Millisecond)
			}
			for !ran.full(c.Customer) {
				if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
					return nil, errors.New("a permit of customer " + c.Customer + " is not free")
				}
			}
			return nil, clock.Sleep(ctx, 100*time.Millisecond) // so that the other one sees it too
		})
		ended.Go(func() {
			_ = w.Run(ctx) // its server is killed now and then
			client.Close()
		})
	}
}
