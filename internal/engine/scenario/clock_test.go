package scenario_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type stepped struct {
	*testing.T
	engine  *engine.Engine
	upkeep  *upkeep.Upkeep
	reading clock.Reading
	worker  task.ID
	lease   engine.Lease
}

func newStepped(t *testing.T) *stepped {
	t.Helper()
	s := &stepped{T: t, reading: clock.Reading{Wall: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	steady := clock.NewSteady(func() clock.Reading { return s.reading })
	e, err := engine.New(t.Context(), memstore.New(&memstore.Options{Seed: 1}),
		engine.Options{Now: steady.Now, Stepped: steady.Stepped})
	s.must(err)
	s.engine, s.upkeep = e, upkeep.New(e, slog.New(slog.DiscardHandler))
	w, err := e.Register(t.Context(), task.Worker{})
	s.must(err)
	s.worker = w.ID
	_, err = e.Submit(t.Context(), []engine.Submission{{TaskType: "long", Timeout: 10 * time.Minute}}, false)
	s.must(err)
	leases, _, err := e.Poll(t.Context(), w.ID, 1, 0, true)
	s.must(err)
	s.lease = leases[0]
	return s
}

func (s *stepped) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stepped) step(by time.Duration) { s.reading.Wall = s.reading.Wall.Add(by) }

// pass advances second by second while the worker sends heartbeats.
func (s *stepped) pass(d time.Duration) {
	s.Helper()
	for range int(d / time.Second) {
		s.reading.Wall, s.reading.Mono = s.reading.Wall.Add(time.Second), s.reading.Mono+time.Second
		if int(s.reading.Mono/time.Second)%30 == 0 {
			s.beat()
		}
		s.must(s.upkeep.RunOnce(context.Background()))
	}
}

func (s *stepped) beat() {
	s.Helper()
	_, _, err := s.engine.Heartbeat(s.Context(), engine.Beat{Worker: s.worker})
	s.must(err)
}

func (s *stepped) wantRunning(want bool, when string) {
	s.Helper()
	steps, err := s.engine.Read().FindSteps(s.Context(), s.lease.Task.ID)
	s.must(err)
	if got := steps[0].HeldUnder(s.lease.Step.Token); got != want {
		s.Errorf("%s the attempt runs: %v, want %v (the step is %s)", when, got, want, steps[0].State)
	}
}

// A step of the wall clock takes no lease from a live worker and ends no attempt early.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	t.Run("ForTwoSeconds", func(t *testing.T) {
		s := newStepped(t)
		s.pass(time.Minute)
		s.step(time.Hour)
		s.pass(2 * time.Second)
		s.step(-time.Hour)
		s.pass(7 * time.Minute)
		s.wantRunning(true, "after a glitch of an hour")
		s.pass(2*time.Minute + 5*time.Second)
		s.wantRunning(false, "after its time-out")
	})
	t.Run("Forward", func(t *testing.T) {
		s := newStepped(t)
		s.pass(time.Minute)
		s.step(8 * time.Hour)
		s.pass(8 * time.Minute)
		s.wantRunning(true, "after a step of 8 hours")
		s.pass(time.Minute + 5*time.Second)
		s.wantRunning(false, "after its time-out")
	})
	t.Run("ForwardTwice", func(t *testing.T) {
		s := newStepped(t)
		for range 2 {
			s.step(8 * time.Hour)
			s.pass(4 * time.Minute)
		}
		s.wantRunning(true, "after two steps")
		s.pass(2*time.Minute + 5*time.Second)
		s.wantRunning(false, "after its time-out")
	})
	t.Run("Back", func(t *testing.T) {
		s := newStepped(t)
		s.pass(2 * time.Minute)
		s.step(-time.Minute)
		s.pass(7 * time.Minute)
		s.wantRunning(true, "after a step back")
	})
}
