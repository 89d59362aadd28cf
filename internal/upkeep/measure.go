package upkeep

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// measure tells the other processes what this one measured, and hears what they did.
func (u *Upkeep) measure() *loop {
	return &loop{name: "measure", every: engine.ReportInterval, free: true, once: func(ctx context.Context) (int, bool, error) {
		return 0, false, u.engine.ShareMeasurements(ctx)
	}}
}
