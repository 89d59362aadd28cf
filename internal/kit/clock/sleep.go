package clock

import (
	"context"
	"time"
)

// Sleep blocks for d. When ctx ends earlier, it returns the error of ctx at once.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// System is the clock of the machine, for those who take a clock as a value.
type System struct{}

// Now returns the time.
func (System) Now() time.Time { return time.Now() }

// Sleep is the function of that name.
func (System) Sleep(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }
