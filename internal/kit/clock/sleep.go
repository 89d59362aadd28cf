package clock

import (
	"context"
	"time"
)

// Sleep blocks for d. When ctx ends earlier, it returns the error of ctx.
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

// System is the machine's clock as a value.
type System struct{}

// Now returns the time.
func (System) Now() time.Time { return time.Now() }

// Sleep is the function Sleep.
func (System) Sleep(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }
