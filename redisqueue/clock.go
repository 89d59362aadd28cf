package redisqueue

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

// Clock is the time as a consumer sees it; tests have one of their own. Its methods are called concurrently.
type Clock interface {
	Now() time.Time
	// Sleep blocks for d. When ctx ends earlier it returns the error of ctx at once.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is the clock of the machine.
var systemClock Clock = clock.System{}
