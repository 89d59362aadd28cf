package redisqueue

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

// Clock is a consumer's time; tests replace it. Its methods are called concurrently.
type Clock interface {
	Now() time.Time
	// Sleep blocks for d. When ctx ends earlier it immediately returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

var systemClock Clock = clock.System{}
