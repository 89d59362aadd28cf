package app

import (
	"time"

	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/host/telemetry"
)

// firings counts firings of schedules without a namespace label, which would be unbounded.
type firings struct{ to *telemetry.Schedules }

// Fired implements scheduler.Observer.
func (f firings) Fired(_ string, kind scheduler.Kind, late time.Duration) {
	f.to.Fired(string(kind), late)
}

// Refused implements scheduler.Observer.
func (f firings) Refused(string) { f.to.Refused() }

// Skipped implements scheduler.Observer.
func (f firings) Skipped(_, reason string, times int) { f.to.Skipped(reason, times) }
