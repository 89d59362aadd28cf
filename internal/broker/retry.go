package broker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/clock"
	"github.com/taskerhq/tasker/internal/task"
)

// Dial opens a connection. Package driver's Registry does so without showing secrets in errors.
type Dial func(ctx context.Context) (driver.Driver, error)

// Bounds of the pause after failures in a row. With the jitter, nodes that lost the same broker do not return at once.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
	jitter     = 0.25
)

// pause waits after a number of failures in a row; it returns the error of ctx when that ends earlier.
func pause(ctx context.Context, failures int, limit time.Duration) error {
	r := task.Retry{Backoff: task.BackoffExponential, Base: firstPause, Max: limit, Jitter: jitter}
	return clock.Sleep(ctx, r.Delay(failures, 0, rand.Float64()))
}
