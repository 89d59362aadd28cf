package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type sick struct {
	engine.Database
	full   atomic.Bool
	tight  atomic.Bool // takes only a probe
	probed atomic.Bool
	writes atomic.Int64
}

func (s *sick) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	s.writes.Add(1)
	if s.full.Load() {
		return task.Errorf(task.Unavailable, "the disk is full")
	}
	if s.tight.Load() && !s.probed.Load() {
		return &task.Error{Code: task.Unavailable, Message: "the disk is full", Err: engine.ErrFull}
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
	ready("", 0)
	s.full.Store(true)
	tick(10 * time.Second)
	ready(task.Unavailable, 1)
	ready(task.Unavailable, 1) // not remembered: it may work again
	s.full.Store(false)
	ready("", 1)
	ready("", 0)
}

// TestReadyKnowsRefusals: a disk that takes a small probe and refuses tasks is full. A probe of a task's size ends
// that.
func TestReadyKnowsRefusals(t *testing.T) {
	t.Parallel()
	s := &sick{Database: memstore.New(nil)}
	e, tick := newEngineOn(t, s, engine.Options{})
	ready := func(want task.Code, writes int64) {
		t.Helper()
		s.probed.Store(true)
		defer s.probed.Store(false)
		before := s.writes.Load()
		if err := e.Ready(t.Context()); task.CodeOf(err) != want {
			t.Errorf("Ready = %v, want code %q", err, want)
		}
		if n := s.writes.Load() - before; n != writes {
			t.Errorf("the store was written to %d times, want %d", n, writes)
		}
	}
	ready("", 1)
	s.tight.Store(true)
	write := func() {
		t.Helper()
		if _, err := e.Register(t.Context(), task.Worker{Name: "w", Capacity: 1}); task.CodeOf(err) != task.Unavailable {
			t.Fatalf("a write = %v", err)
		}
	}
	write()
	ready(task.Unavailable, 0)
	tick(9 * time.Second)
	write()
	tick(9 * time.Second)
	ready(task.Unavailable, 0)
	tick(time.Second)
	s.full.Store(true)
	ready(task.Unavailable, 1)
	s.full.Store(false)
	ready("", 1)
	if note, err := s.NoteStore().FindNote(t.Context(), "write_probe"); err != nil || len(note) < 64<<10 {
		t.Errorf("the probe has %d bytes, %v", len(note), err)
	}
	ready("", 0)
}
