package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/memstore"
	"github.com/taskerhq/tasker/internal/task"
)

// sick is a store that takes no writes, when told so.
type sick struct {
	engine.Database
	full   atomic.Bool
	writes atomic.Int64
}

func (s *sick) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	s.writes.Add(1)
	if s.full.Load() {
		return task.Errorf(task.Unavailable, "the disk is full")
	}
	return s.Database.Write(ctx, fn)
}

func TestReadyTriesToWrite(t *testing.T) {
	t.Parallel()
	s := &sick{Database: memstore.New(nil)}
	e, tick := newEngineOn(t, s, engine.Options{})
	ready := func(want task.Code, writes int64) {
		t.Helper()
		before := s.writes.Load()
		if err := e.Ready(t.Context()); task.CodeOf(err) != want {
			t.Errorf("Ready = %v, want code %q", err, want)
		}
		if n := s.writes.Load() - before; n != writes {
			t.Errorf("the store was written to %d times, want %d", n, writes)
		}
	}
	ready("", 1)
	ready("", 0) // a moment ago it worked
	s.full.Store(true)
	tick(10 * time.Second)
	ready(task.Unavailable, 1)
	ready(task.Unavailable, 1) // not remembered: it may work again at once
	s.full.Store(false)
	ready("", 1)
	ready("", 0)
}
