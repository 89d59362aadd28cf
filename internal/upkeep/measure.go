package upkeep

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// measure tells the other processes what this one measured, and hears what they did.
func (u *Upkeep) measure() Loop {
	return Loop{Name: "measure", Every: engine.ReportInterval, Everywhere: true,
		Once: func(ctx context.Context) (int, bool, error) {
			return 0, false, u.engine.ShareMeasurements(ctx)
		}}
}
