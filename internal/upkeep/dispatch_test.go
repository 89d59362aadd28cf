package upkeep_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/dispatch/memory"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// severable is one node's way to the dispatcher.
type severable struct {
	*memory.Dispatcher
	cut    atomic.Bool
	frozen atomic.Pointer[chan struct{}]
	claims atomic.Pointer[chan struct{}] // answers to claims wait for it too
}

var errCut = errors.New("no route to host")

func (s *severable) way() error {
	if thaw := s.frozen.Load(); thaw != nil {
		<-*thaw
	}
	if s.cut.Load() {
		return errCut
	}
	return nil
}

func (s *severable) Check(ctx context.Context) error {
	if err := s.way(); err != nil {
		return err
	}
	return s.Dispatcher.Check(ctx)
}

func (s *severable) Remove(ctx context.Context, steps []engine.Removal) error {
	if err := s.way(); err != nil {
		return err
	}
	return s.Dispatcher.Remove(ctx, steps)
}

func (s *severable) Claim(ctx context.Context, claims []engine.Claim, now task.Instant) ([][]engine.Hold, error) {
	if err := s.way(); err != nil {
		return nil, err
	}
	holds, err := s.Dispatcher.Claim(ctx, claims, now)
	if thaw := s.claims.Load(); thaw != nil {
		<-*thaw
	}
	return holds, err
}

// The node that has all turns is cut off from the dispatcher. No node uses it then: steps that the first makes ready reach its workers, and so
// do those of a worker that has died.
func TestCutOffWithTheTurns(t *testing.T) {
	within(t, func(t *testing.T) {
		server, d := memory.NewServer(), newDatabase()
		way := &severable{Dispatcher: server.Open()}
		a, b := bootOn(t, d, way, engine.Config{}), bootOn(t, d, server.Open(), engine.Config{})
		time.Sleep(10*time.Second + 500*time.Millisecond) // between two ticks
		if !a.Dispatch().Active || !b.Dispatch().Active {
			t.Fatalf("the nodes dispatch %+v, %+v", a.Dispatch(), b.Dispatch())
		}
		a.submit(job)
		b.submit(job)
		a.FlushDispatch()
		for range 2 {
			b.take(b.register(task.Worker{}), 0)
		}
		way.cut.Store(true)
		time.Sleep(5 * time.Second)
		if a.Dispatch().Active || b.Dispatch().Active {
			t.Fatalf("the nodes dispatch %+v, %+v; want both through the database", a.Dispatch(), b.Dispatch())
		}

		id := a.submit(job)
		w := b.register(task.Worker{})
		p := <-b.poll(w, 1, 30*time.Second)
		if len(p.leases) != 1 || p.leases[0].Task.ID != id {
			t.Fatalf("a poll on the other node came back with %+v", p.leases)
		}
		between(t, "the way of a step", p.after, 0, 2*time.Second)
		b.settle(p.leases[0], engine.Result{Status: engine.ResultCompleted})

		time.Sleep(b.Config().Leases.Lease())
		for range 2 { // nobody has heard of those who took the first ones
			b.take(b.register(task.Worker{}), 30*time.Second)
		}
		way.cut.Store(false)
		time.Sleep(5 * time.Second)
		if !a.Dispatch().Active || !b.Dispatch().Active {
			t.Errorf("after that the nodes dispatch %+v, %+v", a.Dispatch(), b.Dispatch())
		}
	})
}
