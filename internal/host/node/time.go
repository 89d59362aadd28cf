package node

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	wall "github.com/taskerhq/tasker/internal/kit/clock"
)

// timeOf sets the clock of an engine. A shared database has its own clock, which is the engine's default. For a
// private one the machine's clock decides, without its glitches.
func timeOf(s engine.Store, o *engine.Options) {
	if _, shared := s.(engine.Cluster); o.Now != nil || shared {
		return
	}
	steady := wall.NewSteady(wall.Machine())
	o.Now, o.Stepped, o.Suspected = steady.Now, steady.Stepped, steady.Suspected
}

// clockOf returns the clock of an engine after timeOf.
func clockOf(s engine.Store, now func() time.Time) func() time.Time {
	if c, shared := s.(engine.Cluster); shared && now == nil {
		return c.Now
	}
	return now
}
