package node_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	_ "github.com/taskerhq/tasker/embedded/rabbitmq"
	_ "github.com/taskerhq/tasker/embedded/redis"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// inFlight counts concurrent work by handler.
type inFlight struct {
	mu               sync.Mutex
	now, most, total map[string]int
	two              map[string]chan struct{} // closed once two steps of the handler run together
}

func newInFlight() *inFlight {
	return &inFlight{now: map[string]int{}, most: map[string]int{}, total: map[string]int{}, two: map[string]chan struct{}{
		"few": make(chan struct{}), "still": make(chan struct{})}}
}

// work takes a moment, in which others would begin if allowed. The first step of a handler waits for a second one,
// which a busy machine may begin late.
func (f *inFlight) work(handler string) {
	f.add(handler, 1)
	select {
	case <-f.two[handler]:
	case <-time.After(10 * time.Second): // the next may be queued behind it at one worker
	}
	time.Sleep(5 * time.Millisecond)
	f.add(handler, -1)
}

func (f *inFlight) add(handler string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now[handler] += n
	if f.most[handler] < 2 && f.now[handler] == 2 {
		close(f.two[handler])
	}
	f.most[handler] = max(f.most[handler], f.now[handler])
	f.total[handler] += max(n, 0)
}

func (f *inFlight) of(handler string) (total, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total[handler], f.most[handler]
}

var still = flow.Target{Kind: flow.Route, Handler: "still"}

func hold(t *testing.T, n *node.Node) {
	t.Helper()
	few := flow.LimitTarget{Kind: flow.Handler, Handler: "few"}
	if _, err := n.SetLimit(t.Context(), flow.LimitRequest{LimitTarget: few, Concurrency: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Pause(t.Context(), flow.PauseRequest{Target: still}); err != nil {
		t.Fatal(err)
	}
}

const held = 20 // tasks of each handler

func checkHeld(t *testing.T, nodes [2]*node.Node, f *inFlight) {
	t.Helper()
	submit(t, nodes[0], "still", held)
	submit(t, nodes[1], "few", held)
	begun := func(handler string) func() bool {
		return func() bool { total, _ := f.of(handler); return total == held }
	}
	patiently(t, "all limited steps have begun", begun("few"))
	if _, most := f.of("few"); most != 2 {
		t.Errorf("%d limited steps ran at once; the limit is 2", most)
	}
	if total, _ := f.of("still"); total != 0 {
		t.Errorf("%d paused steps were handed out", total)
	}
	if _, err := nodes[1].ResumePaused(t.Context(), flow.ResumePausedRequest{Target: still}); err != nil {
		t.Fatal(err)
	}
	patiently(t, "all paused steps have begun after the resume", begun("still"))
	patiently(t, "no permit is held", func() bool {
		page, err := nodes[0].Limits(t.Context(), flow.LimitFilter{})
		return err == nil && len(page.Limits) == 1 && page.Limits[0].Running == 0
	})
}

// TestHeldThroughRedis: limits and pauses hold with Redis as dispatcher, ten workers and two nodes.
func TestHeldThroughRedis(t *testing.T) {
	t.Parallel()
	dsn, url := postgrestest.DSN(t), redistest.Start(t).URL()
	var nodes [2]*node.Node
	for i := range nodes {
		nodes[i] = redisNode(t, dsn, url)
		if i == 0 {
			hold(t, nodes[0]) // the other one reads it at its start
		}
	}
	f := newInFlight()
	for i := range 10 {
		w := worker.New(tasker.NewClient(nodes[i%2]), &worker.Options{Concurrency: 5, PollWait: time.Second,
			Logger: slog.New(slog.DiscardHandler)})
		for _, handler := range []string{"few", "still"} {
			w.Handle(handler, func(context.Context, *worker.Job) (any, error) {
				f.work(handler)
				return json.RawMessage(`{}`), nil
			})
		}
		background(t, w.Run)
	}
	checkHeld(t, nodes, f)
	for _, n := range nodes {
		if s := n.DispatchState(); !s.Active {
			t.Errorf("the dispatch is %+v; want it to be active all the time", s)
		}
	}
}

func redisNode(t *testing.T, dsn, url string) *node.Node {
	t.Helper()
	n, err := node.Open(t.Context(), dsn, node.Options{Dispatch: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	background(t, n.Run)
	patiently(t, "the dispatcher is in use", func() bool { return n.DispatchState().Active })
	return n
}

func background(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
}

// TestHeldOverRabbitMQ: limits and pauses hold with RabbitMQ, ten workers and two nodes.
func TestHeldOverRabbitMQ(t *testing.T) {
	t.Parallel()
	dsn, url := postgrestest.DSN(t), rabbittest.Shared(t)
	cfg := settings.Config{Delivery: settings.Delivery{TTL: time.Minute}}
	var nodes [2]*node.Node
	for i := range nodes {
		nodes[i] = rabbitNode(t, dsn, url, cfg, nil)
		if i == 0 {
			hold(t, nodes[0])
		}
	}
	f := newInFlight()
	for i := range 10 {
		w, err := nodes[i%2].RegisterWorker(t.Context(), protocol.WorkerRegistration{Handlers: []string{"few", "still"},
			Capacity: 5, Transport: "amqp"})
		if err != nil {
			t.Fatal(err)
		}
		consume(t, nodes[i%2], url, w, f.work)
	}
	checkHeld(t, nodes, f)
}
