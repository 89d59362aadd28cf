package node

import (
	"time"

	wall "github.com/taskerhq/tasker/internal/clock"
	"github.com/taskerhq/tasker/internal/engine"
)

// timeOf returns the clock of an engine on a store, and how far it was put forward. A database that several
// nodes share has a clock of its own, which the engine takes when there is no other. On one that belongs to this
// process the machine's clock decides, without its glitches.
func timeOf(s engine.Store, given func() time.Time) (now func() time.Time, stepped func(time.Time) time.Duration) {
	if _, shared := s.(engine.Cluster); given != nil || shared {
		return given, nil
	}
	steady := wall.NewSteady(wall.Machine())
	return steady.Now, steady.Stepped
}

// clockOf returns the clock that an engine with the result of timeOf takes.
func clockOf(s engine.Store, now func() time.Time) func() time.Time {
	if c, shared := s.(engine.Cluster); shared && now == nil {
		return c.Now
	}
	return now
}
