package postgres

import (
	"context"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

// OnMachine are options of a process on a machine whose clocks a test sets.
func OnMachine(read func() clock.Reading) *Options { return &Options{machine: read} }

// MeasureClock is one round of followClock.
func (s *Store) MeasureClock(ctx context.Context) error { return s.look(ctx) }

// ResetPool opens every connection anew.
func (s *Store) ResetPool() { s.pool.Reset() }
