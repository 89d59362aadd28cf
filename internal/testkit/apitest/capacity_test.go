package apitest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestCapacity: polls never exceed a worker's capacity, for any requested number, concurrency or reported load.
func TestCapacity(t *testing.T) { onEveryQueue(t, testCapacity) }

func testCapacity(t *testing.T, s *server) {
	w := s.hire(t, 3)
	for range 12 {
		s.submit(t, tasker.TaskRequest{TaskType: "h"})
	}
	held := s.grab(t, w, 10, 0)
	if len(held) != 3 {
		t.Fatalf("a worker of capacity 3 is given %d", len(held))
	}
	if _, err := protocol.Of(s.Client).Heartbeat(s.ctx, protocol.Heartbeat{WorkerID: w, CurrentLoad: 0}); err != nil {
		t.Fatal(err)
	}
	if more := s.grab(t, w, 10, 0); len(more) != 0 {
		t.Errorf("a worker that holds 3 of 3 is given %d more", len(more))
	}
	info, err := protocol.Of(s.Client).Worker(s.ctx, w)
	if err != nil || info.CurrentLoad != 3 || info.Capacity != 3 || info.ReportedLoad != 0 {
		t.Errorf("the worker is %+v, %v", info, err)
	}
	stats, err := s.QueueStats(s.ctx, queueapi.QueueFilter{})
	if err != nil || stats.Workers.Busy != 1 || stats.Workers.UsedCapacity != 3 || stats.Workers.TotalCapacity != 3 {
		t.Errorf("the numbers of workers are %+v, %v", stats.Workers, err)
	}

	// A poll that waits for a place gets it as soon as there is one.
	waiting := make(chan []protocol.Assignment, 1)
	go func() { waiting <- s.grab(t, w, 10, 20*time.Second) }()
	select {
	case got := <-waiting:
		t.Fatalf("a poll for a place was answered with %d steps", len(got))
	case <-time.After(50 * time.Millisecond): // it may not wait yet; that makes no difference
	}
	if _, err := protocol.Of(s.Client).Settle(s.ctx, completion(w, held[0].StepUUID, held[0].Token)); err != nil {
		t.Fatal(err)
	}
	if got := <-waiting; len(got) != 1 {
		t.Errorf("with one place free a poll is given %d", len(got))
	}

	// Concurrent polls of one worker share its places.
	many := s.hire(t, 3)
	var all sync.WaitGroup
	var counts [4]int
	for i := range counts {
		all.Go(func() { counts[i] = len(s.grab(t, many, 10, 0)) })
	}
	all.Wait()
	if sum := counts[0] + counts[1] + counts[2] + counts[3]; sum != 3 {
		t.Errorf("polls at once are given %v, want 3 in all", counts)
	}
	if got := s.grab(t, s.hire(t, 0), 10, 0); len(got) != 5 {
		t.Errorf("a worker that registered no capacity is given %d of the 5 that are left", len(got))
	}
}

func (s *server) hire(t *testing.T, capacity int) uuid.UUID {
	t.Helper()
	w, err := protocol.Of(s.Client).RegisterWorker(s.ctx, protocol.WorkerRegistration{Capacity: capacity})
	if err != nil {
		t.Fatal(err)
	}
	return w.WorkerID
}

// grab polls once.
func (s *server) grab(t *testing.T, worker uuid.UUID, capacity int, wait time.Duration) []protocol.Assignment {
	t.Helper()
	req := protocol.PollRequest{WorkerID: worker, Capacity: capacity, WaitMS: int(wait.Milliseconds()), Start: true}
	polled, err := protocol.Of(s.Client).Poll(s.ctx, req)
	if err != nil {
		t.Error(err)
		return nil
	}
	return polled.Steps
}

func TestCapacityNotEnforced(t *testing.T) {
	t.Parallel()
	cfg := settings.Config{}
	cfg.Leases.EnforceCapacity = settings.Off
	s := serve(t, "memory:", node.Options{Engine: cfg})
	for range 5 {
		s.submit(t, tasker.TaskRequest{TaskType: "h"})
	}
	if got := s.grab(t, s.hire(t, 2), 10, 0); len(got) != 5 {
		t.Errorf("the worker is given %d of 5", len(got))
	}
}

// TestCapacityOnNodes: a worker has one capacity on all nodes; a place freed through one node serves a poll that waits
// on another.
func TestCapacityOnNodes(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	a, b := serve(t, dsn, node.Options{}), serve(t, dsn, node.Options{})
	w := a.hire(t, 3)
	for range 20 {
		a.submit(t, tasker.TaskRequest{TaskType: "h"})
	}
	held := a.grab(t, w, 10, 0)
	if len(held) != 3 {
		t.Fatalf("on one node the worker is given %d", len(held))
	}
	if more := b.grab(t, w, 10, 0); len(more) != 0 {
		t.Errorf("on the other it is given %d more", len(more))
	}
	for i := range 5 { // handed out by one, reported to the other
		if _, err := protocol.Of(b.Client).Settle(b.ctx, completion(w, held[0].StepUUID, held[0].Token)); err != nil {
			t.Fatal(err)
		}
		next := a.grab(t, w, 10, 20*time.Second)
		if len(next) != 1 {
			t.Fatalf("round %d: with one place free it is given %d", i, len(next))
		}
		held = append(held[1:], next...)
	}
}
