package node

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	wall "github.com/taskerhq/tasker/internal/kit/clock"
)

// timeOf sets the clock of an engine on a store. A database that several nodes share has its own clock, which the
// engine takes when there is no other. On one that belongs to this process the machine's clock decides, without its
// glitches.
func timeOf(s engine.Store, o *engine.Options) {
	if _, shared := s.(engine.Cluster); o.Now != nil || shared {
		return
	}
	steady := wall.NewSteady(wall.Machine())
	o.Now, o.Stepped, o.Suspected = steady.Now, steady.Stepped, steady.Suspected
}

// clockOf returns the clock that an engine with the result of timeOf takes.
func clockOf(s engine.Store, now func() time.Time) func() time.Time {
	if c, shared := s.(engine.Cluster); shared && now == nil {
		return c.Now
	}
	return now
}
