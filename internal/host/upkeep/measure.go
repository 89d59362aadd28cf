package upkeep

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// measure exchanges measurements with the other processes, so that statistics cover the cluster. It runs
// everywhere.
func (u *Upkeep) measure() Loop {
	return Loop{Name: "measure", Every: engine.ReportInterval, Everywhere: true,
		Once: func(ctx context.Context) (int, bool, error) {
			return 0, false, u.engine.ShareMeasurements(ctx)
		}}
}
