package apitest_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestHandlerSlots: the server leases no more steps of a handler than its slots; other handlers of the worker continue,
// and another worker gets the rest.
func TestHandlerSlots(t *testing.T) { onEveryStore(t, testHandlerSlots) }

func testHandlerSlots(t *testing.T, s *server) {
	release := make(chan struct{})
	var slow, most atomic.Int64
	w := worker.New(s.Client, &worker.Options{Name: "w", PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	w.Handle("slow", func(context.Context, *worker.Job) (any, error) {
		for now := slow.Add(1); ; {
			if high := most.Load(); now <= high || most.CompareAndSwap(high, now) {
				break
			}
		}
		defer slow.Add(-1)
		<-release
		return nil, nil
	}, worker.WithConcurrency(2))
	w.Handle("fast", func(context.Context, *worker.Job) (any, error) { return nil, nil })
	defer s.runWorker(t, w)()

	tasks := make([]tasker.TaskRequest, 20)
	for i := range tasks {
		tasks[i] = tasker.NewHandlerTask("slow", i)
	}
	receipts, err := s.SubmitTasks(s.ctx, tasker.SubmitRequest{Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		fast := s.submit(t, tasker.NewHandlerTask("fast", i)).TaskUUID
		if err := s.Result(s.ctx, fast, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	workers, err := protocol.Of(s.Client).Workers(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]int{}
	for _, info := range workers {
		held[info.Name] = info.CurrentLoad
	}
	if held["w/slow"] > 2 || len(held) != 2 {
		t.Errorf("leases %v, want at most 2 of the slow handler", held)
	}
	s.work(t, map[string]worker.Handler{"slow": func(context.Context, *worker.Job) (any, error) { return nil, nil }})
	done := 0
	for _, r := range receipts { // all but those that the first worker runs
		if task, err := s.Task(s.ctx, r.TaskUUID, 500*time.Millisecond); err != nil {
			t.Fatal(err)
		} else if task.State == tasker.TaskComplete {
			done++
		}
	}
	if done < 18 {
		t.Errorf("another worker ended %d of the 20 slow steps, want the 18 that nobody runs", done)
	}
	close(release)
	for _, r := range receipts {
		if err := s.Result(s.ctx, r.TaskUUID, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if most.Load() > 2 {
		t.Errorf("%d slow steps ran at once, want 2", most.Load())
	}
}
