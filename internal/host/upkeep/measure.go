package upkeep

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
)

// measure sends the measurements of this process to the others, and reads theirs. Statistics
// then cover the whole cluster.
// It runs everywhere, because each process has its own measurements to send.
func (u *Upkeep) measure() Loop {
	return Loop{Name: "measure", Every: engine.ReportInterval, Everywhere: true,
		Once: func(ctx context.Context) (int, bool, error) {
			return 0, false, u.engine.ShareMeasurements(ctx)
		}}
}
